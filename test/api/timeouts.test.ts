import { describe, expect, test } from "vitest";
import { PunctualError, type RunContext } from "../../src/index.ts";
import { heard, listen, open } from "./support/instance.ts";

const untilAborted = (run: RunContext) =>
  new Promise<never>((_resolve, reject) => {
    run.signal.addEventListener("abort", () => reject(run.signal.reason), { once: true });
  });

describe("a timeout", () => {
  test("aborts the handler's signal with a typed reason, and fails the attempt", async () => {
    const { jobs, clock } = open();
    let reason: unknown;
    jobs
      .schedule("task", async (_args, run) => {
        await untilAborted(run).catch((error) => {
          reason = error;
          throw error;
        });
      })
      .timeout(10);
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await clock.advance("9.999s");
    expect(await run.state()).toBe("running");
    await clock.advance("1ms");
    await pass;
    expect(reason).toBeInstanceOf(PunctualError);
    expect(reason).toMatchObject({
      code: "RUN_TIMED_OUT",
      message: "The run took longer than its timeout of 10 s.",
    });
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", error: { code: "RUN_TIMED_OUT" } });
  });

  test("is the error, whatever the handler throws then", async () => {
    const { jobs, clock } = open();
    jobs
      .schedule("task", async (_args, run) => {
        await untilAborted(run).catch(() => {
          throw new Error("socket hang up");
        });
      })
      .timeout(1);
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await clock.advance(2);
    await pass;
    expect((await jobs.find(run.id))?.error?.code).toBe("RUN_TIMED_OUT");
  });

  test("lets a handler that finishes within the grace complete", async () => {
    const { jobs, clock } = open();
    jobs
      .schedule("task", async (_args, run) => {
        await untilAborted(run).catch(() => {});
        return "tidied up";
      })
      .timeout(1);
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await clock.advance(2);
    await pass;
    expect(await run.wait()).toBe("tidied up");
  });

  test("is retried like any failure, and each attempt has its own", async () => {
    const { jobs, clock } = open();
    let tries = 0;
    jobs
      .schedule("task", async (_args, run) => {
        if (++tries === 2) return "second";
        return untilAborted(run);
      })
      .timeout(10)
      .retries({ max: 2, base: 0 });
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await clock.advance(11);
    await pass;
    expect(await run.wait()).toBe("second");
    expect(await jobs.attempts(run.id)).toMatchObject([{ attempt: 1, error: { code: "RUN_TIMED_OUT" } }]);
  });

  test("of the dispatch replaces that of the job", async () => {
    const { jobs, clock } = open();
    jobs.schedule("task", (_args, run) => untilAborted(run)).timeout(100);
    const run = await jobs.dispatch("task").timeout(2);
    const pass = jobs.run();
    await clock.advance(3);
    await pass;
    expect((await jobs.find(run.id))?.error?.message).toContain("timeout of 2 s");
  });

  test("never aborts the signal of a quick handler", async () => {
    const { jobs, clock } = open();
    let signal: AbortSignal | undefined;
    jobs
      .schedule("task", (_args, run) => {
        signal = run.signal;
      })
      .timeout(1);
    await jobs.dispatch("task");
    await jobs.run();
    await clock.advance(100);
    expect(signal?.aborted).toBe(false);
  });

  test("covers filters and hooks", async () => {
    const { jobs, clock } = open();
    jobs
      .schedule("task", () => {})
      .when(() => new Promise(() => {}))
      .timeout(1);
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await clock.advance(10);
    await pass;
    expect((await jobs.find(run.id))?.error?.code).toBe("RUN_TIMED_OUT");
  });
});

describe("a handler that never returns", () => {
  test("has 5 seconds of grace, then its attempt fails without it", async () => {
    const { jobs, clock } = open();
    jobs.schedule("stuck", () => new Promise(() => {})).timeout(10);
    const run = await jobs.dispatch("stuck");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await clock.advance(10);
    expect(await run.state()).toBe("running");
    await clock.advance("4.999s");
    expect(await run.state()).toBe("running");
    await clock.advance("1ms");
    expect(await pass).toBe(1);
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", error: { code: "RUN_TIMED_OUT" } });
  });

  test("keeps its slot in this process until it returns", async () => {
    const { jobs, clock } = open();
    const { promise: late, resolve: release } = Promise.withResolvers<void>();
    const started = listen(jobs, "run.started");
    jobs.schedule("stuck", () => late).timeout(1);
    jobs.schedule("next", () => {});
    const stuck = await jobs.dispatch("stuck").priority(1);
    const next = await jobs.dispatch("next").priority(2);
    void jobs.forever({ signals: false, parallel: 1 });
    await clock.advance(30);
    expect(await stuck.state()).toBe("failed");
    expect(await next.state()).toBe("ready");
    expect(started.map(({ name }) => name)).toEqual(["stuck"]);
    release();
    await clock.advance(1);
    expect(await next.state()).toBe("completed");
  });

  test("cannot change the run later", async () => {
    const { jobs, clock } = open();
    const { promise: late, reject } = Promise.withResolvers<void>();
    jobs.schedule("stuck", () => late).timeout(1);
    const run = await jobs.dispatch("stuck");
    const pass = jobs.run();
    await clock.advance(10);
    await pass;
    const failed = listen(jobs, "run.failed");
    reject(new Error("much too late"));
    await clock.advance(10);
    expect(failed).toEqual([]);
    expect((await jobs.find(run.id))?.error?.code).toBe("RUN_TIMED_OUT");
    expect(await jobs.attempts(run.id)).toHaveLength(1);
  });
});
