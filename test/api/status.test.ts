import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { heard, open } from "./support/instance.ts";

describe("status()", () => {
  test("has the last run, last error, failures in a row, last sync and lease of a job", async () => {
    const { jobs, clock } = open();
    let fails = true;
    jobs
      .schedule("task", () => {
        if (fails) throw new Error("out of paper");
      })
      .queue("print")
      .priority(5)
      .everyFiveMinutes();
    await jobs.run();
    const row = async () => (await jobs.status()).jobs[0]!;
    expect(await row()).toMatchObject({
      name: "task",
      queue: "print",
      priority: 5,
      limit: 1,
      cron: "0 */5 * * * *",
      paused: false,
      running: 0,
      waiting: 0,
      lastRun: null,
      lastFailure: null,
      lastOutcome: null,
      lastError: null,
      fails: 0,
      seenAt: new Date("2026-01-01T00:00:00Z"),
      leasedUntil: null,
    });
    for (const expected of [1, 2]) {
      await clock.advance(10);
      await jobs.dispatch("task");
      await jobs.run();
      expect(await row()).toMatchObject({
        fails: expected,
        lastError: "out of paper",
        lastOutcome: "failed",
        lastFailure: new Date(Date.UTC(2026, 0, 1, 0, 0, expected * 10)),
      });
    }
    fails = false;
    await clock.advance(10);
    await jobs.dispatch("task");
    await jobs.run();
    expect(await row()).toMatchObject({
      fails: 0,
      lastError: null,
      lastOutcome: "completed",
      lastRun: new Date("2026-01-01T00:00:30Z"),
      lastFailure: new Date("2026-01-01T00:00:20Z"),
    });
  });

  test("counts running and idle jobs, and waiting and running runs", async () => {
    const { jobs } = open();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    jobs.schedule("slow", () => go).concurrency(2);
    jobs.schedule("other", () => {});
    for (let n = 0; n < 3; n++) await jobs.dispatch("slow");
    await jobs.dispatch("slow").delay(60);
    await jobs.dispatch("other").queue("later").delay(60);
    const pass = jobs.run();
    await heard(jobs, "run.started");
    const report = await jobs.status();
    expect(report).toMatchObject({ defined: 2, running: 1, idle: 1, now: new Date("2026-01-01T00:00:00Z") });
    expect(report.jobs).toMatchObject([
      { name: "other", running: 0, waiting: 1, leasedUntil: null },
      { name: "slow", running: 2, waiting: 2, leasedUntil: new Date("2026-01-01T00:01:00Z") },
    ]);
    expect(report.queues).toMatchObject([
      { name: "default", limit: 0, ready: 1, scheduled: 1, running: 2, paused: false },
      { name: "later", ready: 0, scheduled: 1, running: 0 },
    ]);
    expect(report.workers).toMatchObject([
      { pid: process.pid, parallel: 10, queues: null, startedAt: new Date("2026-01-01T00:00:00Z") },
    ]);
    release();
    await pass;
  });

  test("of an empty database is empty", async () => {
    const { jobs } = open();
    expect(await jobs.status()).toMatchObject({
      defined: 0,
      running: 0,
      idle: 0,
      jobs: [],
      queues: [],
      workers: [],
    });
  });

  test("lists jobs of other processes, and their workers", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    one.jobs.schedule("mine", () => {});
    void one.jobs.forever({ signals: false, queues: ["a"], parallel: 3 });
    await heard(one.jobs, "worker.started");
    const { jobs } = open({ clock: one.clock }, db);
    const report = await jobs.status();
    expect(report.jobs.map((job) => job.name)).toEqual(["mine"]);
    expect(report.workers).toMatchObject([{ parallel: 3, queues: ["a"] }]);
    await one.clock.advance("10m");
    expect((await jobs.status()).workers).toHaveLength(1);
  });

  test("drops a worker that is gone", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    void one.jobs.forever({ signals: false });
    await heard(one.jobs, "worker.started");
    db.exec("update punctual_workers set seen_at = seen_at - 20000");
    const { jobs } = open({}, db);
    expect((await jobs.status()).workers).toEqual([]);
  });

  test("has counts of other processes within seconds", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    one.jobs.schedule("task", () => {
      throw new Error("no");
    });
    void one.jobs.forever({ signals: false });
    const run = await one.jobs.dispatch("task");
    await run.wait().catch(() => {});
    await one.clock.advance(2);
    const { jobs } = open({ clock: one.clock }, db);
    expect((await jobs.status()).jobs[0]).toMatchObject({ fails: 1, lastError: "no" });
  });
});
