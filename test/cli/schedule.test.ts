import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";
import { run, write } from "./support/punctual.ts";

const next = (...args: string[]) => run(["schedule", "next", ...args]);

describe("schedule next with an expression", () => {
  test("explains a time that does not exist", async () => {
    const { code, stdout } = await next(
      "30 2 * * *",
      "--tz",
      "Europe/Berlin",
      "-n",
      "3",
      "--from",
      "2027-03-27",
    );
    expect(stdout.split("\n")).toEqual([
      "Sat 2027-03-27 02:30 +01:00   01:30 UTC",
      "Sun 2027-03-28 03:00 +02:00   01:00 UTC   02:30 does not exist (clocks change): runs at 03:00, the first moment after it",
      "Mon 2027-03-29 02:30 +02:00   00:30 UTC",
      "",
    ]);
    expect(code).toBe(0);
  });

  test("--timezone and --tz are one option", async () => {
    const words = ["0 9 * * 1-5", "-n", "1", "--from", "2026-11-16"];
    const told = "Mon 2026-11-16 09:00 +01:00   08:00 UTC\n";
    expect((await next(...words, "--timezone", "Europe/Berlin")).stdout).toBe(told);
    expect((await next(...words, "--tz", "Europe/Berlin")).stdout).toBe(told);
    expect((await run(["--timezone", "Europe/Berlin", "schedule", "next", ...words])).stdout).toBe(told);
  });

  test("explains a time that occurs twice, for fixed times and for intervals", async () => {
    const at = ["--tz", "Europe/Berlin", "--from", "2026-10-25T02:30", "--json"];
    const fixed = JSON.parse((await next("30 2 * * *", "-n", "2", ...at)).stdout);
    expect(fixed.schedules[0].ticks).toEqual([
      {
        at: "2026-10-25T00:30:00.000Z",
        local: "2026-10-25T02:30:00+02:00",
        change: "repeated",
        note: "02:30 comes twice (clocks change): runs the first time only",
      },
      {
        at: "2026-10-26T01:30:00.000Z",
        local: "2026-10-26T02:30:00+01:00",
        change: null,
        note: "clocks went back by 1 h",
      },
    ]);
    const interval = JSON.parse((await next("*/30 * * * *", "-n", "4", ...at)).stdout);
    expect(interval.schedules[0].ticks.map((tick: { note: string }) => tick.note)).toEqual([
      "02:30 comes twice (clocks change): runs both times",
      "02:00 again (clocks change)",
      "02:30 again (clocks change)",
      null,
    ]);
  });

  test("prints UTC with seconds, and includes a tick at the given instant", async () => {
    const { stdout } = await next("*/30 * * * * *", "-n", "2", "--from", "2027-01-01T00:00:00Z");
    expect(stdout).toBe("Fri 2027-01-01 00:00:00 +00:00\nFri 2027-01-01 00:00:30 +00:00\n");
  });

  test("has a stable JSON document", async () => {
    const { stdout } = await next("@daily", "-n", "1", "--json");
    const document = JSON.parse(stdout);
    expect(document.v).toBe(1);
    expect(Object.keys(document.schedules[0])).toEqual([
      "id",
      "job",
      "cron",
      "timezone",
      "words",
      "paused",
      "ticks",
    ]);
    expect(Object.keys(document.schedules[0].ticks[0])).toEqual(["at", "local", "change", "note"]);
  });

  test.each([
    [["61 2 * * *"], 'field 1 (minute) "61": "61" is out of range'],
    [["* * * *"], "it has 4 fields; expected 5 or 6"],
    [["@reboot"], "@reboot names an event"],
    [[""], "it is empty"],
    [["* * * * *", "--tz", "Europe/Berlim"], "Expected an IANA time zone"],
    [["* * * * *", "--timezone", "Europe/Berlim"], "Expected an IANA time zone"],
    [
      ["* * * * *", "--tz", "Europe/Berlin", "--timezone", "UTC"],
      "--tz Europe/Berlin and --timezone UTC are the same option here",
    ],
    [["* * * * *", "--from", "tomorrow"], "Expected a Date or an ISO 8601 text"],
    [["* * * * *", "-n", "0"], "Expected a whole number of at least 1."],
    [["* * * * *", "-n", "1001"], "Expected a whole number of at most 1,000."],
    [["* * * * *", "-n", "many"], "Expected a whole number of at least 1."],
    [[], "Missing argument <job|cron>"],
    [["* * * * *", "--form", "2027-01-01"], "Did you mean --from"],
  ])("refuses %j", async (args, message) => {
    const { code, stdout, stderr } = await next(...args);
    expect(stderr).toContain(message);
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });
});

/** Syncs the definitions, as a worker does. */
async function withSchedules() {
  const made = scene();
  made.jobs
    .schedule("nightly-export", async () => {})
    .cron("0 3 * * *")
    .timezone("Europe/Berlin")
    .args({ day: 1, token: "t0ps3cret" })
    .queue("heavy");
  made.jobs.schedule("twice", async () => {}).cron("0 4 * * *");
  made.jobs.recur("twice", "0 5 * * *", { args: { again: true }, queue: "evening" });
  made.jobs.schedule("by-hand", async () => {});
  await made.jobs.run();
  const ids = Object.fromEntries((await made.jobs.schedules()).map(({ cron, id }) => [cron, String(id)]));
  return { ...made, ids };
}

describe("schedules of the database", () => {
  test("list prints every schedule, and those that are late or paused", async () => {
    const { call, jobs, ids } = await withSchedules();
    const listed = JSON.parse((await call("schedule", "list", "--json")).stdout);
    expect(Object.keys(listed.schedules[0]).sort()).toEqual(
      "args cron defined id job lastTick late missed nextTick pause paused queue timezone words".split(" "),
    );
    for (const words of [
      ["list", "schedules"],
      ["show", "nightly-export"],
      ["schedule", "list"],
    ]) {
      const { code, stdout } = await call(...words, "--json");
      expect([code, stdout]).toEqual([0, expect.stringContaining('"token": "[hidden]"')]);
      expect(stdout).not.toContain("t0ps3cret");
    }
    expect(listed.schedules.map((one: { job: string }) => one.job)).toEqual([
      "nightly-export",
      "twice",
      "twice",
    ]);
    expect(listed.schedules[0]).toMatchObject({
      words: "At 03:00 every day (Europe/Berlin).",
      late: false,
      paused: false,
      args: { day: 1 },
    });
    await jobs.pauseSchedule(Number(ids["0 0 4 * * *"]));
    await jobs.pauseJob("nightly-export");
    const after = JSON.parse((await call("schedule", "list", "--json", "--next")).stdout);
    expect(after.schedules.map((one: { paused: boolean }) => one.paused)).toEqual([false, true, true]);
    const text = await call("schedule", "list");
    expect(text.stdout).toMatch(/nightly-export.*paused/);
    const late = await call("schedule", "list", "--late");
    expect(late).toMatchObject({ code: 0, stdout: "" });
    expect(late.stderr).toContain("No schedule is late.");
  });

  test("next of a job uses its schedules", async () => {
    const { call, ids } = await withSchedules();
    const { stdout } = await call("schedule", "next", "twice", "-n", "1", "--json");
    const { schedules } = JSON.parse(stdout);
    expect(schedules.map((one: { cron: string; ticks: unknown[] }) => [one.cron, one.ticks.length])).toEqual([
      ["0 0 4 * * *", 1],
      ["0 0 5 * * *", 1],
    ]);
    const one = await call("schedule", "next", ids["0 0 5 * * *"]!, "-n", "1");
    expect(one.stdout).toMatch(/^twice {2}0 0 5 \* \* \*.*\n... \d{4}-\d\d-\d\d 05:00 \+00:00\n$/);
  });

  test("next uses the definition if the code is loaded", async () => {
    const { call, cwd, jobs } = scene();
    jobs
      .schedule("poll", async () => {})
      .hourly()
      .between("8:00", "9:00");
    await jobs.run();
    const ask = ["schedule", "next", "poll", "-n", "3", "--from", "2027-01-01T07:00:00Z"];
    const blind = (await call(...ask)).stdout;
    expect(blind).toMatch(/07:00 .*\n.*08:00 .*\n.*09:00 /);
    const code = 'jobs.schedule("poll", async () => {}).hourly().between("8:00", "9:00");';
    write(cwd, {
      "jobs/poll.ts": `import { Punctual } from "punctual";\nconst jobs = new Punctual();\n${code}\n`,
    });
    const { stdout } = await call(...ask);
    expect(stdout.split("\n").slice(1, -1)).toEqual([
      "Fri 2027-01-01 08:00 +00:00",
      "Fri 2027-01-01 09:00 +00:00",
      "Sat 2027-01-02 08:00 +00:00",
    ]);
  });

  test("run dispatches the run of a tick", async () => {
    const { call, jobs, ids } = await withSchedules();
    const first = JSON.parse((await call("schedule", "run", "nightly-export", "--json")).stdout);
    expect(await jobs.find(first.id)).toMatchObject({
      name: "nightly-export",
      queue: "heavy",
      args: { day: 1 },
    });
    const second = await call("schedule", "run", ids["0 0 5 * * *"]!);
    const id = Number(/^run (\d+) of twice dispatched\n$/.exec(second.stdout)![1]);
    expect(await jobs.find(id)).toMatchObject({ queue: "evening", args: { again: true }, state: "ready" });
  });

  test.each([
    [["next", "nightly-exprt"], 3, 'Did you mean "nightly-export"?'],
    [["next", "by-hand"], 3, 'Job "by-hand" has no schedule. To run it now: punctual dispatch by-hand'],
    [["next", "99"], 3, "There is no schedule 99"],
    [["next", "twice", "--tz", "UTC"], 2, "--timezone is for a cron expression"],
    [["next", "twice", "--timezone", "UTC"], 2, "--timezone is for a cron expression"],
    [["run", "twice"], 2, 'Job "twice" has 2 schedules'],
    [["run", "nobody"], 3, 'There is no schedule of a job "nobody".'],
    [["lst"], 2, "list"],
    [[], 2, "Usage: punctual schedule"],
  ])("schedule %j exits with %d", async (args, expected, message) => {
    const { call } = await withSchedules();
    const { code, stdout, stderr } = await call("schedule", ...args);
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([expected, ""]);
  });
});

describe("schedule list --environment", () => {
  const FILES = `
    import { Punctual } from "punctual";
    const jobs = new Punctual();
    jobs.schedule("everywhere", () => {}).dailyAt("3:00").args({ token: "t0ps3cret" });
    jobs.schedule("production-only", () => {}).hourly().environments("production");
    jobs.schedule("two", () => {}).everyMinute().between("8:00", "9:00").environments("staging", "production");
    jobs.schedule("by-hand", () => {});
    jobs.recur("by-hand", "0 4 * * *", { args: { day: 1 } });
  `;
  interface Shown {
    id: number | null;
    job: string;
    environments: string[] | null;
    lastTick: string | null;
    nextTick: string;
  }
  const ask = async (made: ReturnType<typeof scene>, ...args: string[]) => {
    const { code, stdout } = await made.call("schedule", "list", "--json", ...args);
    expect(code).toBe(0);
    return JSON.parse(stdout).schedules as Shown[];
  };

  test("lists the schedules of the files that tick there, with their rows", async () => {
    const made = scene();
    write(made.cwd, { "jobs/all.ts": FILES });
    const before = await ask(made, "--environment", "staging");
    expect(before.map(({ job, environments, id }) => [job, environments, id])).toEqual([
      ["everywhere", null, null],
      ["two", ["staging", "production"], null],
      ["by-hand", null, null],
    ]);
    expect(existsSync(join(made.cwd, "jobs.db"))).toBe(false);
    for (const { nextTick } of before) expect(new Date(nextTick).getTime()).toBeGreaterThan(0);
    expect(before[1]!.nextTick).toMatch(/T(08:\d\d|09:00):00\.000Z$/);

    await made.callWith({ env: { PUNCTUAL_ENV: "staging" } }, "collect");
    const shown = await made.jobs.schedules();
    expect(shown.map(({ job }) => job).sort()).toEqual(["by-hand", "everywhere", "two"]);
    const production = await ask(made, "--environment", "production");
    const idOf = (job: string) => shown.find((one) => one.job === job)!.id;
    expect(production.map(({ job, id }) => [job, id])).toEqual([
      ["everywhere", idOf("everywhere")],
      ["production-only", null],
      ["two", idOf("two")],
      ["by-hand", idOf("by-hand")],
    ]);
    await made.jobs.pauseSchedule(idOf("two"));
    const text = await made.call("schedule", "list", "--environment", "production");
    expect(text.stdout).toMatch(/^ *Id +Job .* Environments /);
    expect(text.stdout).toMatch(/^ *\S +production-only .* production /m);
    expect(text.stdout).toMatch(/two .* paused +staging, production /);
    const secrets = await made.call("schedule", "list", "--environment", "production", "--json");
    expect(secrets.stdout).not.toContain("t0ps3cret");

    const plain = await ask(made);
    expect(plain.map(({ job }) => job).sort()).toEqual(["by-hand", "everywhere", "two"]);
    expect(plain[0]).not.toHaveProperty("environments");
    expect((await made.call("schedule", "list")).stdout).not.toContain("Environments");
  });

  test("warns about a name that is similar to a known one", async () => {
    const made = scene();
    write(made.cwd, { "jobs/all.ts": FILES });
    const { code, stdout, stderr } = await made.call("schedule", "list", "--environment", "produktion");
    expect(stderr).toContain('No schedule names the environment "produktion". Did you mean "production"?');
    expect(stdout).not.toContain("production-only");
    expect(code).toBe(0);
  });

  test("names a file that cannot be loaded, and exits with 6 if none can", async () => {
    const made = scene();
    const none = await made.call("schedule", "list", "--environment", "production");
    expect(none).toMatchObject({ code: 6, stdout: "" });
    write(made.cwd, {
      "jobs/all.ts": FILES,
      "jobs/broken.ts": "enum Colour { Red }\nexport default Colour;\n",
    });
    const some = await made.call("schedule", "list", "--environment", "production");
    expect(some.stderr).toContain("jobs/broken.ts");
    expect(some.stdout).toContain("production-only");
    expect(some.code).toBe(0);
    const bad = await made.call("schedule", "list", "--environment", "");
    expect(bad).toMatchObject({ code: 2, stdout: "" });
  });
});
