import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { heard, listen, open, stopped } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("forever() and stop()", () => {
  test("works until it is stopped, and returns the number of runs", async () => {
    const one = open();
    one.jobs.schedule("task", () => {}).concurrency(0);
    const started = listen(one.jobs, "worker.started");
    const stopping = listen(one.jobs, "worker.stopped");
    const working = one.jobs.forever({ signals: false, parallel: 4 });
    for (let n = 0; n < 5; n++) await (await one.jobs.dispatch("task")).wait();
    const [worker] = (await one.jobs.status()).workers;
    expect(worker).toMatchObject({ parallel: 4, queues: null, pid: process.pid });
    await stopped(one);
    expect(await working).toBe(5);
    expect(started).toEqual([
      { worker: worker!.id, parallel: 4, queues: null, exceptQueues: [], weights: null, schedules: true },
    ]);
    expect(stopping).toEqual([{ worker: worker!.id, ran: 5, unwritten: [] }]);
  });

  test("that are called at once execute nothing", async () => {
    const one = open();
    const working = one.jobs.forever({ signals: false });
    await stopped(one);
    expect(await working).toBe(0);
  });

  test("stop() waits for running runs, and claims no more", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    one.jobs.schedule("slow", () => go).concurrency(0);
    const first = await one.jobs.dispatch("slow");
    const working = one.jobs.forever({ signals: false });
    await heard(one.jobs, "run.started");
    const stopping = one.jobs.stop();
    let done = false;
    void stopping.then(() => {
      done = true;
    });
    await one.clock.advance(5);
    expect(done).toBe(false);
    release();
    await stopping;
    expect(await working).toBe(1);
    const { jobs } = open({}, db);
    expect(await jobs.state(first.id)).toBe("completed");
  });

  test("after the grace aborts them; aborted runs are released, and the attempt does not count", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    let code: unknown;
    one.jobs.schedule("slow", async (_args, run) => {
      await new Promise((_resolve, reject) => {
        run.signal.addEventListener("abort", () => {
          code = (run.signal.reason as { code: string }).code;
          reject(run.signal.reason);
        });
      });
    });
    const run = await one.jobs.dispatch("slow");
    const working = one.jobs.forever({ signals: false, grace: 10 });
    await heard(one.jobs, "run.started");
    const released = heard(one.jobs, "run.released");
    const stopping = one.jobs.stop();
    await one.clock.advance("9.9s");
    expect(code).toBeUndefined();
    await one.clock.advance("0.2s");
    await stopping;
    await working;
    expect(code).toBe("SHUTDOWN");
    expect(await released).toMatchObject({ id: run.id, attempt: 1 });
    const { jobs } = open({}, db);
    expect(await jobs.find(run.id)).toMatchObject({ state: "ready", attempts: 1, crashes: 0, worker: null });
    expect(await jobs.attempts(run.id)).toMatchObject([
      { attempt: 1, outcome: "released", error: { code: "SHUTDOWN", stack: null } },
    ]);
  });

  test("abandons a handler that ignores the shutdown, and releases its run", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    one.jobs.schedule("stuck", () => new Promise(() => {}));
    const run = await one.jobs.dispatch("stuck");
    const working = one.jobs.forever({ signals: false, grace: 0 });
    await heard(one.jobs, "run.started");
    await stopped(one);
    await working;
    const { jobs } = open({}, db);
    expect(await jobs.find(run.id)).toMatchObject({ state: "ready", attempts: 1 });
  });

  test("leaves no worker behind in the database", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    one.jobs.schedule("task", () => {});
    const working = one.jobs.forever({ signals: false });
    await heard(one.jobs, "worker.started");
    await stopped(one);
    await working;
    expect((await open({}, db).jobs.status()).workers).toEqual([]);
  });

  test("a second worker of the same instance is refused", async () => {
    const one = open();
    void one.jobs.forever({ signals: false });
    for (const work of [() => one.jobs.forever({ signals: false }), () => one.jobs.run()]) {
      await expectRefusal(work, "WORKER_RUNNING", "forever() is under way", "stop()", "second instance");
    }
  });

  test("may follow a pass", async () => {
    const one = open();
    one.jobs.schedule("task", () => {});
    await one.jobs.dispatch("task");
    const pass = one.jobs.run();
    const working = one.jobs.forever({ signals: false });
    expect(await pass).toBe(1);
    await (await one.jobs.dispatch("task")).wait();
    await stopped(one);
    expect(await working).toBe(1);
  });

  test.each([
    [{ parallel: 0 }, "INVALID_OPTION", "parallel", "got 0"],
    [{ sleep: "never" }, "INVALID_DURATION", "sleep", 'got "never"'],
    [{ grace: -1 }, "INVALID_DURATION", "grace", "got -1"],
    [{ batch: 0 }, "INVALID_OPTION", "batch", "got 0"],
    [{ queues: [] }, "INVALID_OPTION", "at least one name"],
    [{ paralel: 5 }, "INVALID_OPTION", 'Did you mean "parallel"?'],
    [null, "INVALID_OPTION", "forever()", "got null"],
  ] as [unknown, Parameters<typeof expectRefusal>[1], ...string[]][])(
    "refuses %j",
    async (options, code, ...parts) => {
      const { jobs } = open();
      await expectRefusal(() => jobs.forever(options as object), code, ...parts);
      expect(await jobs.run()).toBe(0);
    },
  );

  test("signals: removes its listeners, and adds none if false", async () => {
    const before = process.listenerCount("SIGTERM");
    const one = open();
    const working = one.jobs.forever();
    expect(process.listenerCount("SIGTERM")).toBe(before + 1);
    expect(process.listenerCount("SIGINT")).toBeGreaterThan(0);
    await stopped(one);
    await working;
    expect(process.listenerCount("SIGTERM")).toBe(before);
    const two = open();
    void two.jobs.forever({ signals: false });
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });
});

describe("a database that cannot be opened", () => {
  test("rejects forever() and run()", async () => {
    const before = process.listenerCount("SIGTERM");
    const { jobs } = open({}, "sqlite:/no/such/folder/jobs.db");
    await expectRefusal(() => jobs.forever(), "DATABASE_MISSING", "/no/such/folder");
    await expectRefusal(() => jobs.run(), "DATABASE_MISSING");
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });
});

describe("a worker", () => {
  test("serves only its queues", async () => {
    const one = open();
    const seen: string[] = [];
    one.jobs.schedule("task", (_args, run) => void seen.push(run.queue)).concurrency(0);
    void one.jobs.forever({ signals: false, queues: ["a", "b"] });
    const other = await one.jobs.dispatch("task").queue("c");
    for (const queue of ["a", "b"]) await (await one.jobs.dispatch("task").queue(queue)).wait();
    await one.clock.advance(1);
    expect(seen).toEqual(["a", "b"]);
    expect(await other.state()).toBe("ready");
  });

  test("wakes for a dispatch in this process, without waiting for its sleep", async () => {
    const one = open();
    one.jobs.schedule("task", () => "now");
    void one.jobs.forever({ signals: false, sleep: "1h" });
    await heard(one.jobs, "worker.started");
    const before = one.clock.monotonic();
    expect(await (await one.jobs.dispatch("task")).wait()).toBe("now");
    expect(one.clock.monotonic()).toBe(before);
  });

  test("wakes when the next delayed run is due, whatever its sleep", async () => {
    const one = open();
    one.jobs.schedule("task", () => {}).concurrency(0);
    void one.jobs.forever({ signals: false, sleep: "1h" });
    await heard(one.jobs, "worker.started");
    const run = await one.jobs.dispatch("task").delay(30);
    const later = await one.jobs.dispatch("task").delay(90);
    await one.clock.advance("29.999s");
    expect(await run.state()).toBe("scheduled");
    await one.clock.advance("1ms");
    expect([await run.state(), await later.state()]).toEqual(["completed", "scheduled"]);
    await one.clock.advance(60);
    expect(await later.state()).toBe("completed");
  });

  test("finds runs of another process with its next poll", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    one.jobs.schedule("task", () => {});
    void one.jobs.forever({ signals: false, sleep: 2 });
    await heard(one.jobs, "worker.started");
    const other = open({ clock: one.clock }, db);
    const run = await other.jobs.dispatch("task");
    await one.clock.advance("2s");
    expect(await run.state()).toBe("completed");
  });

  test("executes jobs that are defined while it works", async () => {
    const one = open();
    void one.jobs.forever({ signals: false });
    await heard(one.jobs, "worker.started");
    one.jobs.schedule("late", () => "here");
    expect(await (await one.jobs.dispatch("late")).wait()).toBe("here");
  });

  test("syncs what is defined while it works, also long after it started", async () => {
    const one = open();
    one.jobs.schedule("task", () => {});
    one.jobs.queue("mail", { concurrency: 2 });
    void one.jobs.forever({ signals: false });
    await heard(one.jobs, "worker.started");
    // Some syncs that have nothing to write.
    await one.clock.advance("3m");
    one.jobs.queue("mail", { concurrency: 3 });
    await one.clock.advance("1s");
    const { queues, jobs, now } = await one.jobs.status();
    expect(queues.find(({ name }) => name === "mail")?.limit).toBe(3);
    expect(Number(now) - Number(jobs[0]?.seenAt)).toBeLessThanOrEqual(6000);
  });

  test("runs parallel runs at once, and starts the next as they end", async () => {
    const one = open();
    const waiting: (() => void)[] = [];
    one.jobs.schedule("task", () => new Promise<void>((resolve) => waiting.push(resolve))).concurrency(0);
    for (let n = 0; n < 6; n++) await one.jobs.dispatch("task");
    void one.jobs.forever({ signals: false, parallel: 2 });
    await one.clock.advance(1);
    expect(waiting).toHaveLength(2);
    waiting.shift()?.();
    await one.clock.advance("10ms");
    expect(waiting).toHaveLength(2);
    for (let n = 0; n < 10; n++) {
      waiting.shift()?.();
      await one.clock.advance("10ms");
    }
    expect((await one.jobs.runs({ state: "completed" })).runs).toHaveLength(6);
  });
});
