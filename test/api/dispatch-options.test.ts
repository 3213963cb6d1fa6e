import { describe, expect, test } from "vitest";
import type { DispatchOptions } from "../../src/index.ts";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

describe("the chain and the options object", () => {
  const whole: DispatchOptions = {
    delay: "1 minute",
    queue: "slow",
    priority: -3,
    key: "user-1",
    unique: { key: "once", until: "started", for: "1h" },
    timeout: 30,
    tags: ["a", "b"],
    expires: "2h",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  };
  const expected = {
    queue: "slow",
    priority: -3,
    key: "user-1",
    uniqueKey: "once",
    tags: ["a", "b"],
    state: "scheduled",
    runAt: new Date(start + 60_000),
    args: { n: 1 },
  };

  test("set the same columns", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", (_args: { n: number }) => {});
    const chained = await jobs
      .dispatch("task")
      .args({ n: 1 })
      .delay("1 minute")
      .queue("slow")
      .priority(-3)
      .key("user-1")
      .unique("once", { until: "started", for: "1h" })
      .timeout(30)
      .tags("a", "b")
      .expires("2h")
      .traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    expect(await jobs.find(chained.id)).toMatchObject(expected);
    for (const dispatch of [
      () => jobs.dispatch("task", { n: 1 }, { ...whole, unique: "1" }),
      () => job.dispatch({ n: 1 }, { ...whole, unique: "2" }),
      () =>
        job
          .draft()
          .options({ ...whole, unique: "3" })
          .dispatch({ n: 1 }),
      () =>
        jobs
          .draft()
          .options({ ...whole, unique: "4" })
          .args({ n: 1 })
          .dispatch("task"),
    ]) {
      const run = await dispatch();
      expect(await jobs.find(run.id)).toMatchObject({
        ...expected,
        uniqueKey: expect.stringMatching(/^\d$/),
      });
    }
    const [many] = await job.dispatchMany([{ n: 1 }], { ...whole, unique: "5" });
    expect(await jobs.find(many!.id)).toMatchObject({ ...expected, uniqueKey: "5" });
  });

  test("reach the handler", async () => {
    const { jobs, clock } = open();
    const seen: unknown[] = [];
    jobs.schedule("task", (args, run) => {
      const { queue, key, tags, traceparent, createdAt, scheduledFor, parentId } = run;
      seen.push({ args, queue, key, tags, traceparent, createdAt, scheduledFor, parentId });
    });
    await jobs.dispatch("task", { n: 1 }, { ...whole, expires: "2h" });
    await clock.advance(61);
    await jobs.run();
    expect(seen).toEqual([
      {
        args: { n: 1 },
        queue: "slow",
        key: "user-1",
        tags: ["a", "b"],
        traceparent: whole.traceparent,
        createdAt: new Date(start),
        scheduledFor: new Date(start + 60_000),
        parentId: null,
      },
    ]);
  });

  test("take a number as the delay in seconds", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", () => {});
    for (const dispatch of [
      () => jobs.dispatch("task", null, 3600),
      () => jobs.dispatch("task", undefined, 3600),
      () => job.dispatch(undefined, 3600),
      () => jobs.dispatch("task").options(3600),
      () => jobs.dispatch("task").delay(3600),
      () => jobs.dispatch("task").delay("1h"),
      () => jobs.dispatch("task").delay("60 minutes"),
      () => jobs.dispatch("task").at("2026-01-01T01:00:00Z"),
      () => jobs.dispatch("task").at("2026-01-01 01:00:00"),
      () => jobs.dispatch("task").at("2026-01-01T02:00:00+01:00"),
      () => jobs.dispatch("task").at(new Date(start + 3_600_000)),
      () => jobs.dispatch("task", null, { at: new Date(start + 3_600_000) }),
    ]) {
      const run = await dispatch();
      expect(await jobs.find(run.id)).toMatchObject({
        state: "scheduled",
        runAt: new Date(start + 3_600_000),
      });
    }
  });

  test("at() and delay() replace each other", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const at = await jobs.dispatch("task").delay(60).at("2026-01-01T00:00:05Z");
    const delay = await jobs.dispatch("task").at("2026-01-01T00:00:05Z").delay(60);
    expect((await jobs.find(at.id))?.runAt).toEqual(new Date(start + 5000));
    expect((await jobs.find(delay.id))?.runAt).toEqual(new Date(start + 60_000));
  });

  test("an instant in the past is due now", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const run = await jobs.dispatch("task").at("2020-01-01T00:00:00Z");
    expect(await run.state()).toBe("ready");
    expect(await jobs.run()).toBe(1);
  });

  test.each([
    [{ dealy: 5 }, "INVALID_OPTION", 'no option "dealy"', 'Did you mean "delay"?'],
    [{ args: {} }, "INVALID_OPTION", 'no option "args"', "Known: delay, at, queue"],
    ["soon", "INVALID_OPTION", "dispatch options or a delay in seconds", 'got "soon"'],
    [null, "INVALID_OPTION", "got null"],
    [[5], "INVALID_OPTION", "dispatch()", "got [5]"],
    [-1, "INVALID_DURATION", "a delay", "got -1"],
    [{ delay: "tomorrow" }, "INVALID_DURATION", "a delay", 'got "tomorrow"'],
    [{ delay: Number.NaN }, "INVALID_DURATION", "got NaN"],
    [{ at: "13:00" }, "INVALID_INSTANT", "a Date or an ISO 8601 text", 'got "13:00"'],
    [{ at: new Date(Number.NaN) }, "INVALID_INSTANT", "an invalid Date"],
    [{ at: 3600 }, "INVALID_INSTANT", "got 3600", "use delay()"],
    [{ at: "2026-02-30T00:00:00Z" }, "INVALID_INSTANT", "2026-02-30"],
    [{ priority: 1.5 }, "INVALID_OPTION", "a priority", "got 1.5"],
    [{ queue: "" }, "INVALID_NAME", "a queue name"],
    [{ timeout: 0 }, "INVALID_OPTION", "a timeout of more than 0", "got 0"],
    [{ timeout: "x" }, "INVALID_DURATION", "a timeout"],
    [{ expires: -1 }, "INVALID_DURATION", "expires", "got -1"],
    [{ unique: "" }, "INVALID_NAME", "a unique key"],
    [{ unique: { key: "a", until: "done" } }, "INVALID_OPTION", '"started" or "finished"', 'got "done"'],
    [{ unique: { key: "a", untill: "started" } }, "INVALID_OPTION", 'Did you mean "until"?'],
    [{ unique: { key: "a", for: "long" } }, "INVALID_DURATION", "unique for", 'got "long"'],
  ] as [unknown, Parameters<typeof expectRefusal>[1], ...string[]][])(
    "%j is refused",
    async (options, code, ...parts) => {
      const { jobs } = open();
      const job = jobs.schedule("task", () => {});
      const chosen = options as DispatchOptions;
      for (const work of [
        () => jobs.dispatch("task", {}, chosen),
        () => job.dispatch(undefined, chosen),
        () => job.draft().options(chosen),
        () => jobs.draft().options(chosen),
        () => job.dispatchMany([{}], chosen),
      ]) {
        await expectRefusal(work, code, ...parts);
      }
    },
  );

  test("a refused call withdraws the dispatch", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", () => {});
    const dispatch = jobs.dispatch("task");
    await expectRefusal(() => dispatch.delay(-1), "INVALID_DURATION", "got -1");
    await expectRefusal(() => dispatch.delay(5), "INVALID_DURATION", "got -1");
    await expectRefusal(() => dispatch, "INVALID_DURATION", "got -1");
    await expectRefusal(() => jobs.dispatch("task").unique(""), "INVALID_NAME");
    await expectRefusal(() => jobs.dispatch("task", {}, { delay: -1 }), "INVALID_DURATION");
    await expectRefusal(() => job.dispatch({}, { priority: 1.5 }), "INVALID_OPTION");
    await expectRefusal(() => jobs.dispatch("ad hoc", () => {}).retries(0), "INVALID_OPTION");
    await expectRefusal(() => jobs.dispatch("ad hoc", () => {}, { queue: "" }), "INVALID_NAME");
    await jobs.dispatch("task");
    expect((await jobs.runs()).runs).toHaveLength(1);
  });
});

describe("expires", () => {
  test("skips a run that did not start in time", async () => {
    const { jobs, clock } = open();
    let ran = 0;
    const hooks: string[] = [];
    jobs
      .schedule("task", () => void ran++)
      .onBefore(() => hooks.push("before"))
      .onAfter(() => hooks.push("after"));
    const late = await jobs.dispatch("task").expires(60);
    await clock.advance(61);
    const skipped = heard(jobs, "run.skipped");
    expect(await jobs.run()).toBe(1);
    expect(ran).toBe(0);
    expect(await skipped).toMatchObject({ id: late.id, reason: "expired before it started" });
    expect(await jobs.find(late.id)).toMatchObject({
      state: "skipped",
      error: { message: "expired before it started" },
    });
    await expectRefusal(() => late.wait(), "RUN_SKIPPED", "expired before it started");
    await jobs.dispatch("task").expires(60);
    await clock.advance(60);
    await jobs.run();
    expect(ran).toBe(1);
    expect(hooks).toEqual(["before", "after"]);
  });

  test("does not skip a run that has started once", async () => {
    const { jobs, clock } = open();
    let tries = 0;
    jobs
      .schedule("task", () => {
        if (++tries === 1) throw new Error("once more");
        return "late";
      })
      .retries({ max: 2, base: 60, cap: 60, jitter: "none" });
    const run = await jobs.dispatch("task").expires(10);
    await jobs.run();
    await clock.advance(60);
    await jobs.run();
    expect(await run.wait()).toBe("late");
  });
});
