import { randomBytes } from "node:crypto";
import pg from "pg";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/time.ts";
import { sharedServer } from "../../servers/shared.ts";
import { type Place, serverDatabase } from "../groups/server-database.ts";
import { recordPlans } from "./postgres-plans.ts";
import type { CallersTransaction, Database, Opened, Param, WrongHandle } from "./stores.ts";

const PREFIX = "punctual_";

const AUDIT = `
  create table audit (seq bigserial primary key, step integer, run bigint, name text, lane text, queue text, token text);
  create function audit() returns trigger language plpgsql as $$ begin
    if tg_op = 'UPDATE' and new.state = 2 and old.state <> 2 then
      insert into audit (step, run, name, lane, queue, token) values (1, new.id, new.name, new.lane, new.queue, new.lease_token);
    elsif old.state = 2 and (tg_op = 'DELETE' or new.state <> 2) then
      insert into audit (step, run, name, lane, queue, token) values (-1, old.id, old.name, old.lane, old.queue, old.lease_token);
    end if;
    return null;
  end $$;
  create trigger audit after update or delete on ${PREFIX}runs for each row execute function audit()`;

const BIGINT = 20;

/** Every number of ours is a safe integer. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === BIGINT ? Number : pg.types.getTypeParser(oid, format),
};

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, types });
  await client.connect();
  return client;
}

async function query<Row>(url: string, ...statements: string[]): Promise<Row[]> {
  const client = await connect(url);
  let rows: unknown[] = [];
  for (const statement of statements) rows = (await client.query(statement)).rows;
  await client.end();
  return rows as Row[];
}

/** In the fastest way that the server has. */
async function create(): Promise<Place> {
  const server = await sharedServer("postgres");
  const name = `conformance_${randomBytes(8).toString("hex")}`;
  const quickly = Number.parseInt(server.version, 10) >= 15 ? " strategy file_copy" : "";
  await query(server.url, `create database ${name}${quickly}`);
  const url = new URL(server.url);
  url.pathname = name;
  return { url: url.href, name };
}

async function drop({ name }: Place): Promise<void> {
  await query((await sharedServer("postgres")).url, `drop database ${name} with (force)`);
}

async function open({ url }: Place, clock: Clock): Promise<Opened> {
  const others: Place[] = [];
  const stores: Store[] = [];
  const closing: { end(): Promise<void> }[] = [];
  const another = async (options?: { prefix?: string; clock?: Clock }) => {
    const store = await openStore(url, { clock, prefix: PREFIX, ...options });
    stores.push(store);
    return store;
  };
  const handle = async (to = url) => {
    const client = await connect(to);
    closing.push(client);
    return client;
  };
  let counts = true;
  let direct: Promise<pg.Client> | undefined;
  const sql = async <Row>(text: string, ...params: Param[]): Promise<Row[]> => {
    direct ??= handle();
    let n = 0;
    const { rows } = await (await direct).query(
      text.replace(/\?/g, () => `$${++n}`),
      params,
    );
    return rows as Row[];
  };

  return {
    store: await another(),
    url,
    another,
    sql,

    async begin(level = "read committed"): Promise<CallersTransaction> {
      const client = await handle();
      await client.query(`begin isolation level ${level}`);
      return {
        tx: client,
        commit: async () => void (await client.query("commit")),
        rollback: async () => void (await client.query("rollback")),
      };
    },

    async wrongHandles(): Promise<WrongHandle[]> {
      const other = await create();
      others.push(other);
      const elsewhere = await handle(other.url);
      await elsewhere.query(`create table ${PREFIX}runs (id bigint primary key)`);
      await elsewhere.query("begin");
      const pool = new pg.Pool({ connectionString: url });
      closing.push(pool);
      return [
        { what: "no handle", tx: { query: "select 1" }, code: "INVALID_OPTION" },
        { what: "a number", tx: 1, code: "INVALID_OPTION" },
        { what: "a pool, which is no transaction", tx: pool, code: "INVALID_OPTION" },
        { what: "a handle without a transaction", tx: await handle(), code: "NOT_IN_TRANSACTION" },
        { what: "a handle on another database", tx: elsewhere, code: "WRONG_DATABASE" },
      ];
    },

    audit: async () => void (await (await handle()).query(AUDIT)),

    series: (count) => `(select n from generate_series(1, ${count}) as numbers (n))`,

    async stopCounting() {
      counts = false;
      await sql("analyze");
    },

    async plans(work) {
      // Index-only scans read the pages of rows that no vacuum has seen: the server's own vacuum comes at any time.
      const names = (await sql<{ name: string }>(tables)).map(({ name }) => name);
      if (counts) await sql(`vacuum analyze ${names.join(", ")}`);
      return recordPlans(another, work);
    },

    async teardown() {
      for (const store of stores) await store.close();
      for (const one of closing) await one.end();
      for (const other of others) await drop(other);
    },
  };
}

const tables = `select relnamespace::regnamespace || '.' || relname as name from pg_class
  where relkind = 'r' and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`;

export const postgres: Database = serverDatabase("postgres", { create, drop, open, query, tables });
