import { hostname } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { heard, open, stopped } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const SELF = `worker ${hostname()}:${process.pid}`;

/** A live worker with a job that is busy until it is released. */
async function scene(concurrency = 1) {
  const one = open();
  const { jobs } = one;
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  jobs.schedule("slow", () => go).concurrency(concurrency, { perKey: 1 });
  jobs.schedule("task", () => {}).concurrency(0);
  jobs.queue("narrow", { concurrency: 1 });
  await jobs.run();
  return { ...one, release };
}

const working = async (one: Awaited<ReturnType<typeof scene>>, queues?: string[]) => {
  void one.jobs.forever({ signals: false, parallel: 2, ...(queues && { queues }) });
  await heard(one.jobs, "worker.started");
};

describe("why() explains that", () => {
  test("a run is scheduled", async () => {
    const { jobs } = await scene();
    const run = await jobs.dispatch("task").delay("3h");
    expect(await jobs.why(run.id)).toBe("It is due in 3 h, at 2026-01-01T03:00:00.000Z.");
    const soon = await jobs.dispatch("task").delay(90);
    expect(await jobs.why(soon.id)).toBe("It is due in 90 s, at 2026-01-01T00:01:30.000Z.");
  });

  test("a run is due, and no worker has made it ready", async () => {
    const one = await scene();
    const { jobs, clock } = one;
    const run = await jobs.dispatch("task").delay(90);
    await clock.advance(150);
    expect(await jobs.why(run.id)).toBe("It has been due for 60 s. No worker is alive.");
    await jobs.pauseQueue("default");
    await jobs.pauseJob("task", { by: "ana", reason: "audit" });
    expect(await jobs.why(run.id)).toBe(
      'It has been due for 60 s. Its queue "default" is paused. Its job "task" is paused by ana (audit). No worker is alive.',
    );
  });

  test("a run waits for its next attempt", async () => {
    const { jobs } = await scene();
    jobs
      .schedule("flaky", () => {
        throw new Error("down");
      })
      .retries({ max: 3, base: 60, jitter: "none" });
    const run = await jobs.dispatch("flaky");
    await jobs.run();
    expect(await jobs.why(run.id)).toBe(
      "It is due in 60 s, at 2026-01-01T00:01:00.000Z. It waits for attempt 2.",
    );
  });

  test("its queue is paused, with or without an end", async () => {
    const one = await scene();
    await working(one);
    await one.jobs.pauseQueue("a");
    await one.jobs.pauseQueue("b", { for: "1h" });
    const a = await one.jobs.dispatch("task").queue("a");
    const b = await one.jobs.dispatch("task").queue("b");
    expect(await one.jobs.why(a.id)).toBe('Its queue "a" is paused.');
    expect(await one.jobs.why(b.id)).toBe('Its queue "b" is paused until 2026-01-01T01:00:00.000Z.');
  });

  test("its job is paused", async () => {
    const one = await scene();
    await working(one);
    await one.jobs.pauseJob("task");
    const run = await one.jobs.dispatch("task");
    expect(await one.jobs.why(run.id)).toBe('Its job "task" is paused.');
  });

  test("its job's limit is full, with a hint that it is the default", async () => {
    const one = await scene();
    await one.jobs.dispatch("slow");
    await working(one);
    const run = await one.jobs.dispatch("slow");
    await one.clock.advance(1);
    expect(await one.jobs.why(run.id)).toBe(
      `Its job "slow" may run 1 at once (1 unless the definition says otherwise; concurrency(0) means no limit), and 1 is running: run ${run.id - 1} on ${SELF}.`,
    );
  });

  test("its job's limit is full, and was set", async () => {
    const one = await scene(2);
    for (const key of ["a", "b"]) await one.jobs.dispatch("slow").key(key);
    await working(one);
    const run = await one.jobs.dispatch("slow").key("c");
    await one.clock.advance(1);
    expect(await one.jobs.why(run.id)).toBe(
      `Its job "slow" may run 2 at once, and 2 are running: run ${run.id - 2} on ${SELF}, run ${run.id - 1} on ${SELF}.`,
    );
  });

  test("its key's limit is full", async () => {
    const one = await scene(0);
    await one.jobs.dispatch("slow").key("ada");
    await working(one);
    const run = await one.jobs.dispatch("slow").key("ada");
    await one.clock.advance(1);
    expect(await one.jobs.why(run.id)).toBe(
      `Runs with its key "ada" may run 1 at once, and 1 is running: run ${run.id - 1} on ${SELF}.`,
    );
  });

  test("its queue's limit is full", async () => {
    const one = await scene(0);
    await one.jobs.dispatch("slow").queue("narrow");
    await working(one);
    const run = await one.jobs.dispatch("task").queue("narrow");
    await one.clock.advance(1);
    expect(await one.jobs.why(run.id)).toBe(
      `Its queue "narrow" may run 1 at once, and 1 is running: run ${run.id - 1} on ${SELF}.`,
    );
  });

  test("no worker is alive", async () => {
    const { jobs } = await scene();
    const run = await jobs.dispatch("task");
    expect(await jobs.why(run.id)).toBe("No worker is alive.");
  });

  test("no worker is alive, although a producer sends heartbeats for its functions", async () => {
    const { jobs } = await scene();
    await jobs.dispatch("function", () => {}).delay(60);
    const run = await jobs.dispatch("task");
    expect(await jobs.why(run.id)).toBe("No worker is alive.");
  });

  test("no worker serves its queue", async () => {
    const one = await scene();
    await working(one, ["emails"]);
    const run = await one.jobs.dispatch("task").queue("reports");
    expect(await one.jobs.why(run.id)).toBe('No live worker serves the queue "reports".');
  });

  test("no worker has ever defined its job", async () => {
    const one = await scene();
    await working(one);
    one.jobs.declare("elsewhere");
    const run = await one.jobs.dispatch("elsewhere");
    expect(await one.jobs.why(run.id)).toBe('No worker has ever defined the job "elsewhere".');
  });

  test("no live worker defines its job", async () => {
    const db = new DatabaseSync(":memory:");
    const before = open({}, db);
    before.jobs.schedule("old", () => {});
    await before.jobs.run();
    await stopped(before);
    const { jobs, clock } = open({ clock: before.clock }, db);
    void jobs.forever({ signals: false });
    await heard(jobs, "worker.started");
    await clock.advance("10m");
    const run = await jobs.dispatch("old");
    expect(await jobs.why(run.id)).toMatch(/^No live worker defines the job "old"; one did 10 min ago\.$/);
  });

  test("there are several reasons, the strongest first", async () => {
    const { jobs } = await scene();
    await jobs.pauseQueue("default");
    await jobs.pauseJob("task");
    const run = await jobs.dispatch("task");
    expect(await jobs.why(run.id)).toBe(
      'Its queue "default" is paused. Its job "task" is paused. No worker is alive.',
    );
  });

  test("runs are before it, or it is next", async () => {
    const one = await scene(0);
    for (const key of ["a", "b"]) await one.jobs.dispatch("slow").key(key);
    await working(one);
    await one.clock.advance(1);
    const next = await one.jobs.dispatch("task");
    const second = await one.jobs.dispatch("task");
    const third = await one.jobs.dispatch("task");
    expect(await one.jobs.why(next.id)).toBe(
      "Nothing holds it back: it is next in its queue and starts as soon as a worker has a free slot.",
    );
    expect(await one.jobs.why(second.id)).toBe(
      'It waits its turn: 1 ready run comes before it in the queue "default".',
    );
    expect(await one.jobs.why(third.id)).toBe(
      'It waits its turn: 2 ready runs come before it in the queue "default".',
    );
  });

  test("a function waits for its process, or its process is gone", async () => {
    const db = new DatabaseSync(":memory:");
    const { jobs } = open({}, db);
    const run = await jobs.dispatch("ad hoc", () => {});
    expect(await jobs.why(run.id)).toBe(
      "It is a function of one process, and waits for the worker of that process.",
    );
    db.exec("delete from punctual_workers");
    expect(await jobs.why(run.id)).toBe(
      "It is a function of a process that gives no sign of life: it fails 60 s after the last one.",
    );
  });

  test("a run is running", async () => {
    const one = await scene();
    const run = await one.jobs.dispatch("slow");
    await working(one);
    await one.clock.advance(5);
    expect(await one.jobs.why(run.id)).toMatch(
      /^It is running: attempt 1, started 5 s ago, on worker \S+\.$/,
    );
    one.release();
  });

  test("a run has finished, with its outcome", async () => {
    const { jobs } = await scene();
    jobs.schedule("bad", () => {
      throw new Error("out of paper");
    });
    jobs.schedule("unwanted", () => {}).when(() => false);
    const runs = [await jobs.dispatch("task"), await jobs.dispatch("bad"), await jobs.dispatch("unwanted")];
    const gone = await jobs.dispatch("task");
    await gone.cancel();
    await jobs.run();
    expect(await Promise.all([...runs, gone].map((run) => jobs.why(run.id)))).toEqual([
      "It has completed.",
      expect.stringMatching(/^It has ended: failed\b.*out of paper/),
      expect.stringMatching(/^It has ended: skipped\b.*when\(\) returned false/),
      "It has ended: cancelled.",
    ]);
  });

  test("a run does not exist", async () => {
    const { jobs } = await scene();
    await expectRefusal(() => jobs.why(999), "RUN_NOT_FOUND", "Cannot explain run 999");
  });
});
