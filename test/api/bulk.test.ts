import { describe, expect, test } from "vitest";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

async function scene(count = 20) {
  const one = open();
  const { jobs } = one;
  let fails = true;
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  jobs
    .schedule("mail", (args: { n: number }) => {
      if (args.n === -1) return go;
      if (fails) throw new Error(`no ${args.n}`);
      return undefined;
    })
    .concurrency(0);
  for (let n = 0; n < count; n++) await jobs.dispatch("mail", { n });
  await jobs.run({ batch: count });
  fails = false;
  return { ...one, release };
}

describe("retryAll()", () => {
  test("retries all runs that match a query, and no others", async () => {
    const { jobs } = await scene();
    const told: [number, number][] = [];
    const report = await jobs.retryAll("state:failed payload.n:1*", {
      progress: (done, total) => told.push([done, total]),
    });
    expect(report).toEqual({ done: 11, skipped: {}, bounded: true });
    expect(told.at(-1)).toEqual([11, 11]);
    expect(told.every(([done, total]) => done <= total)).toBe(true);
    expect(await jobs.count("is:waiting")).toEqual({ count: 11, capped: false });
    expect(await jobs.run()).toBe(11);
    expect(await jobs.count("state:failed")).toMatchObject({ count: 9 });
  });

  test("counts the runs that it could not retry, by state", async () => {
    const { jobs, release } = await scene(3);
    await jobs.dispatch("mail", { n: -1 });
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await jobs.dispatch("mail", { n: 5 }).delay(60);
    const report = await jobs.retryAll({ job: "mail" });
    expect(report).toEqual({ done: 3, skipped: { running: 1, scheduled: 1 }, bounded: false });
    release();
    await pass;
  });

  test("visits more than a page of runs, each once", async () => {
    const { jobs } = await scene(1203);
    expect(await jobs.retryAll("state:failed")).toMatchObject({ done: 1203 });
    expect(await jobs.retryAll("state:failed")).toMatchObject({ done: 0 });
    expect((await jobs.runs({ where: "job:mail attempt:1", limit: 1000 })).runs).toHaveLength(1000);
  });

  test("retries at most the given number, the newest", async () => {
    const { jobs } = await scene(20);
    expect(await jobs.retryAll("state:failed", { limit: 5 })).toMatchObject({ done: 5 });
    const waiting = (await jobs.runs({ where: "is:waiting" })).runs.map(({ id }) => id);
    const failed = (await jobs.runs({ where: "state:failed" })).runs.map(({ id }) => id);
    expect(Math.min(...waiting)).toBeGreaterThan(Math.max(...failed));
  });

  test("wakes the worker", async () => {
    const { jobs } = await scene(1);
    void jobs.forever({ signals: false, sleep: "1h" });
    await heard(jobs, "worker.started");
    const completed = heard(jobs, "run.completed");
    await jobs.retryAll("state:failed");
    await completed;
  });
});

describe("cancelAll() and removeAll()", () => {
  test("cancels waiting runs, requests the end of running ones, and skips finished ones", async () => {
    const { jobs, release } = await scene(2);
    await jobs.dispatch("mail", { n: -1 });
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await jobs.dispatch("mail", { n: 5 }).delay(60);
    await jobs.cancel((await jobs.dispatch("mail", { n: 6 }).delay(60)).id);
    expect(await jobs.cancelAll("job:mail")).toEqual({
      done: 2,
      skipped: { failed: 2, cancelled: 1 },
      bounded: false,
    });
    expect((await jobs.runs({ where: "is:cancelling" })).runs).toHaveLength(1);
    release();
    await pass;
  });

  test("deletes runs that are not running", async () => {
    const { jobs, release } = await scene(4);
    await jobs.dispatch("mail", { n: -1 });
    const pass = jobs.run();
    await heard(jobs, "run.started");
    expect(await jobs.removeAll("job:mail")).toEqual({ done: 4, skipped: { running: 1 }, bounded: false });
    expect((await jobs.runs()).runs).toHaveLength(1);
    release();
    await pass;
  });

  test.each(["", {}, { where: "  " }])("refuses %j, which matches all runs", async (query) => {
    const { jobs } = open();
    for (const all of ["retryAll", "cancelAll", "removeAll"] as const) {
      await expectRefusal(() => jobs[all](query), "INVALID_OPTION", `${all}() expected a query`);
    }
  });

  test("refuses unknown options", async () => {
    const { jobs } = open();
    await expectRefusal(() => jobs.retryAll("stat:failed"), "INVALID_QUERY", "stat");
    await expectRefusal(() => jobs.retryAll("state:failed", { limit: 0 }), "INVALID_OPTION", "limit");
    await expectRefusal(
      () => jobs.retryAll("state:failed", { most: 5 } as object),
      "INVALID_OPTION",
      "Known: limit, progress",
    );
  });
});
