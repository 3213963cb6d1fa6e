import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { runScript } from "./support/child.ts";
import { heard, listen, open, stopped } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** A database that counts the statements which insert runs. */
function counting(): { db: DatabaseSync; statements: () => number } {
  const db = new DatabaseSync(":memory:");
  let count = 0;
  const prepare = db.prepare.bind(db);
  db.prepare = ((text: string) => {
    const statement = prepare(text);
    if (/^\s*insert into punctual_runs/.test(text)) {
      for (const way of ["all", "get", "run", "iterate"] as const) {
        const execute = statement[way].bind(statement) as (...params: never[]) => never;
        statement[way] = (...params: never[]) => {
          count++;
          return execute(...params);
        };
      }
    }
    return statement;
  }) as typeof db.prepare;
  return { db, statements: () => count };
}

describe("a dispatch is sent", () => {
  test("at the end of the turn, with every chained call", async () => {
    const { db, statements } = counting();
    const { jobs } = open({}, db);
    jobs.schedule("task", () => {});
    await jobs.install();
    const dispatch = jobs.dispatch("task");
    expect(statements()).toBe(0);
    queueMicrotask(() => {
      queueMicrotask(() => dispatch.queue("late"));
    });
    const run = await dispatch;
    expect(statements()).toBe(1);
    expect((await jobs.find(run.id))?.queue).toBe("late");
  });

  test("and refuses later chained calls with a remedy", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const dispatch = jobs.dispatch("task");
    const run = await dispatch;
    for (const chain of [
      () => dispatch.delay(5),
      () => dispatch.at("2026-01-01"),
      () => dispatch.args({}),
      () => dispatch.queue("x"),
      () => dispatch.priority(1),
      () => dispatch.key("x"),
      () => dispatch.unique("x"),
      () => dispatch.timeout(1),
      () => dispatch.tags("x"),
      () => dispatch.expires(1),
      () => dispatch.traceparent("x"),
      () => dispatch.options({ delay: 5 }),
      () => dispatch.within({}),
    ]) {
      await expectRefusal(chain, "CHAIN_SENT", "has been sent", "same turn", "run.at()");
    }
    expect(await jobs.find(run.id)).toMatchObject({ queue: "default", state: "ready" });
  });

  test("and refuses later settings of an ad hoc run", async () => {
    const { jobs } = open();
    const dispatch = jobs.dispatch("task", () => {});
    await dispatch;
    for (const chain of [
      () => dispatch.retries(3),
      () => dispatch.onError(() => {}),
      () => dispatch.lease(5),
      () => dispatch.keep(0),
      () => dispatch.when(() => false),
    ]) {
      await expectRefusal(chain, "CHAIN_SENT", "has been sent");
    }
    expect(await jobs.run()).toBe(1);
  });

  test("even if it is not awaited", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const dispatched = heard(jobs, "run.dispatched");
    void jobs.dispatch("task", { n: 1 }).queue("slow");
    const { id, inserted } = await dispatched;
    expect(inserted).toBe(true);
    expect(await jobs.find(id)).toMatchObject({ args: { n: 1 }, queue: "slow" });
  });

  test("and reports its error to listeners and log if it is not awaited", async () => {
    const log: string[] = [];
    const one = open({
      logger: { debug() {}, info() {}, warn() {}, error: (message) => log.push(message) },
    });
    const failed = heard(one.jobs, "error");
    void one.jobs.dispatch("nobody");
    expect(await failed).toMatchObject({
      error: { code: "UNKNOWN_JOB" },
      during: "a dispatch that was not awaited",
    });
    expect(log).toEqual([expect.stringMatching(/^a dispatch that was not awaited: Job "nobody" is neither/)]);
    expect(one.errors.splice(0)).toHaveLength(1);
  });

  test("and reports its error only to the caller that awaits it", async () => {
    const { jobs } = open();
    const errors = listen(jobs, "error");
    await expectRefusal(() => jobs.dispatch("nobody"), "UNKNOWN_JOB");
    expect(errors).toEqual([]);
  });

  test("without ever causing an unhandled rejection", async () => {
    const ended = await runScript(`import { Punctual } from "punctual";
      process.on("unhandledRejection", () => { console.log("unhandled"); process.exit(7); });
      const jobs = new Punctual("sqlite::memory:");
      jobs.on("error", ({ error }) => console.log("heard " + error.code));
      jobs.schedule("task", () => {});
      jobs.dispatch("nobody");
      jobs.dispatch("task", { when: new Date() });
      const kept = jobs.dispatch("nobody");
      setImmediate(async () => {
        console.log("later " + (await kept.catch((error) => error.code)));
        await jobs.stop();
      });`);
    expect(ended.stdout.split("\n").sort()).toEqual(
      ["", "heard INVALID_PAYLOAD", "heard UNKNOWN_JOB", "later UNKNOWN_JOB"].sort(),
    );
    expect(ended.code).toBe(0);
    expect(ended.stderr.split("\n").filter((line) => line.startsWith("punctual: error:"))).toHaveLength(2);
  });
});

describe("dispatches of one turn", () => {
  test("take a handful of statements for 10,000 runs, in the order of the calls", async () => {
    const { db, statements } = counting();
    const { jobs } = open({}, db);
    const job = jobs.schedule("task", (_args: { n: number }) => {});
    const runs = await Promise.all(Array.from({ length: 10_000 }, (_, n) => job.dispatch({ n })));
    expect(statements()).toBeLessThanOrEqual(5);
    const ids = runs.map((run) => run.id);
    expect(new Set(ids).size).toBe(10_000);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect((await jobs.find(ids[0]!))?.args).toEqual({ n: 0 });
    expect((await jobs.find(ids[9999]!))?.args).toEqual({ n: 9999 });
  });

  test("of different jobs, shapes and kinds go together", async () => {
    const { db, statements } = counting();
    const { jobs } = open({}, db);
    jobs.schedule("one", () => {});
    jobs.schedule("two", () => {});
    await jobs.install();
    const [a, b, c] = await Promise.all([
      jobs.dispatch("one", { n: 1 }).delay(60),
      jobs.dispatch("two", { n: 2 }).queue("slow"),
      jobs.dispatch("three", () => {}),
    ]);
    expect(statements()).toBe(1);
    expect(await jobs.find(a.id)).toMatchObject({ name: "one", args: { n: 1 }, state: "scheduled" });
    expect(await jobs.find(b.id)).toMatchObject({ name: "two", args: { n: 2 }, queue: "slow" });
    expect(await jobs.find(c.id)).toMatchObject({ name: "three", state: "ready" });
  });

  test("with large payloads go in several statements", async () => {
    const { db, statements } = counting();
    const { jobs } = open({}, db);
    jobs.schedule("task", () => {});
    const text = "x".repeat(1_000_000);
    await Promise.all(Array.from({ length: 10 }, () => jobs.dispatch("task", { text })));
    expect(statements()).toBeGreaterThan(1);
    expect(statements()).toBeLessThanOrEqual(4);
  });

  test("reject alone for an invalid payload", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const bad = new Set([3, 500, 999]);
    const results = await Promise.allSettled(
      Array.from({ length: 1000 }, (_, n) => jobs.dispatch("task", { n: bad.has(n) ? 1n : n })),
    );
    const rejected = results.flatMap((result, n) => (result.status === "rejected" ? [n] : []));
    expect(rejected).toEqual([3, 500, 999]);
    expect((await jobs.runs({ limit: 1000 })).runs).toHaveLength(997);
  });

  test("reject alone for a row that the database refuses", async () => {
    const db = new DatabaseSync(":memory:");
    const { jobs } = open({}, db);
    jobs.schedule("task", () => {});
    await jobs.install();
    db.exec(`create trigger refuse before insert on punctual_runs when new.queue = 'forbidden'
      begin select raise(abort, 'not in my database'); end`);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, n) => jobs.dispatch("task").queue(n === 42 ? "forbidden" : "fine")),
    );
    const rejected = results.flatMap((result, n) =>
      result.status === "rejected" ? [[n, result.reason.code]] : [],
    );
    expect(rejected).toEqual([[42, "DATABASE"]]);
    expect((await jobs.runs({ limit: 1000 })).runs).toHaveLength(99);
  });
});

describe("stop()", () => {
  test("sends dispatches that were made just before", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    one.jobs.schedule("task", () => {});
    void one.jobs.dispatch("task", { n: 1 });
    const many = one.jobs.schedule("many", () => {}).dispatchMany([{}, {}, {}]);
    await stopped(one);
    await many;
    const { jobs } = open({}, db);
    expect((await jobs.runs()).runs).toHaveLength(4);
  });

  test("sends dispatches of handlers while it drains", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    const { promise: go, resolve } = Promise.withResolvers<void>();
    one.jobs.schedule("child", () => {});
    one.jobs.schedule("parent", async () => {
      await go;
      await one.jobs.dispatch("child");
      void one.jobs.dispatch("child");
    });
    const parent = await one.jobs.dispatch("parent");
    const working = one.jobs.forever({ signals: false });
    await heard(one.jobs, "run.started");
    const stopping = one.jobs.stop();
    await expectRefusal(() => one.jobs.dispatch("child"), "CLOSED");
    resolve();
    await stopping;
    await working;
    const { jobs } = open({}, db);
    expect(await jobs.find(parent.id)).toMatchObject({ state: "completed" });
    expect((await jobs.runs({ job: "child", state: "ready" })).runs).toHaveLength(2);
  });
});

test("a dispatch made before run() is executed in that pass", async () => {
  const { jobs } = open();
  jobs.schedule("task", () => {});
  void jobs.dispatch("task");
  expect(await jobs.run()).toBe(1);
  void jobs.dispatch("task");
  expect(await jobs.run()).toBe(1);
});

test("arguments are captured at the call: one object may be used several times", async () => {
  const { jobs } = open();
  const got: number[] = [];
  const job = jobs.schedule("count", ({ n }: { n: number }) => void got.push(n)).concurrency(0);
  const args = { n: 0 };
  const sent = [];
  for (args.n = 1; args.n <= 3; args.n++) sent.push(job.dispatch(args));
  sent.push(jobs.dispatch("count").args(args));
  args.n = 99;
  await Promise.all(sent);
  await jobs.run({ parallel: 1 });
  expect(got).toEqual([1, 2, 3, 4]);
});
