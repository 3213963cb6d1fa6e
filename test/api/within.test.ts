import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "./support/child.ts";
import { heard, type Opened, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

interface Scene extends Opened {
  db: DatabaseSync;
}

/** An application's database with an order table, and the instance on it. */
async function scene(where: "memory" | "file"): Promise<Scene> {
  const db = new DatabaseSync(where === "memory" ? ":memory:" : join(temporaryFolder(), "app.db"));
  // Lets a dispatch finish that still waits for the transaction of a failed test.
  onTestFinished(() => {
    if (db.isOpen && db.isTransaction) db.exec("rollback");
  });
  db.exec("create table orders (id integer)");
  const one = open({}, db);
  one.jobs.schedule("mail", () => {});
  await one.jobs.install();
  return { ...one, db };
}

describe.each(["memory", "file"] as const)("in the caller's transaction, %s", (where) => {
  test.each(["begin", "begin immediate"])("%s … commit inserts the run with the order", async (begin) => {
    const { db, jobs } = await scene(where);
    db.exec(begin);
    db.exec("insert into orders values (1)");
    const run = await jobs.dispatch("mail", { order: 1 }).queue("slow").within(db);
    expect(db.isTransaction).toBe(true);
    db.exec("commit");
    expect(await jobs.find(run.id)).toMatchObject({ args: { order: 1 }, queue: "slow", state: "ready" });
    expect(await jobs.run()).toBe(1);
  });

  test("rollback inserts neither", async () => {
    const { db, jobs } = await scene(where);
    db.exec("begin");
    db.exec("insert into orders values (1)");
    const run = await jobs.dispatch("mail").within(db);
    db.exec("rollback");
    expect(await jobs.find(run.id)).toBeNull();
    expect(await jobs.run()).toBe(0);
    expect(db.prepare("select count(*) as n from orders").get()).toEqual({ n: 0 });
  });

  test("takes several dispatches, of definition, name, draft and with a unique key", async () => {
    const { db, jobs } = await scene(where);
    const other = jobs.schedule("other", () => {});
    db.exec("begin");
    await other.dispatch({ n: 1 }).within(db);
    await jobs.delay(60).dispatch("mail").within(db);
    const first = await jobs.dispatch("mail").unique("once").within(db);
    const second = await jobs.dispatch("mail").unique("once").within(db);
    db.exec("commit");
    expect([first.inserted, second.inserted, first.id === second.id]).toEqual([true, false, true]);
    expect((await jobs.runs()).runs).toHaveLength(3);
  });

  test("ends the chain: the dispatch is sent at once", async () => {
    const { db, jobs } = await scene(where);
    db.exec("begin");
    const dispatch = jobs.dispatch("mail");
    const sent = dispatch.within(db);
    await expectRefusal(() => dispatch.delay(5), "CHAIN_SENT");
    await expectRefusal(() => dispatch.within(db), "CHAIN_SENT");
    const run = await sent;
    db.exec("commit");
    expect((await jobs.runs()).runs.map(({ id }) => id)).toEqual([run.id]);
  });

  test("an invalid payload rejects, and the transaction continues", async () => {
    const { db, jobs } = await scene(where);
    db.exec("begin");
    db.exec("insert into orders values (1)");
    await expectRefusal(() => jobs.dispatch("mail", { n: 1n }).within(db), "INVALID_PAYLOAD");
    await expectRefusal(() => jobs.dispatch("nobody").within(db), "UNKNOWN_JOB");
    db.exec("commit");
    expect(db.prepare("select count(*) as n from orders").get()).toEqual({ n: 1 });
  }, 10_000);
});

describe("while the transaction holds the write lock of the file", () => {
  const limit = 10_000;

  test(
    "the first use of the instance needs no lock",
    async () => {
      const { db, clock } = await scene("file");
      const { jobs } = open({ clock }, db);
      jobs.schedule("mail", () => {});
      db.exec("begin immediate");
      const run = await jobs.dispatch("mail").within(db);
      db.exec("commit");
      expect((await jobs.find(run.id))?.state).toBe("ready");
    },
    limit,
  );

  test(
    "a declared job needs none either",
    async () => {
      const { db, jobs } = await scene("file");
      const remote = jobs.declare<{ n: number }>("billing.charge");
      db.exec("begin immediate");
      const run = await remote.dispatch({ n: 1 }).within(db);
      db.exec("commit");
      expect((await jobs.find(run.id))?.name).toBe("billing.charge");
      expect(await jobs.run()).toBe(0);
    },
    limit,
  );

  test(
    "a function needs none either",
    async () => {
      const { db, jobs } = await scene("file");
      let ran = 0;
      db.exec("begin immediate");
      const run = await jobs.dispatch("ad hoc", () => void ran++).within(db);
      db.exec("commit");
      await jobs.run();
      expect(ran).toBe(1);
      expect(await run.wait()).toBeUndefined();
    },
    limit,
  );
});

describe("within() refuses", () => {
  test.each([[undefined], [null], [42], ["begin"], [{}]])("%j", async (tx) => {
    const { jobs } = await scene("file");
    await expectRefusal(
      () => jobs.dispatch("mail").within(tx),
      "INVALID_OPTION",
      /within\(\) expected the (DatabaseSync|handle) on which your transaction is open/,
      "got",
    );
    expect((await jobs.runs()).runs).toEqual([]);
  });

  test.each(["memory", "file"] as const)("a handle without a transaction, %s", async (where) => {
    const { db, jobs } = await scene(where);
    await expectRefusal(
      () => jobs.dispatch("mail").within(db),
      "NOT_IN_TRANSACTION",
      "expected an open transaction",
      '"begin"',
    );
    expect((await jobs.runs()).runs).toEqual([]);
  });

  test("a handle on another file", async () => {
    const { jobs } = await scene("file");
    const other = (await scene("file")).db;
    other.exec("begin");
    await expectRefusal(
      () => jobs.dispatch("mail").within(other),
      "WRONG_DATABASE",
      "within() expected a handle on",
      "would not find the runs there",
    );
    other.exec("rollback");
  });

  test.each([
    ["memory", "memory"],
    ["memory", "file"],
    ["file", "memory"],
  ] as const)("an instance on %s, a handle on another in %s", async (mine, theirs) => {
    const { jobs } = await scene(mine);
    const other = (await scene(theirs)).db;
    other.exec("begin");
    await expectRefusal(
      () => jobs.dispatch("mail").within(other),
      "WRONG_DATABASE",
      "within() expected a handle on",
    );
    other.exec("rollback");
  });

  test("no handle of the same file that was opened elsewhere", async () => {
    const { db, jobs } = await scene("file");
    const again = new DatabaseSync(db.location()!);
    again.exec("begin");
    const run = await jobs.dispatch("mail").within(again);
    again.exec("commit");
    again.close();
    expect((await jobs.find(run.id))?.state).toBe("ready");
  });

  test("a failed dispatch that is not awaited is reported", async () => {
    const one = await scene("file");
    const reported = heard(one.jobs, "error");
    void one.jobs.dispatch("mail").within({});
    await reported;
    expect(one.errors.splice(0)).toMatchObject([{ error: { code: "INVALID_OPTION" } }]);
  });
});
