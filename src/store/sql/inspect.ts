import { clockSkew, systemClock } from "../../time.ts";
import type { Inspection, MissingObject } from "../maintenance.ts";
import type { SqlContext } from "./context.ts";
import { type Database, first } from "./database.ts";
import { installedVersion, newest, oldestSchema, type Schema } from "./migrate.ts";
import { countDead } from "./workers.ts";

/** Describes the database. Reads the tables only if this code can use them. */
export async function inspect(
  sql: SqlContext,
  schema: Schema,
  time: () => Promise<number>,
): Promise<Inspection> {
  const { db, t } = sql;
  const { version, readOnly, settings } = await db.about();
  // Measured with a second statement, on a connection that is open by now.
  const asked = systemClock.monotonic();
  await sql.all("select 1 as one");
  const latency = systemClock.monotonic() - asked;
  // The clocks are compared before any statement that may wait for a lock.
  const sent = systemClock.now();
  const now = await time();
  const skew = clockSkew(now, sent, systemClock.now());
  const found = await installedVersion(sql, schema);
  const needed = newest(schema);
  const usable = found >= needed && (await oldestSchema(sql, schema, found)) <= needed;
  return {
    database: db.name,
    version,
    schema: { found, needed, usable },
    now,
    skew,
    latency,
    hosts: [],
    readOnly,
    unsafe: null,
    vacuum: usable && db.vacuum ? await db.vacuum(t) : null,
    missing: usable ? await missing(sql, schema) : [],
    expired: usable ? await expired(sql, now) : { count: 0, since: null },
    deadWorkers: usable ? await countDead(sql, now) : 0,
    settings,
  };
}

/** Counts runs whose lease has ended. */
async function expired(sql: SqlContext, now: number): Promise<Inspection["expired"]> {
  const { t } = sql;
  const row = await first(
    sql.all<{ n: number; since: number | null }>(
      `select count(*) as n, min(locked_until) as since from ${t.runs} where state = 2 and locked_until < ?`,
      now,
    ),
  );
  return { count: row?.n ?? 0, since: row?.since ?? null };
}

/** Lists the objects of the schema that the database lacks. */
async function missing(sql: SqlContext, schema: Schema): Promise<MissingObject[]> {
  const { db, t } = sql;
  const { text, params } = db.objects(t);
  const there = new Set((await sql.all<{ name: string }>(text, ...params)).map(({ name }) => name));
  const statements = schema.migrations.flatMap((migration) => migration.statements(t));
  return objectsOf(statements, db).filter(({ name }) => !there.has(name));
}

const OBJECT = /^create (?:[a-z ]*? )?(index|table|view|sequence) (?:if not exists )?(\S+)/i;
/** An index in the body of a `create table`, as MySQL declares it. */
const KEY = /^\s*((?:unique )?key) (\S+) (\(.*\)),?$/gm;
/** Indexes that a later migration adds or rebuilds on MySQL, in a statement of its own or prepared from a variable. */
const ALTERED = /^(?:set @\w+ = \(select if\(count\(\*\) = 0, ')?alter table (\S+) /i;
const ADDED = /\badd ((?:unique )?key) (\S+) (\([^)]*\))/gi;

/** Returns the objects that the statements create, each with a statement that creates it alone. */
export function objectsOf(statements: string[], db: Pick<Database, "name">): MissingObject[] {
  const made = new Map<string, MissingObject>();
  for (const statement of statements) {
    const [, table] = ALTERED.exec(statement) ?? [];
    if (table !== undefined) {
      for (const [add, , index] of statement.matchAll(ADDED)) {
        const again = `alter table ${table} ${add}`;
        made.set(bare(index!), { name: bare(index!), kind: "index", statement: again });
      }
    }
    const [, word, name] = OBJECT.exec(statement) ?? [];
    if (word === undefined || name === undefined) continue;
    const kind = word.toLowerCase() as MissingObject["kind"];
    const how = kind === "index" && db.name === "postgres" ? concurrently(statement) : statement;
    made.set(bare(name), { name: bare(name), kind, statement: how });
    for (const [, unique, key, columns] of statement.matchAll(KEY)) {
      const add = `alter table ${name} add ${unique} ${key} ${columns}`;
      made.set(bare(key!), { name: bare(key!), kind: "index", statement: add });
    }
  }
  return [...made.values()];
}

function concurrently(statement: string): string {
  return statement.replace(/^create (unique )?index /i, "create $1index concurrently ");
}

/** A name without its schema. */
function bare(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
