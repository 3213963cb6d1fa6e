import { describe, expect, test } from "vitest";
import { fakeRun } from "../../src/testing/index.ts";
import { listen, open } from "./support/instance.ts";

describe("slowDown()", () => {
  test("closes the rate, gives the attempt back, and the run goes first when the rate opens", async () => {
    const { jobs, clock } = open();
    const begin = clock.now();
    const seen: [number, number, boolean][] = [];
    const job = jobs
      .define("call", async (args: { n: number }, run) => {
        seen.push([args.n, run.attempt, run.isLastAttempt]);
        if (seen.length === 1) run.slowDown("30s");
      })
      .concurrency(1)
      .attempts(1)
      .rate(100, "1m");
    const [first, second] = await job.dispatchMany([{ n: 1 }, { n: 2 }]);
    const snoozed = listen(jobs, "run.snoozed");
    await jobs.run();
    expect(seen).toEqual([[1, 1, true]]);
    expect(await jobs.find(first!.id)).toMatchObject({ state: "ready", attempts: 1 });
    expect(snoozed).toMatchObject([{ id: first!.id, attempt: 1, delay: 30_000, slowedDown: true }]);
    const until = new Date(begin + 30_000);
    expect(await jobs.rates()).toMatchObject([{ job: "call", spent: 1, opensAt: until, slowedUntil: until }]);
    expect(await jobs.why(second!.id)).toBe(
      `Its job "call" was slowed down until ${until.toISOString()} (in 30 s) by run.slowDown() of a handler; 1 ready run comes before it. No worker is alive.`,
    );
    await clock.advance(29.999);
    await jobs.run();
    expect(seen).toHaveLength(1);
    await clock.advance(0.001);
    await jobs.run();
    expect(seen.slice(1)).toEqual([
      [1, 2, true],
      [2, 1, true],
    ]);
    expect(await jobs.find(first!.id)).toMatchObject({ state: "completed", attempts: 2 });
    expect(await jobs.rates()).toMatchObject([{ opensAt: null, slowedUntil: null }]);
  });

  test("closes the rate of the key alone, and a worker sleeps until it opens", async () => {
    const { jobs, clock } = open();
    const begin = clock.now();
    const seen: [string, number][] = [];
    const job = jobs
      .define("sync", async (args: { shop: string }, run) => {
        seen.push([args.shop, clock.now() - begin]);
        if (args.shop === "a" && run.attempt === 1) run.slowDown(5);
      })
      .concurrency(0)
      .rate(null, "1s", { perKey: 1, by: (args) => args.shop });
    const [first] = await job.dispatchMany([{ shop: "a" }, { shop: "b" }]);
    const began = new Promise((resolve) => jobs.on("worker.started", resolve));
    void jobs.forever({ signals: false, sleep: "1h" });
    await began;
    await clock.advance(1);
    expect(await jobs.why(first!.id)).toContain('Runs with its key "a" were slowed down until ');
    await job.dispatch({ shop: "b" });
    await clock.advance(3.999);
    await clock.advance(0.001);
    expect(seen).toEqual([
      ["a", 0],
      ["b", 0],
      ["b", 1000],
      ["a", 5000],
    ]);
  });

  test("says both, if the starts are spent for longer than that", async () => {
    const { jobs, clock } = open();
    const begin = clock.now();
    const job = jobs.define("call", async (_, run) => run.slowDown("30s")).rate(1, "1m");
    const run = await job.dispatch({});
    await jobs.run();
    const at = (ms: number) => new Date(begin + ms).toISOString();
    expect(await jobs.why(run.id)).toBe(
      `Its job "call" was slowed down until ${at(30_000)} (in 30 s) by run.slowDown() of a handler; no start is left before ${at(60_000)} (in 60 s). No worker is alive.`,
    );
  });

  test("takes effect if the handler catches its error, and rolls its transaction back", async () => {
    const { jobs } = open();
    const job = jobs
      .define("call", async (_, run) => {
        await run.transaction(() => run.slowDown("30s")).catch(() => {});
      })
      .rate(100, "1m");
    const run = await job.dispatch({});
    await jobs.run();
    expect(await jobs.find(run.id)).toMatchObject({ state: "ready", attempts: 1 });
    expect((await jobs.rates())[0]!.slowedUntil).not.toBeNull();
  });

  test("without a rate fails with one clear sentence", async () => {
    const { jobs } = open();
    const job = jobs.define("call", async (_, run) => run.slowDown("30s"));
    const run = await job.dispatch({});
    await jobs.run();
    const [attempt] = await jobs.attempts(run.id);
    expect(attempt!.error).toMatchObject({
      code: "INVALID_OPTION",
      message: `run.slowDown() closes the rate that a run is under, and run ${run.id} of "call" is under none: give its job or its queue a rate, or call run.snooze().`,
    });
  });

  test("with a time that is none fails", async () => {
    const { jobs } = open();
    const job = jobs.define("call", async (_, run) => run.slowDown("soon")).rate(5, "1m");
    const run = await job.dispatch({});
    await jobs.run();
    const [attempt] = await jobs.attempts(run.id);
    expect(attempt!.error).toMatchObject({ code: "INVALID_DURATION" });
    expect(attempt!.error!.message).toContain("Expected slowDown() as seconds or text");
    expect((await jobs.rates())[0]!.slowedUntil).toBeNull();
  });

  test("after the transaction has completed the run is refused", async () => {
    const { jobs, errors } = open();
    const job = jobs
      .define("call", async (_, run) => {
        await run.transaction(() => {});
        run.slowDown("30s");
      })
      .rate(5, "1m");
    const run = await job.dispatch({});
    await jobs.run();
    expect(await jobs.find(run.id)).toMatchObject({ state: "completed" });
    const [fault] = errors.splice(0);
    expect(String(fault!.error)).toContain("run.slowDown() was called in run");
    expect((await jobs.rates())[0]!.slowedUntil).toBeNull();
  });

  test("of a fake run is recorded", () => {
    const run = fakeRun();
    expect(() => run.slowDown("30s")).toThrow("slowed down");
    expect(run.ending).toEqual({ kind: "slowed down", delay: "30s" });
  });
});
