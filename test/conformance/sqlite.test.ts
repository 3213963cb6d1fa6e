import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type DatabaseSource, openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";
import { exercise } from "./groups/exercise.ts";
import { runScript, scriptPath } from "./support/processes.ts";
import { beat, claimOne, found, ids, insertOne, list, newRun, reap, settlement } from "./support/requests.ts";
import { sqlite } from "./support/sqlite-database.ts";
import { selected } from "./support/stores.ts";

if (selected.includes(sqlite)) {
  exercise(sqlite);
  describe("only SQLite", onlySqlite);
} else test.todo("SQLite is not selected");

function onlySqlite(): void {
  let folder: string;
  let path: string;
  let closing: { close(): unknown }[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "sqlite-"));
    path = join(folder, "jobs.db");
    closing = [];
  });
  afterEach(async () => {
    for (const one of closing.reverse()) await one.close();
    await rm(folder, { recursive: true });
  });

  const open = async (source: DatabaseSource): Promise<Store> => {
    const store = await openStore(source, { clock: new TestClock(), prefix: "punctual_" });
    closing.push(store);
    await store.install();
    return store;
  };
  const handle = (file: string): DatabaseSync => {
    const db = new DatabaseSync(file);
    closing.push(db);
    return db;
  };

  /** Settings of the store's own connection, which a transaction with a settlement lends. */
  async function pragma(store: Store, name: string): Promise<unknown> {
    await insertOne(store);
    const run = await claimOne(store);
    let row: unknown;
    await store.transaction(settlement(run, "completed", { keep: 0 }), (tx) => {
      row = (tx as DatabaseSync).prepare(`pragma ${name}`).get();
    });
    return Object.values(row as object)[0];
  }

  describe("settings", () => {
    test("use WAL and sync every commit by default", async () => {
      const store = await open(`sqlite:${path}`);
      expect(await pragma(store, "journal_mode")).toBe("wal");
      expect(await pragma(store, "synchronous")).toBe(2);
      expect(await pragma(store, "busy_timeout")).toBeLessThanOrEqual(10);
    });

    test.each([
      ["full", 2],
      ["normal", 1],
      ["off", 0],
    ])("synchronous=%s", async (value, number) => {
      const store = await open(`sqlite:${path}?synchronous=${value}`);
      expect(await pragma(store, "synchronous")).toBe(number);
    });

    test("of a caller's handle do not weaken the store's own connection", async () => {
      const theirs = handle(path);
      theirs.exec("pragma synchronous = off");
      expect(await pragma(await open(theirs), "synchronous")).toBe(2);
    });

    test.each(["sqlite:", "sqlite:x.db?synchronous=extra", "sqlite:x.db?mode=ro"])(
      "%s is refused",
      async (url) => {
        await expect(open(url)).rejects.toMatchObject({ code: "DATABASE_URL" });
      },
    );

    test.each(["sqlite://", "sqlite:"])("%s before an absolute path is that path", async (scheme) => {
      const store = await open(`${scheme}${path}`);
      const id = await insertOne(store);
      expect(await (await open(`sqlite:${path}`)).find(id)).not.toBeNull();
    });
  });

  describe("another process that writes", () => {
    test("is waited for without blocking this one", async () => {
      const store = await open(`sqlite:${path}`);
      const holder = spawn(process.execPath, [scriptPath("holder.ts"), path, "300"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(holder, "exit");
      await once(holder.stdout, "data");
      let turns = 0;
      let done = false;
      const count = () => {
        turns++;
        if (!done) setImmediate(count);
      };
      setImmediate(count);
      const id = await insertOne(store);
      done = true;
      // Written after the other had committed, while other code of this process ran.
      expect(handle(path).prepare("select n from held").all()).toEqual([{ n: 1 }]);
      expect((await found(store, id)).state).toBe("ready");
      expect(turns).toBeGreaterThan(10);
      expect((await exited)[0]).toBe(0);
    });

    test("does not prevent this one from reading", async () => {
      const store = await open(`sqlite:${path}`);
      const id = await insertOne(store);
      const theirs = handle(path);
      theirs.exec("begin immediate; delete from punctual_runs");
      expect(await store.find(id)).not.toBeNull();
      theirs.exec("rollback");
    });
  });

  describe("the caller's handle on a file", () => {
    test("has its own transactions, and the store has its own", async () => {
      const theirs = handle(path);
      const store = await open(theirs);
      theirs.exec("create table t (n integer); begin; insert into t values (1)");
      const inserting = insertOne(store);
      await new Promise((resolve) => setImmediate(resolve));
      theirs.exec("rollback");
      expect(await store.find(await inserting)).not.toBeNull();
      expect(theirs.prepare("select count(*) as n from t").get()).toEqual({ n: 0 });
    });

    test("inserts runs in its own transaction", async () => {
      const theirs = handle(path);
      const store = await open(theirs);
      theirs.exec("begin");
      await store.insert([newRun()], theirs);
      theirs.exec("rollback");
      theirs.exec("begin");
      const [kept] = await store.insert([newRun()], theirs);
      theirs.exec("commit");
      expect((await list(store, { limit: 10 })).map(({ id }) => id)).toEqual([kept!.id]);
    });

    test("stays open when the store is closed", async () => {
      const theirs = handle(path);
      const store = await openStore(theirs, { clock: new TestClock(), prefix: "punctual_" });
      await store.close();
      expect(theirs.isOpen).toBe(true);
      theirs.exec("create table t (n integer)");
    });
  });

  describe("the caller's handle in memory", () => {
    test("is shared: the store waits for the end of the caller's transaction, and is not part of it", async () => {
      const theirs = handle(":memory:");
      const store = await open(theirs);
      theirs.exec("begin");
      const inserting = insertOne(store);
      await new Promise((resolve) => setImmediate(resolve));
      theirs.exec("rollback");
      expect(await store.find(await inserting)).not.toBeNull();
    });

    test("inserts runs in its own transaction", async () => {
      const theirs = handle(":memory:");
      const store = await open(theirs);
      theirs.exec("begin");
      await store.insert([newRun()], theirs);
      theirs.exec("rollback");
      expect(await list(store, { limit: 10 })).toEqual([]);
      theirs.exec("begin");
      await store.insert([newRun()], theirs);
      theirs.exec("commit");
      expect(await list(store, { limit: 10 })).toHaveLength(1);
    });

    test("stays open when the store is closed", async () => {
      const theirs = handle(":memory:");
      const store = await openStore(theirs, { clock: new TestClock(), prefix: "punctual_" });
      await store.close();
      expect(theirs.isOpen).toBe(true);
    });

    test("refuses a handle on a file", async () => {
      const store = await open(handle(":memory:"));
      await open(`sqlite:${path}`);
      const file = handle(path);
      file.exec("begin");
      await expect(store.insert([newRun()], file)).rejects.toMatchObject({ code: "WRONG_DATABASE" });
    });
  });

  test.each([":memory:", "sqlite::memory:"])("%s is a new database each time", async (url) => {
    const one = await open(url);
    const two = await open(url);
    await insertOne(one);
    expect(await list(one, { limit: 10 })).toHaveLength(1);
    expect(await list(two, { limit: 10 })).toEqual([]);
  });

  describe("a handler's transaction that is longer than the leases", () => {
    const LEASE = 1000;

    async function scene() {
      const clock = new TestClock();
      const [mine, theirs] = await Promise.all(
        ["w1", "w2"].map(async (worker) => {
          const store = await openStore(`sqlite:${path}`, { clock, prefix: "punctual_" });
          closing.push(store);
          await store.install();
          await beat(store, worker);
          await insertOne(store);
          return { store, run: await claimOne(store, { worker, lease: LEASE }) };
        }),
      );
      const told: number[] = [];
      const work = (end: () => void) => (tx: unknown) => {
        (tx as DatabaseSync).exec("create table orders (id integer)");
        clock.set(new Date(clock.now() + 5 * LEASE));
        end();
      };
      const transact = (end: () => void) =>
        mine!.store.transaction(settlement(mine!.run, "completed"), work(end), (ms) => told.push(ms));
      const hasOrders = () =>
        handle(path).prepare("select 1 from sqlite_schema where name = 'orders'").all().length > 0;
      return { clock, mine: mine!, theirs: theirs!, told, transact, hasOrders };
    }

    test("leaves every lease as long as it was when it rolls back", async () => {
      const { clock, mine, theirs, told, transact, hasOrders } = await scene();
      const fault = new Error("half way");
      await expect(
        transact(() => {
          throw fault;
        }),
      ).rejects.toBe(fault);
      expect(hasOrders()).toBe(false);
      expect(told).toEqual([5 * LEASE]);
      expect(await reap(theirs.store)).toEqual([]);
      const renewal = [{ id: mine.run.id, token: mine.run.token, lease: LEASE }];
      expect((await mine.store.renew("w1", renewal)).held).toEqual(new Set([mine.run.id]));
      await clock.advance(1.1);
      expect(ids(await reap(theirs.store)).sort()).toEqual([mine.run.id, theirs.run.id].sort());
    });

    test("extends the leases of others when it commits", async () => {
      const { mine, theirs, told, transact, hasOrders } = await scene();
      expect(await transact(() => {})).toBe(true);
      expect(hasOrders()).toBe(true);
      expect(told).toEqual([5 * LEASE]);
      expect(await reap(theirs.store)).toEqual([]);
      expect((await found(mine.store, mine.run.id)).state).toBe("completed");
    });

    test("does not extend a lease that had ended before", async () => {
      const { clock, mine, theirs, transact } = await scene();
      await clock.advance(0.9);
      await theirs.store.renew("w2", [{ id: theirs.run.id, token: theirs.run.token, lease: LEASE }]);
      await clock.advance(0.2);
      await transact(() => {
        throw new Error("half way");
      }).catch(() => {});
      expect(ids(await reap(theirs.store))).toEqual([mine.run.id]);
    });

    test("reports the error of work that has ended the transaction itself", async () => {
      const { mine, told, hasOrders } = await scene();
      const fault = new Error("half way");
      const work = (tx: unknown) => {
        (tx as DatabaseSync).exec("create table orders (id integer); rollback");
        throw fault;
      };
      await expect(mine.store.transaction(settlement(mine.run, "completed"), work)).rejects.toBe(fault);
      expect([hasOrders(), told]).toEqual([false, []]);
      expect((await found(mine.store, mine.run.id)).state).toBe("running");
    });
  });

  describe("an unusable file", () => {
    test("in a folder that does not exist", async () => {
      const missing = join(folder, "not", "there", "jobs.db");
      await expect(open(`sqlite:${missing}`)).rejects.toMatchObject({
        code: "DATABASE_MISSING",
        message: expect.stringContaining(join(folder, "not", "there")),
      });
    });

    test("that is a folder", async () => {
      await mkdir(path);
      await expect(open(`sqlite:${path}`)).rejects.toMatchObject({ code: "DATABASE_MISSING" });
    });

    test("that is not a database is not changed", async () => {
      const text = "this is a letter, not a database. ".repeat(100);
      await writeFile(path, text);
      await expect(open(`sqlite:${path}`)).rejects.toMatchObject({
        code: "NOT_A_DATABASE",
        message: expect.stringContaining(path),
      });
      expect(await readFile(path, "utf8")).toBe(text);
    });

    test.each(["delete", "wal"])("with mode %s is read-only", async (mode) => {
      const db = new DatabaseSync(path);
      db.exec(`pragma journal_mode = ${mode}; create table t (n integer)`);
      db.close();
      await chmod(path, 0o444);
      await chmod(folder, 0o555);
      const answer = JSON.parse(await runScript("unprivileged.ts", path));
      await chmod(folder, 0o755);
      expect(answer).toMatchObject({
        code: "DATABASE_READ_ONLY",
        message: expect.stringContaining("write permission"),
      });
    });

    test("in a folder without write permission", async () => {
      await chmod(folder, 0o555);
      const answer = JSON.parse(await runScript("unprivileged.ts", path));
      await chmod(folder, 0o755);
      expect(answer).toMatchObject({ code: "DATABASE_MISSING", message: expect.stringContaining(path) });
    });
  });

  test("a transaction with a settlement refuses an async function and writes nothing", async () => {
    const store = await open(`sqlite:${path}`);
    const id = await insertOne(store);
    const run = await claimOne(store);
    const work = async (tx: unknown) => void (tx as DatabaseSync).exec("delete from punctual_jobs");
    await expect(store.transaction(settlement(run, "completed"), work)).rejects.toMatchObject({
      code: "TRANSACTION_NOT_SYNC",
    });
    expect((await found(store, id)).state).toBe("running");
  });
}
