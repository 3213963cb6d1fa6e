import { describe, expect, test } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { heard, listen, open } from "./support/instance.ts";

describe("a synchronous handler", () => {
  test("that throws fails its attempt, and is retried", async () => {
    const { jobs } = open();
    let tries = 0;
    jobs
      .schedule("task", () => {
        if (++tries === 1) throw new Error("once");
        return tries;
      })
      .retries({ max: 2, base: 0 });
    const run = await jobs.dispatch("task");
    const retried = heard(jobs, "run.retried");
    expect(await jobs.run()).toBe(2);
    expect(await retried).toMatchObject({ id: run.id, error: { message: "once" } });
    expect(await jobs.find(run.id)).toMatchObject({ state: "completed", attempts: 2, result: 2 });
  });

  test("has its hooks called in order, synchronous or not, and awaited", async () => {
    const { jobs } = open();
    const calls: string[] = [];
    const later = async (call: string) => {
      await new Promise(setImmediate);
      calls.push(call);
    };
    jobs
      .schedule("good", () => void calls.push("handler"))
      .onBefore(() => later("before"))
      .onSuccess(() => void calls.push("success"))
      .onAfter(() => later("after"));
    jobs
      .schedule("bad", () => {
        throw new Error("no");
      })
      .onError(({ message }) => later(message))
      .onAfter(() => void calls.push("after bad"));
    await jobs.dispatch("good");
    await jobs.run();
    await jobs.dispatch("bad");
    await jobs.run();
    expect(calls).toEqual(["before", "handler", "success", "after", "no", "after bad"]);
  });

  test("that returns a thenable is awaited", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => ({
      then: (resolve: (value: string) => void) => void setImmediate(() => resolve("later")),
    }));
    const { id } = await jobs.dispatch("task");
    await jobs.run();
    expect(await jobs.find(id)).toMatchObject({ state: "completed", result: "later" });
  });

  test("that returns an object whose then throws fails its attempt", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => ({
      get then(): never {
        throw new Error("no then");
      },
    }));
    const { id } = await jobs.dispatch("task");
    await jobs.run();
    expect(await jobs.find(id)).toMatchObject({ state: "failed", error: { message: "no then" } });
  });

  test("ends before the next one starts, and their outcomes keep the order", async () => {
    const { jobs } = open();
    const seen: string[] = [];
    jobs.on("run.started", ({ id }) => seen.push(`started ${id}`));
    const job = jobs.schedule("task", (_args, { id }) => void seen.push(`ran ${id}`)).concurrency(0);
    const settled = listen(jobs, "run.completed");
    const ids = (await job.dispatchMany([{}, {}, {}])).map(({ id }) => id);
    await jobs.run({ parallel: 2 });
    expect(seen).toEqual(ids.flatMap((id) => [`started ${id}`, `ran ${id}`]));
    expect(settled.map(({ id }) => id)).toEqual(ids);
  });

  test("is not called inside the one before", async () => {
    const { jobs } = open();
    const depths: number[] = [];
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = Number.POSITIVE_INFINITY;
    try {
      const handler = () => void depths.push(new Error("here").stack!.split("\n").length);
      const job = jobs.schedule("task", handler).concurrency(0);
      await job.dispatchMany(Array.from({ length: 50 }, () => ({})));
      // One claim brings them all.
      await jobs.run({ parallel: 50, batch: 50 });
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
    expect(depths).toHaveLength(50);
    expect(new Set(depths).size).toBe(1);
  });

  test("is the parent of its own dispatches, not of those of a listener", async () => {
    const { jobs } = open();
    jobs.schedule("other", () => {}).concurrency(0);
    const own: Promise<{ id: number }>[] = [];
    const heardOf: Promise<{ id: number }>[] = [];
    const job = jobs
      .schedule("task", () => {
        own.push(jobs.dispatch("other").then((run) => run));
      })
      .concurrency(0);
    for (const name of ["run.started", "run.completed"] as const) {
      jobs.on(name, (event) => {
        if (event.name === "task") heardOf.push(jobs.dispatch("other").then((run) => run));
      });
    }
    const [first, second] = await job.dispatchMany([{}, {}]);
    await jobs.run({ parallel: 2 });
    const parents = async (all: Promise<{ id: number }>[]) =>
      Promise.all((await Promise.all(all)).map(async ({ id }) => (await jobs.find(id))!.parentId));
    expect(await parents(own)).toEqual([first!.id, second!.id]);
    expect(await parents(heardOf)).toEqual([null, null, null, null]);
  });
});

describe("a run's context", () => {
  test("has an aborted signal also if the handler reads it after the abort, and always the same one", async () => {
    const { jobs, clock } = open();
    const gate = Promise.withResolvers<void>();
    const signals: AbortSignal[] = [];
    jobs
      .schedule("task", async (_args, run) => {
        await gate.promise;
        signals.push(run.signal, run.signal);
        run.signal.throwIfAborted();
      })
      .timeout(1);
    const run = await jobs.dispatch("task");
    const started = heard(jobs, "run.started");
    const pass = jobs.run();
    await started;
    await clock.advance(2);
    gate.resolve();
    await pass;
    expect(signals[0]).toBe(signals[1]);
    expect(signals[0]).toMatchObject({ aborted: true, reason: { code: "RUN_TIMED_OUT" } });
    expect(await run.state()).toBe("failed");
  });

  test("returns the same dates each time, and all its values to a log line", async () => {
    const { jobs, clock } = open();
    let context: RunContext | undefined;
    jobs.schedule("task", (_args, run) => {
      context = run;
    });
    const { id } = await jobs.dispatch("task").key("k").tags("a");
    await jobs.run();
    const now = new Date(clock.now()).toISOString();
    expect(context!.scheduledFor).toBe(context!.scheduledFor);
    expect(context!.createdAt).toBe(context!.createdAt);
    expect(context!.signal).toBe(context!.signal);
    expect(JSON.parse(JSON.stringify(context))).toEqual({
      id,
      name: "task",
      queue: "default",
      key: "k",
      tags: ["a"],
      attempt: 1,
      maxAttempts: 1,
      isLastAttempt: true,
      crashes: 0,
      scheduledFor: now,
      createdAt: now,
      parentId: null,
      traceparent: null,
    });
    expect({ ...context }).toMatchObject({ id, name: "task", queue: "default", tags: ["a"], attempt: 1 });
  });
});
