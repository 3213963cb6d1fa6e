import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import type { BatchAddition, Punctual } from "../../src/index.ts";
import { Dispatchable, type Home } from "../../src/job/dispatchable.ts";
import { drain } from "../../src/testing/index.ts";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** Jobs whose runs are noted; `item` fails if its number is negative. */
function workshop(one = open()) {
  const { jobs, clock, errors } = one;
  const noted: string[] = [];
  const item = jobs
    .define("item", async ({ n }: { n: number }) => {
      noted.push(`item ${n}`);
      if (n < 0) throw new Error("negative");
      return n;
    })
    .attempts(1);
  const note = (name: string) =>
    jobs.define(name, async (args: { of?: string }, run) => {
      noted.push(`${name}${args.of ? ` of ${args.of}` : ""} in batch ${run.batch?.id}`);
    });
  const [done, alarm, end] = [note("done"), note("alarm"), note("end")];
  const pass = () => drain(jobs, { failures: "ignore" });
  return { jobs, clock, errors, noted, item, done, alarm, end, pass };
}

/** A job that nobody has defined or declared. */
function missing(jobs: Punctual): BatchAddition {
  return new Dispatchable("missing", (jobs.define("x", () => {}) as unknown as { home: Home }).home);
}

const numbers = (...all: number[]) => all.map((n) => ({ n }));

describe("a batch", () => {
  test("dispatches its callbacks when its members have ended", async () => {
    const { jobs, item, done, alarm, end, noted, pass } = workshop();
    const finished = heard(jobs, "batch.finished");
    const batch = await jobs
      .batch("import")
      .add(item.many(numbers(1, 2)), item.draft().args({ n: 3 }))
      .onSuccess(done.draft().args({ of: "import" }))
      .onFailure(alarm)
      .onFinish(end);
    expect(batch).toMatchObject({ added: 3 });
    expect(await batch.status()).toMatchObject({
      name: "import",
      state: "running",
      failures: "continue",
      total: 3,
      waiting: 3,
      running: 0,
      finishedAt: null,
    });
    await pass();
    expect(noted.slice(0, 3)).toEqual(["item 1", "item 2", "item 3"]);
    expect(noted.slice(3).sort()).toEqual([
      `done of import in batch ${batch.id}`,
      `end in batch ${batch.id}`,
    ]);
    expect(await batch.status()).toMatchObject({ state: "finished", total: 3, completed: 3, waiting: 0 });
    expect(await finished).toEqual({
      id: batch.id,
      name: "import",
      total: 3,
      completed: 3,
      failed: 0,
      cancelled: 0,
      skipped: 0,
    });
  });

  test("emits the first failure, and dispatches onFailure once", async () => {
    const { jobs, item, alarm, end, noted, pass } = workshop();
    const failed = heard(jobs, "batch.failed");
    await jobs
      .batch("bad")
      .add(item.many(numbers(-1, -2, 3)))
      .onFailure(alarm)
      .onFinish(end);
    await pass();
    expect((await failed).failed).toBeGreaterThan(0);
    expect(noted.filter((line) => line.startsWith("alarm"))).toHaveLength(1);
    expect(noted.filter((line) => line.startsWith("end"))).toHaveLength(1);
  });

  test("counts and reports its callbacks like any dispatch", async () => {
    const { jobs, done } = workshop();
    const dispatched = heard(jobs, "run.dispatched", ({ name }) => name === "done");
    await jobs.batch("empty").onSuccess(done);
    expect(await dispatched).toMatchObject({ name: "done", inserted: true });
    const { jobs: reports } = await jobs.status();
    expect(reports.find(({ name }) => name === "done")).toMatchObject({ waiting: 1 });
  });

  test("is sent when the turn ends, awaited or not", async () => {
    const { jobs, item, pass } = workshop();
    jobs.batch("unawaited").add(item.many(numbers(1)));
    await pass();
    expect((await jobs.batches()).batches).toMatchObject([
      { name: "unawaited", state: "finished", total: 1 },
    ]);
  });

  test("reports its error if nobody awaits it", async () => {
    const { jobs, errors } = workshop();
    const reported = heard(jobs, "error");
    void jobs.batch("bad").onFinish(missing(jobs));
    expect(await reported).toMatchObject({
      during: "a batch that was not awaited",
      error: { code: "UNKNOWN_JOB" },
    });
    errors.splice(0);
  });

  test("takes an async iterable, and more members than one insert has", async () => {
    const { jobs, item } = workshop();
    async function* many() {
      for (let n = 0; n < 5001; n++) yield { n };
    }
    const batch = await jobs.batch("many").add(item.many(many()));
    expect(batch.added).toBe(5001);
    expect(await batch.status()).toMatchObject({ state: "running", total: 5001 });
  });

  test("is cancelled if a later insert fails", async () => {
    const { jobs, item } = workshop();
    async function* many() {
      for (let n = 0; n < 5001; n++) yield { n };
      throw new Error("the source broke");
    }
    await expect(jobs.batch("broken").add(item.many(many()))).rejects.toThrow("the source broke");
    expect((await jobs.batches()).batches).toMatchObject([
      { total: 5000, cancelled: 5000, state: "finished" },
    ]);
  });

  test("captures arguments and drafts when they are added", async () => {
    const { jobs, item, noted, pass } = workshop();
    const list = numbers(1, 2);
    const making = jobs.batch("captured").add(item.many(list));
    list[0]!.n = 77;
    list.push({ n: 78 });
    await making;
    await pass();
    expect(noted).toEqual(["item 1", "item 2"]);
  });

  test("inserts nothing if one of its members is invalid", async () => {
    const { jobs, item } = workshop();
    const big = { n: 1n as unknown as number };
    await expectRefusal(
      () =>
        jobs
          .batch("x")
          .add(item.many(numbers(1)))
          .add(item.draft().args(big)),
      "INVALID_PAYLOAD",
    );
    await expectRefusal(
      async () =>
        jobs
          .batch("x")
          .add(item)
          .add(jobs.draft() as never),
      "INVALID_OPTION",
      "add()",
    );
    expect((await jobs.runs()).runs).toEqual([]);
    expect((await jobs.batches()).batches).toEqual([]);
  });

  test("refuses callbacks and members of unknown jobs", async () => {
    const { jobs, item } = workshop();
    await expectRefusal(
      () =>
        jobs
          .batch("x")
          .add(item.many(numbers(1)))
          .onFinish(missing(jobs)),
      "UNKNOWN_JOB",
    );
    await expectRefusal(() => jobs.batch("x").add(item.many(numbers(1)), missing(jobs)), "UNKNOWN_JOB");
    expect((await jobs.batches()).batches).toEqual([]);
  });

  test("refuses bad input with a clear error", async () => {
    const { jobs, done, item } = workshop();
    await expectRefusal(async () => jobs.batch(""), "INVALID_NAME", "name of a batch");
    await expectRefusal(async () => jobs.batch(-1), "INVALID_OPTION", "the id of a batch");
    await expectRefusal(
      async () => jobs.batch("x").failures("stop" as never),
      "INVALID_OPTION",
      'failures() expected "continue" or "cancel", got "stop"',
    );
    await expectRefusal(
      async () => jobs.batch("x").onSuccess(done.unique("k")),
      "INVALID_OPTION",
      "unique key",
    );
    await expectRefusal(
      async () => jobs.batch("x").onSuccess(done.many([]) as never),
      "INVALID_OPTION",
      "onSuccess()",
    );
    await expectRefusal(async () => jobs.batch("x").add(item.many(7 as never)), "INVALID_OPTION", "many()");
    await expectRefusal(async () => jobs.batch("x").within(null), "INVALID_OPTION", "within()");
    await expectRefusal(() => jobs.batch(12).status(), "BATCH_NOT_FOUND", "batch 12");
    await expectRefusal(() => jobs.batch(12).cancel(), "BATCH_NOT_FOUND");
    await expectRefusal(() => jobs.batch(12).retry(), "BATCH_NOT_FOUND");
    await expectRefusal(() => jobs.batch(12).seal(), "BATCH_NOT_FOUND");
    await expectRefusal(() => jobs.batch(12).add(done), "BATCH_NOT_FOUND", "add to batch 12");
    expect((await jobs.batches()).batches).toEqual([]);
  });

  test("cannot be changed once it is sent", async () => {
    const { jobs, item } = workshop();
    const making = jobs.batch("sent").add(item.many(numbers(1)));
    const batch = await making;
    await expectRefusal(async () => making.add(item), "CHAIN_SENT", "open()");
    await expectRefusal(() => batch.add(item), "BATCH_SEALED", "sealed");
  });

  test("that is open takes members until it is sealed", async () => {
    const { jobs, item, done, noted, pass } = workshop();
    const batch = await jobs.batch("open").open().onSuccess(done);
    expect(await batch.add(item.many(numbers(1, 2)))).toBe(2);
    await pass();
    expect(await batch.status()).toMatchObject({ state: "open", total: 2, completed: 2 });
    expect(
      await jobs
        .batch(batch.id)
        .add(item.draft().args({ n: 3 }).unique("k"), item.draft().args({ n: 4 }).unique("k")),
    ).toBe(1);
    await batch.seal();
    await pass();
    expect(noted).toEqual(["item 1", "item 2", "item 3", `done in batch ${batch.id}`]);
    await expectRefusal(() => batch.add(item), "BATCH_FINISHED", "retry()");
    await expectRefusal(() => batch.cancel(), "BATCH_FINISHED");
  });

  test("is extended by its members, also if they do not await it", async () => {
    const { jobs, done, noted, pass } = workshop();
    const grow = jobs.define("grow", async ({ n }: { n: number }, run) => {
      noted.push(`grow ${n}`);
      if (n > 0) void run.batch!.add(grow.draft().args({ n: n - 1 }));
    });
    const batch = await jobs
      .batch("growing")
      .add(grow.draft().args({ n: 3 }))
      .onFinish(done);
    await pass();
    expect(noted).toEqual(["grow 3", "grow 2", "grow 1", "grow 0", `done in batch ${batch.id}`]);
    expect(await batch.status()).toMatchObject({ state: "finished", total: 4, completed: 4 });
  });

  test("is null in other runs, and not extended by callbacks", async () => {
    const { jobs, item, pass } = workshop();
    const seen: unknown[] = [];
    const alone = jobs.define("alone", async (_: unknown, run) => void seen.push(run.batch));
    await alone.dispatchMany([{}]);
    const after = jobs.define("after", async (_: unknown, run) => {
      await run.batch!.add(item).catch((error) => seen.push(error.code));
    });
    await jobs.batch("empty").onFinish(after);
    await pass();
    expect(seen).toEqual([null, "BATCH_FINISHED"]);
  });

  test("waits for its end, or rejects after the timeout", async () => {
    const { jobs, item, clock, pass } = workshop();
    const batch = await jobs.batch("slow").add(item.many(numbers(1, -1)));
    const late = batch.wait({ timeout: "1s" });
    const refused = expectRefusal(() => late, "WAIT_TIMED_OUT", "2 of 2 members have not ended");
    await clock.advance(2);
    await refused;
    const ended = batch.wait();
    await pass();
    await clock.advance(1);
    expect(await ended).toMatchObject({ state: "finished", completed: 1, failed: 1 });
  });

  test("is cancelled with its running members", async () => {
    const { jobs, item, end, noted, pass } = workshop();
    const batch = await jobs
      .batch("doomed")
      .add(item.many(numbers(1, 2)))
      .onFinish(end);
    await batch.cancel();
    await pass();
    expect(noted).toEqual([`end in batch ${batch.id}`]);
    expect(await batch.status()).toMatchObject({ state: "finished", cancelled: 2 });
  });

  test("whose first failure cancels the rest runs no further member", async () => {
    const { jobs, item, alarm, end, noted, pass } = workshop();
    const batch = await jobs
      .batch("strict")
      .add(item.draft().args({ n: -1 }).priority(1), item.many(numbers(1, 2)))
      .failures("cancel")
      .onFailure(alarm)
      .onFinish(end);
    await jobs.run({ batch: 1, parallel: 1 });
    await pass();
    expect(noted[0]).toBe("item -1");
    expect(await batch.status()).toMatchObject({
      failures: "cancel",
      failed: 1,
      cancelled: 2,
      state: "finished",
    });
    expect(noted.slice(1).sort()).toEqual([`alarm in batch ${batch.id}`, `end in batch ${batch.id}`]);
  });

  test("is retried with its failed members, and calls back again", async () => {
    const { jobs, noted, end, pass } = workshop();
    let fails = true;
    const flaky = jobs
      .define("flaky", async () => {
        if (fails) throw new Error("not yet");
      })
      .attempts(1);
    const batch = await jobs.batch("again").add(flaky, flaky).onFinish(end);
    await pass();
    expect(await batch.status()).toMatchObject({ failed: 2 });
    fails = false;
    expect(await batch.retry()).toBe(2);
    expect(await batch.status()).toMatchObject({ state: "running", failed: 0, waiting: 2, failedAt: null });
    await pass();
    expect(await batch.status()).toMatchObject({ state: "finished", completed: 2, failed: 0 });
    expect(noted).toEqual([`end in batch ${batch.id}`, `end in batch ${batch.id}`]);
  });

  test("is listed and found, page by page", async () => {
    const { jobs, item } = workshop();
    const made = [];
    for (const name of ["a", "b", "c"]) made.push(await jobs.batch(name).add(item.many(numbers(1))));
    const { batches, next } = await jobs.batches({ limit: 2 });
    expect(batches.map(({ name }) => name)).toEqual(["c", "b"]);
    expect((await jobs.batches({ limit: 2, before: next! })).batches.map(({ name }) => name)).toEqual(["a"]);
    expect((await jobs.runs({ where: `batch:${made[0]!.id}` })).runs).toHaveLength(1);
    await expectRefusal(() => jobs.batches({ size: 2 } as never), "INVALID_OPTION");
  });
});

describe("in the caller's transaction", () => {
  function shop(): { db: DatabaseSync; jobs: Punctual } & ReturnType<typeof workshop> {
    const db = new DatabaseSync(":memory:");
    onTestFinished(() => {
      if (db.isOpen && db.isTransaction) db.exec("rollback");
    });
    db.exec("create table orders (id integer)");
    return { db, ...workshop(open({}, db)) };
  }

  test("a batch exists once the caller commits", async () => {
    const { db, jobs, item, end, noted, pass } = shop();
    await jobs.install();
    db.exec("begin");
    db.exec("insert into orders values (1)");
    const batch = await jobs
      .batch("order")
      .add(item.many(numbers(1)))
      .onFinish(end)
      .within(db);
    db.exec("commit");
    await pass();
    expect(noted).toEqual(["item 1", `end in batch ${batch.id}`]);
  });

  test("a batch that is rolled back leaves nothing", async () => {
    const { db, jobs, item, end, noted, pass } = shop();
    await jobs.install();
    db.exec("begin");
    await jobs
      .batch("order")
      .add(item.many(numbers(1)))
      .onFinish(end)
      .within(db);
    db.exec("rollback");
    await pass();
    expect(noted).toEqual([]);
    expect((await jobs.batches()).batches).toEqual([]);
  });
});
