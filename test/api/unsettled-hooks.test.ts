import { describe, expect, test } from "vitest";
import { heard, open, stopped } from "./support/instance.ts";

describe("a hook or filter that never settles", () => {
  const never = () => new Promise<boolean>(() => {});

  test.each(["onSuccess", "onAfter"] as const)(
    "%s: the outcome is written, the slot is free, and the hook is reported",
    async (hook) => {
      const { jobs, clock, errors } = open();
      jobs
        .schedule("task", () => "done")
        [hook](never)
        .hookTimeout(10)
        .concurrency(0);
      void jobs.forever({ signals: false, parallel: 1 });
      const first = await jobs.dispatch("task");
      await clock.advance("9.5s");
      expect(await first.state()).toBe("running");
      expect((await jobs.logs(first.id)).map(({ message }) => message)).toEqual([
        `(${hook} has not settled for 5 s)`,
      ]);
      await clock.advance(1);
      expect(await first.state()).toBe("completed");
      const second = await jobs.dispatch("task");
      await clock.advance(12);
      expect(await second.state()).toBe("completed");
      expect(errors.splice(0)).toMatchObject(
        [first, second].map(({ id }) => ({
          during: `${hook} of "task", run ${id}`,
          error: { code: "HOOK_TIMED_OUT" },
        })),
      );
    },
  );

  test.each([
    ["when", "Its handler has not started: the filter when has"],
    ["onBefore", "Its handler has not started: the hook onBefore has"],
    ["onSuccess", "Its handler has finished: the hook onSuccess has"],
  ] as const)("%s: why() names it after five seconds, until it is abandoned", async (hook, says) => {
    const { jobs, clock, errors } = open();
    const next = Promise.withResolvers<void>();
    jobs
      .schedule("task", () => "done")
      [hook](never)
      .onAfter(() => next.promise);
    void jobs.forever({ signals: false });
    const since = clock.now();
    const run = await jobs.dispatch("task");
    await clock.advance(4);
    expect(await jobs.why(run.id)).not.toContain("Its handler");
    await clock.advance(8);
    const why = await jobs.why(run.id);
    expect(why).toContain(`${says} been running for 12 s (since ${new Date(since).toISOString()})`);
    expect(why).toContain("times out after 30 s.");
    await clock.advance(19);
    expect(await run.state()).toBe("running");
    expect(await jobs.why(run.id)).not.toContain("Its handler");
    next.resolve();
    await clock.advance(1);
    expect(await run.state()).toBe(hook === "onSuccess" ? "completed" : "failed");
    errors.splice(0);
  });

  test.each(["when", "skip", "onBefore"] as const)("%s: fails the attempt", async (hook) => {
    const { jobs, clock } = open({ defaults: { hookTimeout: 10 } });
    jobs.schedule("task", () => "done")[hook](never);
    void jobs.forever({ signals: false });
    const run = await jobs.dispatch("task");
    await clock.advance(11);
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", error: { code: "HOOK_TIMED_OUT" } });
  });

  test.each(["onSuccess", "onAfter"] as const)(
    "%s: a stopping worker abandons it, and reports the hook only",
    async (hook) => {
      const opened = open();
      const { jobs, errors } = opened;
      let told: unknown;
      const begun = Promise.withResolvers<void>();
      jobs
        .schedule("task", () => "done")
        [hook]((_args, run) => {
          run.signal.addEventListener("abort", () => (told = run.signal.reason));
          begun.resolve();
          return never();
        })
        .hookTimeout("1 hour");
      const completed = heard(jobs, "run.completed");
      void jobs.forever({ signals: false, grace: 10 });
      const { id } = await jobs.dispatch("task");
      await begun.promise;
      await stopped(opened);
      expect(await completed).toMatchObject({ id });
      expect(errors.splice(0)).toMatchObject([
        {
          during: `${hook} of "task", run ${id}`,
          error: {
            code: "HOOK_TIMED_OUT",
            message: `${hook} did not settle before the worker had to stop, and the worker stopped waiting for it. The outcome of the run is not affected.`,
          },
        },
      ]);
      expect(told).toMatchObject({
        code: "SHUTDOWN",
        message: expect.stringContaining("The outcome of the run is not affected"),
      });
    },
  );

  test.each([
    ["timeout", "within 5 s of the run's timeout"],
    ["cancellation", "within 5 s of the run's cancellation"],
  ])("after the %s of its run keeps no slot", async (end, when) => {
    const { jobs, clock, errors } = open();
    jobs
      .schedule(
        "task",
        (_: unknown, run) => new Promise<void>((done) => run.signal.addEventListener("abort", () => done())),
      )
      .timeout(end === "timeout" ? 5 : 60)
      .hookTimeout("1 hour")
      .onAfter(never);
    const next = jobs.schedule("next", () => "done");
    void jobs.forever({ signals: false, parallel: 1 });
    const run = await jobs.dispatch("task");
    await clock.advance(2);
    if (end === "cancellation") await run.cancel();
    await clock.advance(15);
    expect(await run.state()).not.toBe("running");
    const other = await next.dispatch();
    await clock.advance(2);
    expect(await other.state()).toBe("completed");
    expect(errors.splice(0)).toMatchObject([
      {
        error: { code: "HOOK_TIMED_OUT", message: expect.stringContaining(`onAfter did not settle ${when}`) },
      },
    ]);
  });
});
