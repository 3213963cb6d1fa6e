import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/time.ts";
import { recordPlans } from "../groups/sqlite-plans.ts";
import type { CallersTransaction, Database, Opened, Param, WrongHandle } from "./stores.ts";

export const PREFIX = "punctual_";

const AUDIT = `
  create table audit (seq integer primary key autoincrement, step integer, run integer, name text, lane text, queue text, token text);
  create trigger audit_began after update of state on ${PREFIX}runs when new.state = 2 and old.state <> 2 begin
    insert into audit (step, run, name, lane, queue, token) values (1, new.id, new.name, new.lane, new.queue, new.lease_token);
  end;
  create trigger audit_ceased after update of state on ${PREFIX}runs when old.state = 2 and new.state <> 2 begin
    insert into audit (step, run, name, lane, queue, token) values (-1, old.id, old.name, old.lane, old.queue, old.lease_token);
  end;
  create trigger audit_left after delete on ${PREFIX}runs when old.state = 2 begin
    insert into audit (step, run, name, lane, queue, token) values (-1, old.id, old.name, old.lane, old.queue, old.lease_token);
  end;`;

async function open(clock: Clock): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), "conformance-"));
  const path = join(folder, "jobs.db");
  // Durability on the disk is not part of the contract, and every test would wait for it.
  const url = `sqlite:${path}?synchronous=off`;
  const stores: Store[] = [];
  const handles: DatabaseSync[] = [];
  const another = async (options?: { prefix?: string; clock?: Clock }) => {
    const store = await openStore(url, { clock, prefix: PREFIX, ...options });
    stores.push(store);
    return store;
  };
  const handle = (file = path) => {
    const db = new DatabaseSync(file, { timeout: 5000 });
    handles.push(db);
    return db;
  };
  let direct: DatabaseSync | undefined;

  return {
    store: await another(),
    url,
    another,

    async sql<Row>(text: string, ...params: Param[]) {
      direct ??= handle();
      return direct.prepare(text).all(...params) as Row[];
    },

    async begin(): Promise<CallersTransaction> {
      const db = handle();
      db.exec("begin");
      return {
        tx: db,
        commit: async () => db.exec("commit"),
        rollback: async () => db.exec("rollback"),
      };
    },

    async wrongHandles(): Promise<WrongHandle[]> {
      const elsewhere = handle(join(folder, "elsewhere.db"));
      elsewhere.exec(`create table ${PREFIX}runs (id integer primary key); begin`);
      const memory = handle(":memory:");
      memory.exec(`create table ${PREFIX}runs (id integer primary key); begin`);
      return [
        { what: "no handle", tx: { query: "select 1" }, code: "INVALID_OPTION" },
        { what: "a number", tx: 1, code: "INVALID_OPTION" },
        { what: "a handle without a transaction", tx: handle(), code: "NOT_IN_TRANSACTION" },
        { what: "a handle on another database", tx: elsewhere, code: "WRONG_DATABASE" },
        { what: "a handle on a database in memory", tx: memory, code: "WRONG_DATABASE" },
      ];
    },

    async audit() {
      handle().exec(AUDIT);
    },

    series: (count) =>
      `(with recursive series (n) as (select 1 union all select n + 1 from series where n < ${count}) select n from series)`,

    // It never counts.
    stopCounting: async () => {},

    plans: (work) => recordPlans(path, another, work),

    async teardown() {
      for (const store of stores) await store.close();
      for (const db of handles) db.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function openInstalled(clock: Clock): Promise<Opened> {
  const opened = await open(clock);
  await opened.store.install();
  return opened;
}

export const sqlite: Database = { name: "sqlite", open, openInstalled, end: async () => {} };
