import { describe, expect, test } from "vitest";
import type { RunState } from "../../src/index.ts";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const ALL: RunState[] = ["scheduled", "ready", "running", "completed", "failed", "cancelled", "skipped"];

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

describe("removeAll() and cancelAll()", () => {
  test("leave runs alone that no longer have a state that the query names", async () => {
    const { jobs } = await scene(30);
    const oldest = (await jobs.runs({ where: "state:failed", limit: 30 })).runs.at(-1)!.id;
    let retried: Promise<void> | null = null;
    const report = await jobs.removeAll("job:mail state:failed", {
      progress: () => {
        retried ??= jobs.retry(oldest);
      },
    });
    await retried;
    expect(report).toMatchObject({ done: 29, skipped: { retried: 1 } });
    expect(await jobs.state(oldest)).toBe("ready");
  });

  test("of waiting runs asks no running one to end", async () => {
    const { jobs, release } = await scene(1);
    await jobs.dispatch("mail", { n: -1 });
    for (let n = 0; n < 10; n++) await jobs.dispatch("mail", { n: n + 1 }).delay(60);
    const pass = jobs.run();
    const { id } = await heard(jobs, "run.started");
    await expect(jobs.cancel(id, { only: ["ready"] })).rejects.toMatchObject({ code: "RUN_CLAIMED" });
    expect(await jobs.cancelAll("job:mail is:waiting")).toMatchObject({ done: 10, requested: 0 });
    expect((await jobs.find(id))!.cancelRequested).toBe(false);
    release();
    await pass;
    await expectRefusal(() => jobs.remove(id, { only: ["done" as never] }), "INVALID_OPTION");
  });
});

describe("retryAll()", () => {
  test("retries all runs that match a query, and no others", async () => {
    const { jobs } = await scene();
    const told: [number, number][] = [];
    const report = await jobs.retryAll("state:failed payload.n:1*", {
      progress: (done, total) => told.push([done, total]),
    });
    expect(report).toEqual({ done: 11, requested: 0, skipped: {}, bounded: true });
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
    expect(report).toEqual({
      done: 3,
      requested: 0,
      skipped: { running: 1, scheduled: 1 },
      bounded: false,
    });
    release();
    await pass;
  });

  test("skips a run that another call has retried since the search, also if it has failed again", async () => {
    const { jobs } = await scene(30);
    const [newest] = (await jobs.runs({ where: "state:failed", limit: 1 })).runs;
    const oldest = newest!.id - 29;
    let isFirst = true;
    const report = await jobs.retryAll("state:failed", {
      progress: () => {
        if (!isFirst) return;
        isFirst = false;
        void jobs.retry(oldest);
        void jobs.retry(oldest + 1).then(() => jobs.cancel(oldest + 1));
      },
    });
    expect(report).toMatchObject({ done: 28, skipped: { retried: 2 } });
    expect(await jobs.state(oldest + 1)).toBe("cancelled");
  });

  test("takes ids, and tells runs that wait from runs that are gone", async () => {
    const { jobs } = await scene(20);
    const ids = (await jobs.runs({ limit: 20 })).runs.map(({ id }) => id);
    await jobs.retry(ids[3]!);
    await jobs.remove(ids[4]!);
    expect(await jobs.retryAll([...ids, ids[0]!])).toEqual({
      done: 18,
      requested: 0,
      skipped: { ready: 1, gone: 1 },
      bounded: false,
    });
    expect(await jobs.retryAll(ids, { limit: 2 })).toMatchObject({ done: 0, skipped: { ready: 2 } });
    await expectRefusal(() => jobs.retryAll([1.5]), "INVALID_OPTION", "the id of a run");
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
      done: 1,
      requested: 1,
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
    expect(await jobs.removeAll("job:mail")).toEqual({
      done: 4,
      requested: 0,
      skipped: { running: 1 },
      bounded: false,
    });
    expect((await jobs.runs()).runs).toHaveLength(1);
    release();
    await pass;
  });

  test.each(["", {}, { where: "  " }, "job:*", "queue:** -job:none", { where: "id:>0", state: ALL }])(
    "refuses %j, which matches all runs",
    async (query) => {
      const { jobs } = open();
      for (const all of ["retryAll", "cancelAll", "removeAll"] as const) {
        await expectRefusal(() => jobs[all](query), "INVALID_OPTION", `${all}() expected a query`);
      }
    },
  );

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
