import { randomBytes } from "node:crypto";
import mysql from "mysql2/promise";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/time.ts";
import { sharedServer } from "../../servers/shared.ts";
import { type Host, type Place, serverDatabase } from "../groups/server-database.ts";
import { recordPlans } from "./mysql-plans.ts";
import type { CallersTransaction, Database, Opened, Param, WrongHandle } from "./stores.ts";

const PREFIX = "punctual_";

const AUDIT = [
  `create table audit (seq bigint auto_increment primary key, step int, run bigint, name varchar(255), lane varchar(500),
     queue varchar(255), token varchar(255)) character set utf8mb4 collate utf8mb4_bin`,
  `create trigger audit_changed after update on ${PREFIX}runs for each row
   if new.state = 2 and old.state <> 2 then
     insert into audit (step, run, name, lane, queue, token) values (1, new.id, new.name, new.lane, new.queue, new.lease_token);
   elseif old.state = 2 and new.state <> 2 then
     insert into audit (step, run, name, lane, queue, token) values (-1, old.id, old.name, old.lane, old.queue, old.lease_token);
   end if`,
  `create trigger audit_left after delete on ${PREFIX}runs for each row
   if old.state = 2 then
     insert into audit (step, run, name, lane, queue, token) values (-1, old.id, old.name, old.lane, old.queue, old.lease_token);
   end if`,
];

/** Every number of `digits` digits, by joining the digits with each other: the servers share no series function. */
function series(count: number): string {
  const digits = `(${[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `select ${n} as n`).join(" union all ")})`;
  const places = Array.from(String(count - 1), (_, place) => place);
  const number = places.map((place) => `d${place}.n * ${10 ** place}`).join(" + ");
  const joined = places.map((place) => `${digits} d${place}`).join(" cross join ");
  return `(select 1 + ${number} as n from ${joined} where ${number} < ${count})`;
}

async function query<Row>(uri: string, ...statements: string[]): Promise<Row[]> {
  const connection = await mysql.createConnection({ uri });
  let rows: unknown = [];
  for (const statement of statements) [rows] = await connection.query(statement);
  await connection.end();
  return rows as Row[];
}

const TABLES = `select table_name as name from information_schema.tables
  where table_schema = database() and table_type = 'BASE TABLE'`;

function on(kind: "mysql" | "mariadb"): Host {
  const create = async (): Promise<Place> => {
    const server = await sharedServer(kind);
    const name = `conformance_${randomBytes(8).toString("hex")}`;
    await query(server.url, `create database ${name}`);
    const url = new URL(server.url);
    url.pathname = name;
    return { url: url.href, name };
  };
  const drop = async ({ name }: Place): Promise<void> => {
    await query((await sharedServer(kind)).url, `drop database ${name}`);
  };
  return {
    create,
    drop,
    query,
    tables: TABLES,
    open: (place, clock) => open(place, clock, { create, drop }),
  };
}

async function open(
  { url }: Place,
  clock: Clock,
  { create, drop }: Pick<Host, "create" | "drop">,
): Promise<Opened> {
  const others: Place[] = [];
  const stores: Store[] = [];
  const closing: { end(): Promise<void> }[] = [];
  const another = async (options?: { prefix?: string; clock?: Clock }) => {
    const store = await openStore(url, { clock, prefix: PREFIX, ...options });
    stores.push(store);
    return store;
  };
  const handle = async (uri = url) => {
    const connection = await mysql.createConnection({ uri });
    closing.push(connection);
    return connection;
  };
  let direct: Promise<mysql.Connection> | undefined;
  const sql = async <Row>(text: string, ...params: Param[]): Promise<Row[]> => {
    direct ??= handle();
    const [rows] = await (await direct).query(text, params);
    return rows as Row[];
  };

  let counts = true;
  const tables = async () => (await sql<{ name: string }>(TABLES)).map(({ name }) => name);

  return {
    store: await another(),
    url,
    another,
    sql,

    async begin(level = "repeatable read"): Promise<CallersTransaction> {
      const connection = await handle();
      await connection.query(`set transaction isolation level ${level}`);
      await connection.beginTransaction();
      return {
        tx: connection,
        commit: () => connection.commit(),
        rollback: () => connection.rollback(),
      };
    },

    async wrongHandles(): Promise<WrongHandle[]> {
      const other = await create();
      others.push(other);
      const elsewhere = await handle(other.url);
      await elsewhere.query(`create table ${PREFIX}runs (id bigint primary key)`);
      await elsewhere.beginTransaction();
      const pool = mysql.createPool({ uri: url });
      closing.push(pool);
      return [
        { what: "no handle", tx: { query: "select 1" }, code: "INVALID_OPTION" },
        { what: "a number", tx: 1, code: "INVALID_OPTION" },
        { what: "a pool, which is no transaction", tx: pool, code: "INVALID_OPTION" },
        { what: "a handle without a transaction", tx: await handle(), code: "NOT_IN_TRANSACTION" },
        { what: "a handle on another database", tx: elsewhere, code: "WRONG_DATABASE" },
      ];
    },

    async audit() {
      const connection = await handle();
      for (const statement of AUDIT) await connection.query(statement);
    },

    series,

    async stopCounting() {
      counts = false;
      for (const table of await tables()) await sql(`alter table ${table} stats_auto_recalc = 0`);
      await sql(`analyze table ${(await tables()).join(", ")}`);
    },

    async plans(work) {
      // Without new statistics as after a restart: the number of rows that was kept up in memory is forgotten too.
      await sql(`${counts ? "analyze table" : "flush tables"} ${(await tables()).join(", ")}`);
      return recordPlans(url, another, work);
    },

    async teardown() {
      for (const store of stores) await store.close();
      for (const one of closing) await one.end();
      for (const other of others) await drop(other);
    },
  };
}

export const mysqlServer: Database = serverDatabase("mysql", on("mysql"));
export const mariadbServer: Database = serverDatabase("mariadb", on("mariadb"));
