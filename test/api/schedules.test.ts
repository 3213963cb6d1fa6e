import { DatabaseSync } from "node:sqlite";
import { describe, expect, test, vi } from "vitest";
import type { Punctual } from "../../src/index.ts";
import { Cron } from "../../src/schedule/cron.ts";
import { TestClock } from "../../src/testing/index.ts";
import { heard, listen, open } from "./support/instance.ts";

/** Starts a worker and waits for it: if the clock moved before, it would miss the ticks. */
async function start(jobs: Punctual): Promise<Promise<number>[]> {
  const started = heard(jobs, "worker.started");
  const working = jobs.forever({ signals: false });
  await started;
  return [working];
}

const iso = (dates: Date[]) => dates.map((date) => date.toISOString().slice(11, 19));

describe("a schedule", () => {
  test("ticks to the second, and its runs have their tick", async () => {
    const { jobs, clock } = open();
    const ticks: Date[] = [];
    jobs.schedule("beat", (_, run) => void ticks.push(run.scheduledFor)).everySecond();
    const [working] = await start(jobs);
    await clock.advance(5);
    await jobs.stop();
    await working;
    expect(iso(ticks)).toEqual(["00:00:01", "00:00:02", "00:00:03", "00:00:04", "00:00:05"]);
  });

  test("passes its arguments, beside runs that are dispatched with others", async () => {
    const { jobs, clock } = open();
    const got: unknown[] = [];
    const job = jobs
      .schedule("mail", (args: { type: string }) => void got.push(args.type))
      .everyMinute()
      .args({ type: "tick" });
    await jobs.run();
    await clock.advance(60);
    await job.dispatch({ type: "asked for" });
    expect(await jobs.run()).toBe(2);
    expect(got.sort()).toEqual(["asked for", "tick"]);
  });

  test("ticks in a pass of run(), with an event", async () => {
    const { jobs, clock } = open();
    jobs.schedule("hourly", () => {}).hourly();
    const ticked = listen(jobs, "schedule.ticked");
    expect(await jobs.run()).toBe(0);
    await clock.advance("1 hour");
    expect(await jobs.run()).toBe(1);
    expect(ticked).toMatchObject([
      { job: "hourly", missed: 0, runs: [{ scheduledFor: new Date("2026-01-01T01:00:00Z") }] },
    ]);
  });

  test("of a slow job does not pile up: ticks count as missed while a run waits", async () => {
    const { jobs, clock } = open();
    let started = 0;
    jobs
      .schedule("slow", async () => {
        started++;
        await new Promise<void>((resolve) => void clock.after(5000, resolve));
      })
      .everySecond();
    const [working] = await start(jobs);
    await clock.advance(31);
    const { runs } = await jobs.runs({ state: ["ready", "scheduled"] });
    expect(runs.length).toBeLessThanOrEqual(1);
    expect(started).toBeGreaterThanOrEqual(5);
    const [schedule] = await jobs.schedules();
    expect(schedule!.missed).toBeGreaterThanOrEqual(20);
    const stopping = jobs.stop();
    await clock.advance(10);
    await stopping;
    await working;
  });

  test("has its next tick in the status", async () => {
    const { jobs } = open();
    jobs
      .schedule("night", () => {})
      .dailyAt("2:30")
      .timezone("Europe/Berlin");
    await jobs.run();
    const { jobs: rows } = await jobs.status();
    expect(rows).toMatchObject([{ cron: "0 30 2 * * *", nextRun: new Date("2026-01-01T01:30:00Z") }]);
    expect(await jobs.schedules()).toMatchObject([
      { job: "night", timezone: "Europe/Berlin", lastTick: null, missed: 0 },
    ]);
  });

  test("can be paused and resumed; ticks during the pause are skipped", async () => {
    const { jobs, clock } = open();
    let ran = 0;
    jobs.schedule("beat", () => void ran++).everyMinute();
    await jobs.run();
    const [schedule] = await jobs.schedules();
    await jobs.pauseSchedule(schedule!.id);
    await clock.advance("10 minutes");
    expect(await jobs.run()).toBe(0);
    await jobs.resumeSchedule(schedule!.id);
    expect(await jobs.run()).toBe(0);
    await clock.advance(60);
    expect(await jobs.run()).toBe(1);
    await expect(jobs.pauseSchedule(77)).rejects.toMatchObject({ code: "UNKNOWN_SCHEDULE" });
    expect(ran).toBe(1);
  });

  test("that is added while the worker works ticks at its next time", async () => {
    const { jobs, clock } = open();
    const [working] = await start(jobs);
    let ran = 0;
    jobs.schedule("late", () => void ran++).everySecond();
    await clock.advance(3);
    await jobs.stop();
    await working;
    expect(ran).toBe(3);
  });
});

describe("after downtime", () => {
  async function missed(shape: (job: ReturnType<Punctual["schedule"]>) => unknown): Promise<string[]> {
    const { jobs, clock } = open();
    const ticks: Date[] = [];
    const job = jobs
      .schedule("job", (_, run) => void ticks.push(run.scheduledFor))
      .everyMinute()
      .concurrency(0);
    shape(job);
    await jobs.run();
    await clock.advance("5 minutes");
    await clock.advance(30);
    await jobs.run({ batch: 1000, parallel: 1 });
    return iso(ticks);
  }

  test("once, the default, runs the latest tick", async () => {
    expect(await missed(() => {})).toEqual(["00:05:00"]);
  });

  test("skip runs none", async () => {
    expect(await missed((job) => job.misfire("skip"))).toEqual([]);
  });

  test("all runs each, oldest first, up to its limit", async () => {
    const all = ["00:01:00", "00:02:00", "00:03:00", "00:04:00", "00:05:00"];
    expect(await missed((job) => job.misfire("all"))).toEqual(all);
    expect(await missed((job) => job.misfire("all", { limit: 2 }))).toEqual(all.slice(-2));
    expect(await missed((job) => job.misfire("all", { within: "100s" }))).toEqual(all.slice(-2));
  });
});

describe("a year of ticks", () => {
  test.each([
    ["0 30 2 * * *", "Europe/Berlin"],
    ["0 30 2 * * *", "America/New_York"],
    ["0 30 2 * * *", "Australia/Sydney"],
    ["0 15 1 * * 1", "Australia/Lord_Howe"],
    ["0 0 0 L * *", "America/Santiago"],
  ])("%s in %s: each tick once, as the cron expression says", async (cron, zone) => {
    const { jobs, clock } = open();
    const ticks: number[] = [];
    jobs
      .schedule("job", (_, run) => void ticks.push(run.scheduledFor.getTime()))
      .cron(cron)
      .timezone(zone)
      .keep(0);
    await jobs.run();
    const start = clock.now();
    const expected = new Cron(cron, { timezone: zone })
      .upcoming(366, start)
      .map(Number)
      .filter((at) => at <= start + 366 * 86_400_000);
    for (const at of expected) {
      await clock.advance((at - clock.now()) / 1000);
      await jobs.run();
    }
    expect(ticks).toEqual(expected);
  });

  test("a clock that jumps back and forth repeats no tick", async () => {
    const { jobs, clock } = open();
    const ticks: string[] = [];
    jobs
      .schedule("job", (_, run) => void ticks.push(run.scheduledFor.toISOString().slice(11, 16)))
      .everyMinute();
    await jobs.run();
    for (const at of [
      "00:01",
      "00:02",
      "00:00",
      "00:01",
      "00:02",
      "00:03",
      "01:00",
      "00:30",
      "01:00",
      "01:01",
    ]) {
      clock.set(`2026-01-01T${at}:00Z`);
      await jobs.run();
    }
    expect(ticks).toEqual(["00:01", "00:02", "00:03", "01:00", "01:01"]);
  });
});

class Known {
  handle(): void {}
}

describe("the builder", () => {
  test("between, unlessBetween, startingAt and endingAt hold in the job's zone", async () => {
    const { jobs, clock } = open();
    const ticks: Date[] = [];
    jobs
      .schedule("job", (_, run) => void ticks.push(run.scheduledFor))
      .hourly()
      .between("9:00", "12:00")
      .unlessBetween("10:30", "11:30")
      .timezone("Europe/Berlin")
      .startingAt("2026-01-01 10:00")
      .endingAt("2026-01-02 09:30");
    await jobs.run();
    for (let hour = 0; hour < 48; hour++) {
      await clock.advance("1 hour");
      await jobs.run();
    }
    expect(ticks.map((date) => date.toISOString())).toEqual([
      "2026-01-01T09:00:00.000Z",
      "2026-01-01T11:00:00.000Z",
      "2026-01-02T08:00:00.000Z",
    ]);
    expect(await jobs.schedules()).toMatchObject([{ nextTick: null }]);
  });

  test("environments restricts ticks, not dispatches", async () => {
    vi.stubEnv("PUNCTUAL_ENV", "staging");
    try {
      const { jobs, clock } = open();
      let ran = 0;
      const job = jobs
        .schedule("job", () => void ran++)
        .everyMinute()
        .environments("production");
      jobs
        .schedule("here", () => {})
        .everyMinute()
        .environments("production", "staging");
      await jobs.run();
      await clock.advance(60);
      await job.dispatch();
      expect(await jobs.run()).toBe(2);
      expect(ran).toBe(1);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test("warns about schedules that never tick, and about dates combined with days of the week", async () => {
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (text: string) => void warnings.push(text) };
    const { jobs } = open({ logger });
    jobs
      .schedule("never", () => {})
      .days(30)
      .months(2);
    jobs
      .schedule("closed", () => {})
      .dailyAt("13:00")
      .between("8:00", "9:00");
    jobs
      .schedule("both", () => {})
      .days([1, 15])
      .mondays();
    jobs
      .schedule("fine", () => {})
      .dailyAt("13:00")
      .weekdays();
    await jobs.run();
    jobs
      .schedule("later", () => {})
      .days(30)
      .months(2);
    await null;
    expect(warnings).toEqual([
      expect.stringMatching(/"never".*never occurs/),
      expect.stringMatching(/"closed".*never ticks/),
      expect.stringMatching(/"both".*day of the month or the day of the week/),
      expect.stringMatching(/"later".*never occurs/),
    ]);
  });

  test.each<[string, (jobs: Punctual) => unknown, string]>([
    ["misfire", (jobs) => jobs.schedule("a", () => {}).misfire("twice" as never), "INVALID_OPTION"],
    ["misfire limit", (jobs) => jobs.schedule("a", () => {}).misfire("all", { limit: 0 }), "INVALID_OPTION"],
    ["between", (jobs) => jobs.schedule("a", () => {}).between("8", "25:00"), "INVALID_CRON"],
    ["startingAt", (jobs) => jobs.schedule("a", () => {}).startingAt("soon"), "INVALID_INSTANT"],
    ["recur", (jobs) => jobs.recur("nobody", "* * * * *"), "UNKNOWN_JOB"],
    ["recur cron", (jobs) => jobs.recur(Known, "* * *"), "INVALID_CRON"],
    ["recur option", (jobs) => jobs.recur(Known, "* * * * *", { tz: 1 } as never), "INVALID_OPTION"],
  ])("%s refuses invalid values", (_, call, code) => {
    const { jobs } = open();
    expect(() => call(jobs)).toThrow(expect.objectContaining({ code }));
  });

  test("arguments of a tick that JSON cannot represent are refused when work begins, by name", async () => {
    const { jobs } = open();
    jobs
      .schedule("job", () => {})
      .everyMinute()
      .args({ when: new Date() });
    await expect(jobs.run()).rejects.toMatchObject({ code: "INVALID_PAYLOAD" });
  });
});

describe("recur()", () => {
  class CliController {
    static calls: unknown[] = [];
    index3(args: unknown): void {
      CliController.calls.push(args);
    }
  }

  test("adds any number of schedules to one handler; an equal one is added once", async () => {
    CliController.calls = [];
    const { jobs, clock } = open();
    jobs.recur([CliController, "index3"], "*/1 * * * *");
    jobs.recur([CliController, "index3"], "*/1 * * * *");
    jobs.recur([CliController, "index3"], "*/2 * * * *");
    jobs.recur([CliController, "index3"], "*/5 * * * *", { args: { every: 5 }, queue: "dev" });
    await jobs.run();
    expect(await jobs.schedules()).toHaveLength(3);
    for (let minute = 0; minute < 10; minute++) {
      await clock.advance(60);
      await jobs.run();
    }
    expect(CliController.calls).toHaveLength(10 + 5 + 2);
    expect(CliController.calls.filter((args) => (args as { every?: number }).every === 5)).toHaveLength(2);
    expect((await jobs.runs({ queue: "dev" })).runs).toHaveLength(2);
  });

  test("without arguments uses those of the job", async () => {
    const { jobs, clock } = open();
    const got: unknown[] = [];
    const mail = jobs.schedule("mail", (args: { to: string }) => void got.push(args)).args({ to: "all" });
    jobs.recur(mail, "* * * * *").recur("mail", "* * * * *", { args: { to: "one" } });
    await jobs.run();
    await clock.advance(60);
    await jobs.run();
    expect(got).toHaveLength(2);
    expect(got).toEqual(expect.arrayContaining([{ to: "all" }, { to: "one" }]));
  });
});

describe("passes without a worker", () => {
  test("sync the jobs each time, so that pruning keeps them", async () => {
    const { jobs, clock } = open();
    jobs.schedule("hourly", () => {}).hourly();
    await jobs.run();
    await clock.advance("31 days");
    expect(await jobs.run()).toBe(1);
    expect(await jobs.prune()).toMatchObject({ jobs: 0 });
    await clock.advance("1 hour");
    expect(await jobs.run()).toBe(1);
  });

  test("drop nothing when a job is resumed that was not paused", async () => {
    const { jobs, clock } = open();
    jobs.schedule("hourly", () => {}).hourly();
    await jobs.run();
    await clock.advance("1 hour");
    await jobs.resumeJob("hourly");
    expect(await jobs.run()).toBe(1);
  });
});

describe("several processes on one database", () => {
  function two(): { clock: TestClock; open(): ReturnType<typeof open> } {
    const clock = new TestClock();
    const memory = new DatabaseSync(":memory:");
    return { clock, open: () => open({ clock }, memory) };
  }

  test("make a tick once, whichever worker ticks", async () => {
    const on = two();
    const instances = [on.open(), on.open(), on.open()];
    let ran = 0;
    for (const { jobs } of instances)
      jobs
        .schedule("job", () => void ran++)
        .everyMinute()
        .keep(0);
    for (const { jobs } of instances) await jobs.run();
    for (let minute = 0; minute < 20; minute++) {
      await on.clock.advance(60);
      await Promise.all(instances.map(({ jobs }) => jobs.run()));
    }
    expect(ran).toBe(20);
  });

  test("tick only jobs that they define", async () => {
    const on = two();
    const [emails, uploads] = [on.open(), on.open()];
    const ran: string[] = [];
    emails.jobs.schedule("emails", () => void ran.push("emails")).everyMinute();
    uploads.jobs.schedule("uploads", () => void ran.push("uploads")).everyMinute();
    await emails.jobs.run();
    await uploads.jobs.run();
    await on.clock.advance(60);
    await uploads.jobs.run();
    expect(ran).toEqual(["uploads"]);
    await emails.jobs.run();
    expect(ran).toEqual(["uploads", "emails"]);
  });

  test("with two versions of the code use the one that started later, also after a rollback", async () => {
    const on = two();
    const cron = async () => (await old.jobs.schedules()).map((row) => row.cron);
    const version = async (minutes: number) => {
      await on.clock.advance(1);
      const one = on.open();
      one.jobs.schedule("job", () => {}).cron(`*/${minutes} * * * *`);
      await start(one.jobs);
      return one;
    };
    const old = await version(5);
    const next = await version(10);
    expect(await cron()).toEqual(["0 */10 * * * *"]);
    await on.clock.advance("3 minutes");
    expect(await cron()).toEqual(["0 */10 * * * *"]);
    const ticked = listen(old.jobs, "schedule.ticked");
    const rollback = await version(5);
    expect(await cron()).toEqual(["0 */5 * * * *"]);
    await on.clock.advance("2 minutes");
    expect(await cron()).toEqual(["0 */5 * * * *"]);
    expect(ticked.length).toBeLessThanOrEqual(1);
    void next;
    void rollback;
  });

  test("with older code do not tick while newer code is alive, even if that one does not tick", async () => {
    const on = two();
    const old = on.open();
    old.jobs.schedule("job", () => {}).everyMinute();
    await start(old.jobs);
    await on.clock.advance(1);
    const next = on.open();
    next.jobs
      .schedule("job", () => {})
      .everyMinute()
      .queue("other");
    const started = heard(next.jobs, "worker.started");
    void next.jobs.forever({ signals: false, schedules: false });
    await started;
    const ticked = listen(old.jobs, "schedule.ticked");
    await on.clock.advance("3 minutes");
    expect(ticked).toEqual([]);
    await next.jobs.stop();
    await on.clock.advance("3 minutes");
    expect(ticked.length).toBeGreaterThan(0);
  });

  test("with older code tick by their own schedule once the newer code is gone", async () => {
    const on = two();
    const old = on.open();
    old.jobs.schedule("job", () => {}).everyFiveMinutes();
    await start(old.jobs);
    await on.clock.advance(1);
    const next = on.open();
    next.jobs.schedule("job", () => {});
    await next.jobs.run();
    expect(await old.jobs.schedules()).toEqual([]);
    await on.clock.advance("3 minutes");
    expect(await old.jobs.schedules()).toMatchObject([{ cron: "0 */5 * * * *" }]);
  });

  test("lose no tick when the zone changes: ticks that became due meanwhile run", async () => {
    const on = two();
    const before = on.open();
    before.jobs
      .schedule("job", () => {})
      .dailyAt("9:00")
      .timezone("Europe/Berlin");
    await before.jobs.run();
    await on.clock.advance("8 hours");
    expect(await before.jobs.run()).toBe(1);
    await before.jobs.stop();
    await on.clock.advance("90 minutes");
    const after = on.open();
    const ticks: Date[] = [];
    after.jobs
      .schedule("job", (_, run) => void ticks.push(run.scheduledFor))
      .dailyAt("9:00")
      .timezone("UTC");
    await after.jobs.run();
    expect(ticks).toEqual([new Date("2026-01-01T09:00:00Z")]);
  });
});
