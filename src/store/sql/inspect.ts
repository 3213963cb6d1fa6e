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
    missing: usable ? await missingObjects(sql, schema) : [],
    expired: usable ? await countExpired(sql, now) : { count: 0, since: null },
    deadWorkers: usable ? await countDead(sql, now) : 0,
    settings,
  };
}

/** Counts runs whose lease has ended. */
async function countExpired(sql: SqlContext, now: number): Promise<Inspection["expired"]> {
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
async function missingObjects(sql: SqlContext, schema: Schema): Promise<MissingObject[]> {
  const { db, t } = sql;
  const { text, params } = db.objects(t);
  const existing = new Set((await sql.all<{ name: string }>(text, ...params)).map(({ name }) => name));
  const statements = schema.migrations.flatMap((migration) => migration.statements(t));
  return objectsOf(statements, db).filter(({ name }) => !existing.has(name));
}

const OBJECT = /^create (?:[a-z ]*? )?(index|table|view|sequence) (?:if not exists )?(\S+)/i;

/** An index in the body of a `create table`, as MySQL declares it. */
const DECLARED_KEY = /^\s*((?:unique )?key) (\S+) (\(.*\)),?$/gm;

/** A statement of MySQL that changes a table, by itself or prepared from a variable. */
const ALTER_TABLE = /^(?:set @\w+ = \(select if\(count\(\*\) = 0, ')?alter table (\S+) /i;

/** An index that such a statement adds or rebuilds. */
const ADDED_KEY = /\badd ((?:unique )?key) (\S+) (\([^)]*\))/gi;

/** Returns the objects that the statements create, each with a statement that creates it alone. */
export function objectsOf(statements: string[], db: Pick<Database, "name">): MissingObject[] {
  const objects = new Map<string, MissingObject>();
  const add = (name: string, kind: MissingObject["kind"], statement: string) =>
    objects.set(withoutSchema(name), { name: withoutSchema(name), kind, statement });
  for (const statement of statements) {
    const [, table] = ALTER_TABLE.exec(statement) ?? [];
    if (table !== undefined) {
      for (const [change, , key] of statement.matchAll(ADDED_KEY))
        add(key!, "index", `alter table ${table} ${change}`);
    }
    const [, word, name] = OBJECT.exec(statement) ?? [];
    if (word === undefined || name === undefined) continue;
    const kind = word.toLowerCase() as MissingObject["kind"];
    add(name, kind, kind === "index" && db.name === "postgres" ? toConcurrent(statement) : statement);
    for (const [, type, key, columns] of statement.matchAll(DECLARED_KEY))
      add(key!, "index", `alter table ${name} add ${type} ${key} ${columns}`);
  }
  return [...objects.values()];
}

/** Returns a `create index` that does not lock the table. */
function toConcurrent(statement: string): string {
  return statement.replace(/^create (unique )?index /i, "create $1index concurrently ");
}

function withoutSchema(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
