import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("a paused queue", () => {
  test("has no run claimed until it is resumed", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {}).concurrency(0);
    await jobs.pauseQueue("a");
    const held = await jobs.dispatch("task").queue("a");
    await jobs.dispatch("task").queue("b");
    expect(await jobs.run()).toBe(1);
    expect((await jobs.status()).queues.find(({ name }) => name === "a")).toMatchObject({
      paused: true,
      pausedUntil: null,
      ready: 1,
    });
    await jobs.resumeQueue("a");
    expect(await jobs.run()).toBe(1);
    expect(await held.state()).toBe("completed");
    expect((await jobs.status()).queues.find(({ name }) => name === "a")?.paused).toBe(false);
  });

  test("for a duration resumes by itself at that time", async () => {
    const { jobs, clock } = open();
    jobs.schedule("task", () => {});
    await jobs.pauseQueue("default", { for: "10m" });
    await jobs.dispatch("task");
    expect((await jobs.status()).queues[0]).toMatchObject({
      paused: true,
      pausedUntil: new Date("2026-01-01T00:10:00Z"),
    });
    await clock.advance("599.999s");
    expect(await jobs.run()).toBe(0);
    await clock.advance("1ms");
    expect((await jobs.status()).queues[0]).toMatchObject({ paused: false, pausedUntil: null });
    expect(await jobs.run()).toBe(1);
  });

  test("lets running runs finish", async () => {
    const { jobs } = open();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    jobs.schedule("slow", () => go);
    const run = await jobs.dispatch("slow");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await jobs.pauseQueue("default");
    release();
    await pass;
    expect(await run.state()).toBe("completed");
  });

  test("prefetched runs are released, except ad hoc ones", async () => {
    const { jobs, clock } = open();
    const ran: string[] = [];
    const task = jobs.schedule("task", async () => {
      ran.push("task");
      // The worker measures its pace.
      if (ran.length < 30) return clock.advance("1ms");
      const released = heard(jobs, "run.released");
      await jobs.pauseQueue("default");
      await released;
    });
    await task.concurrency(0).dispatchMany(Array(59).fill({}));
    await jobs.dispatch("ad hoc", () => void ran.push("ad hoc"));
    const last = await task.dispatch({});
    await jobs.run({ parallel: 1 });
    expect(ran.slice(29)).toEqual(["task", "ad hoc"]);
    expect(await jobs.find(last.id)).toMatchObject({ state: "ready", attempts: 0 });
  });

  test("resuming wakes the worker", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    await jobs.pauseQueue("default");
    const run = await jobs.dispatch("task");
    void jobs.forever({ signals: false, sleep: "1h" });
    await heard(jobs, "worker.started");
    const completed = heard(jobs, "run.completed");
    await jobs.resumeQueue("default");
    expect((await completed).id).toBe(run.id);
  });

  test("keeps its limit, and need not exist yet", async () => {
    const { jobs } = open();
    jobs.queue("emails", { concurrency: 3 });
    await jobs.run();
    await jobs.pauseQueue("emails");
    await jobs.pauseQueue("not yet");
    await jobs.resumeQueue("never was");
    const { queues } = await jobs.status();
    expect(queues.find(({ name }) => name === "emails")).toMatchObject({ limit: 3, paused: true });
    expect(queues.find(({ name }) => name === "not yet")).toMatchObject({ paused: true });
  });

  test("refuses unknown options", async () => {
    const { jobs } = open();
    await expectRefusal(
      () => jobs.pauseQueue("a", { for: "ever" }),
      "INVALID_DURATION",
      "pauseQueue for",
      'got "ever"',
    );
    await expectRefusal(() => jobs.pauseQueue("a", { for: "0s" }), "INVALID_DURATION", "longer than 0");
    await expectRefusal(() => jobs.pauseQueue("a", { until: 5 } as object), "INVALID_OPTION", "Known: for");
  });
});

describe("the note of a pause", () => {
  test("is returned by status(), schedules() and why()", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {}).everyMinute();
    await jobs.run();
    await jobs.pauseQueue("default", { for: "1h", by: "ana", reason: "printer on fire" });
    await jobs.pauseJob("task", { reason: "too slow" });
    await jobs.pauseSchedule("task", { by: "bob" });
    const run = await jobs.dispatch("task");
    const status = await jobs.status();
    const since = new Date("2026-01-01T00:00:00Z");
    expect(status.queues[0]!.pause).toEqual({ since, by: "ana", reason: "printer on fire" });
    expect(status.jobs[0]!.pause).toEqual({ since, by: null, reason: "too slow" });
    expect((await jobs.schedules())[0]).toMatchObject({
      paused: true,
      pause: { since, by: "bob", reason: null },
    });
    const why = await jobs.why(run.id);
    expect(why).toContain("is paused until 2026-01-01T01:00:00.000Z by ana (printer on fire).");
    expect(why).toContain('Its job "task" is paused (too slow).');
    await jobs.resumeSchedule("task");
    expect((await jobs.schedules())[0]).toMatchObject({ paused: false, pause: null });
  });

  test("is kept for every queue by pauseAll()", async () => {
    const { jobs } = open();
    jobs.schedule("a", () => {}).queue("one");
    jobs.schedule("b", () => {}).queue("two");
    jobs.recur("a", "0 0 * * * *", { queue: "three" });
    await jobs.run();
    await jobs.dispatch("a").queue("four");
    expect(await jobs.pauseAll({ reason: "moving" })).toEqual(["four", "one", "three", "two"]);
    await jobs.dispatch("b");
    expect(await jobs.run()).toBe(0);
    expect((await jobs.status()).queues.map(({ pause }) => pause?.reason)).toEqual(Array(4).fill("moving"));
    expect(await jobs.resumeAll()).toEqual(["four", "one", "three", "two"]);
    expect(await jobs.run()).toBe(2);
    expect(await jobs.resumeAll()).toEqual([]);
  });

  test("is checked", async () => {
    const { jobs } = open();
    await expectRefusal(() => jobs.pauseSchedule("none"), "UNKNOWN_SCHEDULE", 'of job "none"', "it has none");
    await expectRefusal(() => jobs.pauseSchedule(7), "UNKNOWN_SCHEDULE", "schedule 7");
    await expectRefusal(() => jobs.pauseAll({ reason: 5 as unknown as string }), "INVALID_OPTION", "got 5");
    await expectRefusal(
      () => jobs.pauseJob("a", { until: 5 } as object),
      "INVALID_OPTION",
      "Known: reason, by",
    );
  });
});

describe("a paused job", () => {
  test("has no run claimed until it is resumed, in any queue", async () => {
    const { jobs } = open();
    for (const concurrency of [0, 1]) jobs.schedule(`task-${concurrency}`, () => {}).concurrency(concurrency);
    jobs.schedule("other", () => {});
    await jobs.run();
    for (const name of ["task-0", "task-1"]) {
      await jobs.dispatch(name);
      await jobs.pauseJob(name);
      await jobs.dispatch(name).queue("elsewhere");
    }
    await jobs.dispatch("other");
    expect(await jobs.run()).toBe(1);
    expect((await jobs.status()).jobs.map((job) => [job.name, job.paused, job.waiting])).toEqual([
      ["other", false, 0],
      ["task-0", true, 2],
      ["task-1", true, 2],
    ]);
    await jobs.resumeJob("task-0");
    expect(await jobs.run()).toBe(2);
    await jobs.resumeJob("task-1");
    expect(await jobs.run()).toBe(2);
  });

  test("stays paused after a restart", async () => {
    const db = new DatabaseSync(":memory:");
    const before = open({}, db);
    before.jobs.schedule("task", () => {});
    await before.jobs.run();
    await before.jobs.pauseJob("task");
    const { jobs } = open({}, db);
    jobs.schedule("task", () => {}).queue("moved");
    await jobs.dispatch("task");
    expect(await jobs.run()).toBe(0);
    expect((await jobs.status()).jobs[0]).toMatchObject({ paused: true, queue: "moved" });
  });

  test("must exist in the database", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    await expectRefusal(
      () => jobs.pauseJob("tsk"),
      "UNKNOWN_JOB",
      'Cannot pause job "tsk"',
      "start a worker that defines it.",
    );
    await expectRefusal(() => jobs.resumeJob("tsk"), "UNKNOWN_JOB", 'Cannot resume job "tsk"');
  });
});
