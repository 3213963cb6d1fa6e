import { describe, expect, test } from "vitest";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

function scene() {
  const one = open();
  const { promise: go, resolve: release } = Promise.withResolvers<unknown>();
  one.jobs.schedule("slow", () => go).concurrency(0);
  one.jobs.schedule("sum", (args: { a: number; b: number }) => args.a + args.b).concurrency(0);
  one.jobs.schedule("broken", () => {
    throw new Error("out of paper");
  });
  return { ...one, release };
}

describe("run.at()", () => {
  test("moves an unclaimed run, later and earlier", async () => {
    const { jobs, clock } = scene();
    const run = await jobs.dispatch("sum", { a: 1, b: 2 });
    await run.at("2026-01-01T00:01:00Z");
    expect(await jobs.find(run.id)).toMatchObject({
      state: "scheduled",
      runAt: new Date("2026-01-01T00:01:00Z"),
    });
    expect(await jobs.run()).toBe(0);
    await run.at(new Date("2026-01-01T00:00:30Z"));
    await clock.advance(30);
    expect(await jobs.run()).toBe(1);
  });

  test("to the past makes it due now, and wakes the worker", async () => {
    const { jobs } = scene();
    const run = await jobs.dispatch("sum", { a: 1, b: 2 }).delay("1 day");
    const working = jobs.forever({ signals: false });
    await heard(jobs, "worker.started");
    await run.at("2020-01-01T00:00:00Z");
    expect(await run.wait()).toBe(3);
    const stopping = jobs.stop();
    await Promise.all([working, stopping]);
  });

  test("refuses a run that is running, finished or gone", async () => {
    const { jobs, release } = scene();
    const running = await jobs.dispatch("slow");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    const later = "2026-02-01T00:00:00Z";
    await expectRefusal(
      () => running.at(later),
      "RUN_CLAIMED",
      `Cannot move run ${running.id}`,
      "claimed",
      "running",
    );
    release(null);
    await pass;
    await expectRefusal(
      () => running.at(later),
      "RUN_FINISHED",
      `Cannot move run ${running.id}`,
      "(completed)",
    );
    await jobs.remove(running.id);
    await expectRefusal(() => running.at(later), "RUN_NOT_FOUND", "it does not exist");
    await expectRefusal(() => running.at("soon"), "INVALID_INSTANT", 'got "soon"');
  });
});

describe("run.cancel()", () => {
  test.each([0, 60])("cancels a waiting run, due in %d s", async (delay) => {
    const { jobs } = scene();
    const run = await jobs.dispatch("sum").delay(delay);
    const told = heard(jobs, "run.cancelled");
    expect(await run.cancel()).toBe("cancelled");
    expect(await told).toMatchObject({ id: run.id, name: "sum", attempt: 0, reason: null });
    expect(await jobs.find(run.id)).toMatchObject({ state: "cancelled", attempts: 0, error: null });
    expect(await jobs.run()).toBe(0);
    expect(await run.cancel()).toBe("cancelled");
    await expectRefusal(() => run.wait(), "RUN_CANCELLED", `Run ${run.id} of "sum" was cancelled`);
  });

  test("refuses a run that is finished, gone or unknown", async () => {
    const { jobs } = scene();
    const run = await jobs.dispatch("sum", { a: 1, b: 2 });
    await jobs.run();
    await expectRefusal(() => run.cancel(), "RUN_FINISHED", `Cannot cancel run ${run.id}`, "(completed)");
    await expectRefusal(
      () => jobs.cancel(12345),
      "RUN_NOT_FOUND",
      "Cannot cancel run 12345",
      "it does not exist",
    );
  });
});

describe("run.wait()", () => {
  test("returns the result, before and after the end", async () => {
    const { jobs } = scene();
    const run = await jobs.dispatch("sum", { a: 2, b: 3 });
    const waiting = run.wait();
    await jobs.run();
    expect(await waiting).toBe(5);
    expect(await run.wait()).toBe(5);
  });

  test("rejects for a failed run, with its error as the cause", async () => {
    const { jobs } = scene();
    const run = await jobs.dispatch("broken");
    const waiting = expectRefusal(
      () => run.wait(),
      "RUN_FAILED",
      `Run ${run.id} of "broken" failed: out of paper`,
    );
    await jobs.run();
    expect((await waiting).cause).toMatchObject({ name: "Error", message: "out of paper" });
  });

  test("waits through a retry", async () => {
    const { jobs, clock } = scene();
    let tries = 0;
    jobs
      .schedule("flaky", () => {
        if (++tries < 3) throw new Error("not yet");
        return tries;
      })
      .retries({ max: 3, base: 10, jitter: "none" });
    const run = await jobs.dispatch("flaky");
    const waiting = run.wait();
    const working = jobs.forever({ signals: false });
    await clock.advance(40);
    expect(await waiting).toBe(3);
    await jobs.stop();
    await working;
  });

  test("rejects after a timeout on the clock, with the state of the run", async () => {
    const { jobs, clock } = scene();
    const run = await jobs.dispatch("sum").delay("1h");
    const refused = expectRefusal(
      () => run.wait({ timeout: 5 }),
      "WAIT_TIMED_OUT",
      `Run ${run.id} has not finished within 5 s`,
      "it is scheduled",
    );
    await clock.advance(6);
    await refused;
    await expectRefusal(() => run.wait({ timeout: 0 }), "WAIT_TIMED_OUT");
    await expectRefusal(() => run.wait({ timeut: 5 } as object), "INVALID_OPTION", 'Did you mean "timeout"?');
    await expectRefusal(() => run.wait({ timeout: -5 }), "INVALID_DURATION", "got -5");
  });

  test("of a run that is not kept reports that its result is unknown", async () => {
    const { jobs } = scene();
    jobs.schedule("fleeting", () => 5).keep(0);
    const run = await jobs.dispatch("fleeting");
    const refused = expectRefusal(() => run.wait(), "RUN_NOT_FOUND", "finished and was not kept");
    await jobs.status();
    await jobs.run();
    await refused;
    await expectRefusal(() => run.wait(), "RUN_NOT_FOUND", "it does not exist");
  });

  test("may be called by several callers", async () => {
    const { jobs } = scene();
    const run = await jobs.dispatch("sum", { a: 1, b: 1 });
    const all = Promise.all(Array.from({ length: 20 }, () => jobs.wait(run.id)));
    await jobs.run();
    expect(new Set(await all)).toEqual(new Set([2]));
  });
});

describe("run.retry()", () => {
  test("executes a finished run again under its id; attempts keep counting", async () => {
    const { jobs } = scene();
    const run = await jobs.dispatch("broken").tags("t").queue("q");
    await jobs.run();
    await run.retry();
    expect(await jobs.find(run.id)).toMatchObject({
      state: "ready",
      attempts: 1,
      tags: ["t"],
      queue: "q",
      error: null,
    });
    await jobs.run();
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", attempts: 2 });
    expect((await jobs.attempts(run.id)).map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, "failed"],
      [2, "failed"],
    ]);
  });

  test("gives a run that had used up its attempts one more", async () => {
    const { jobs, clock } = scene();
    const seen: unknown[] = [];
    jobs
      .schedule("flaky", (_args, run) => {
        seen.push([run.attempt, run.maxAttempts, run.isLastAttempt]);
        throw new Error("down");
      })
      .retries({ max: 2, base: 1, jitter: "none" });
    const run = await jobs.dispatch("flaky");
    await jobs.run();
    await clock.advance(1);
    await jobs.run();
    expect(await run.state()).toBe("failed");
    await run.retry();
    await jobs.run();
    expect(seen).toEqual([
      [1, 2, false],
      [2, 2, true],
      [3, 2, true],
    ]);
    expect(await run.state()).toBe("failed");
  });

  test.each(["sum", "skipped", "cancelled"])("accepts any finished run: %s", async (name) => {
    const { jobs } = scene();
    jobs.schedule("skipped", () => {}).when(() => false);
    jobs.schedule("cancelled", (_args, run) => run.discard());
    const run = await jobs.dispatch(name, { a: 1, b: 2 });
    await jobs.run();
    await run.retry();
    expect(await run.state()).toBe("ready");
  });

  test("refuses a run that is unfinished or gone", async () => {
    const { jobs, release } = scene();
    const waiting = await jobs.dispatch("sum").delay(60);
    await expectRefusal(
      () => waiting.retry(),
      "RUN_CLAIMED",
      `Cannot retry run ${waiting.id}`,
      "waiting (scheduled)",
    );
    const running = await jobs.dispatch("slow");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await expectRefusal(() => running.retry(), "RUN_CLAIMED", "it is running");
    release(null);
    await pass;
    await expectRefusal(() => jobs.retry(777), "RUN_NOT_FOUND", "Cannot retry run 777");
  });

  test("does not take a unique key from its current holder", async () => {
    const { jobs } = scene();
    const first = await jobs.dispatch("broken").unique("k");
    await jobs.run();
    const second = await jobs.dispatch("broken").unique("k");
    await first.retry();
    expect(await jobs.find(first.id)).toMatchObject({ state: "ready", uniqueKey: null });
    expect(await jobs.find(second.id)).toMatchObject({ uniqueKey: "k" });
  });
});

describe("state() and ids", () => {
  test("follow the run", async () => {
    const { jobs, clock, release } = scene();
    const run = await jobs.dispatch("slow").delay(5);
    expect(await run.state()).toBe("scheduled");
    await clock.advance(5);
    const pass = jobs.run();
    await heard(jobs, "run.started");
    expect(await run.state()).toBe("running");
    release(1);
    await pass;
    expect(await run.state()).toBe("completed");
    await jobs.remove(run.id);
    expect(await run.state()).toBeNull();
  });

  test.each([[0], [-1], [1.5], ["1"], [undefined], [null], [Number.NaN], [2 ** 60]])(
    "%j is refused as an id",
    async (id) => {
      const { jobs } = scene();
      const bad = id as number;
      for (const work of [
        () => jobs.find(bad),
        () => jobs.state(bad),
        () => jobs.attempts(bad),
        () => jobs.why(bad),
        () => jobs.cancel(bad),
        () => jobs.move(bad, "2026-01-01"),
        () => jobs.retry(bad),
        () => jobs.remove(bad),
        () => jobs.wait(bad),
      ]) {
        await expectRefusal(work, "INVALID_OPTION", "the id of a run, a whole number", "got");
      }
    },
  );
});
