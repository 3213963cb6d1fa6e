import { describe, expect, test } from "vitest";
import { heard, open } from "./support/instance.ts";

async function scene() {
  const one = open();
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  one.jobs.schedule("slow", () => go).concurrency(0);
  one.jobs.schedule("quick", () => {}).concurrency(0);
  return { ...one, release };
}

const again = async (dispatch: PromiseLike<{ id: number; inserted: boolean }>) => {
  const { id, inserted } = await dispatch;
  return [id, inserted];
};

describe("unique()", () => {
  test("reports whether the run was inserted, and returns the run that holds the key", async () => {
    const { jobs } = await scene();
    const first = await jobs.dispatch("quick", { n: 1 }).unique("report");
    const second = await jobs.dispatch("quick", { n: 2 }).unique("report");
    expect(first.inserted).toBe(true);
    expect([second.id, second.inserted, second.name]).toEqual([first.id, false, "quick"]);
    expect((await jobs.find(first.id))?.args).toEqual({ n: 1 });
    expect((await jobs.dispatch("quick").unique("another")).inserted).toBe(true);
  });

  test("holds within one turn too", async () => {
    const { jobs } = await scene();
    const runs = await Promise.all(Array.from({ length: 20 }, () => jobs.dispatch("quick").unique("report")));
    expect(runs.filter((run) => run.inserted)).toHaveLength(1);
    expect(new Set(runs.map((run) => run.id)).size).toBe(1);
  });

  test("shares keys between all jobs", async () => {
    const { jobs } = await scene();
    const slow = await jobs.dispatch("slow").unique("k").delay(60);
    const quick = await jobs.dispatch("quick").unique("k");
    expect([quick.id, quick.inserted]).toEqual([slow.id, false]);
  });

  test("holds the key until the run has finished", async () => {
    const { jobs, release } = await scene();
    const run = await jobs.dispatch("slow").unique("k");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    expect(await again(jobs.dispatch("slow").unique("k"))).toEqual([run.id, false]);
    release();
    await pass;
    expect((await jobs.dispatch("slow").unique("k")).inserted).toBe(true);
  });

  test('until: "started" frees the key when the handler starts', async () => {
    const { jobs, release } = await scene();
    const run = await jobs.dispatch("slow").unique("k", { until: "started" });
    expect(await again(jobs.dispatch("slow").unique("k"))).toEqual([run.id, false]);
    const pass = jobs.run({ batch: 1 });
    await heard(jobs, "run.started");
    expect((await jobs.dispatch("quick").unique("k")).inserted).toBe(true);
    release();
    await pass;
  });

  test("for: holds the key that long after the dispatch, finished or not", async () => {
    const { jobs, clock } = await scene();
    const run = await jobs.dispatch("quick").unique("k", { for: "1h" });
    await jobs.run();
    expect(await run.state()).toBe("completed");
    expect(await again(jobs.dispatch("quick").unique("k"))).toEqual([run.id, false]);
    await clock.advance("59m");
    expect(await again(jobs.dispatch("quick").unique("k"))).toEqual([run.id, false]);
    await clock.advance("1m");
    expect((await jobs.dispatch("quick").unique("k")).inserted).toBe(true);
  });

  test("for: holds the key although the job keeps nothing", async () => {
    const { jobs, clock } = await scene();
    jobs.schedule("kept-not", () => {}).keep(0);
    await jobs.dispatch("kept-not").unique("k", { for: "1h" });
    await jobs.run();
    expect((await jobs.dispatch("kept-not").unique("k", { for: "1h" })).inserted).toBe(false);
    await clock.advance("1h");
    expect((await jobs.dispatch("kept-not").unique("k")).inserted).toBe(true);
  });

  test("for: holds the key until then while the run waits, and longer while it runs", async () => {
    const { jobs, clock, release } = await scene();
    const run = await jobs.dispatch("slow").unique("k", { for: 10 });
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await clock.advance(11);
    expect(await again(jobs.dispatch("slow").unique("k"))).toEqual([run.id, false]);
    release();
    await pass;
  });

  test('for and until: "started": the key is free once both have passed', async () => {
    const { jobs, clock, release } = await scene();
    const run = await jobs.dispatch("slow").unique("k", { for: 10, until: "started" });
    const pass = jobs.run({ batch: 1 });
    await heard(jobs, "run.started");
    expect(await again(jobs.dispatch("quick").unique("k"))).toEqual([run.id, false]);
    await clock.advance(11);
    expect((await jobs.dispatch("quick").unique("k")).inserted).toBe(true);
    release();
    await pass;
  });

  test("a retry keeps the key, a cancelled run frees it", async () => {
    const { jobs } = await scene();
    jobs
      .schedule("flaky", () => {
        throw new Error("down");
      })
      .retries({ max: 2, base: 60, jitter: "none" });
    const run = await jobs.dispatch("flaky").unique("k");
    await jobs.run();
    expect(await run.state()).toBe("scheduled");
    expect(await again(jobs.dispatch("flaky").unique("k"))).toEqual([run.id, false]);
    await run.cancel();
    expect((await jobs.dispatch("quick").unique("k")).inserted).toBe(true);
  });

  test("the event reports a run that was found", async () => {
    const { jobs } = await scene();
    await jobs.dispatch("quick").unique("k");
    const told = heard(jobs, "run.dispatched");
    await jobs.dispatch("quick").unique("k");
    expect((await told).inserted).toBe(false);
  });
});
