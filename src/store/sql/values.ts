import { yieldToEventLoop } from "../../time.ts";
import type { ValueField } from "../records.ts";
import type { SqlContext } from "./context.ts";
import { first } from "./database.ts";

/** Most values of a field, and the newest rows in which tags and classes of errors are looked for. */
const MOST_VALUES = 1000;
const ROWS_READ = 10_000;

/** Rows that one statement reads: SQLite blocks the event loop for a few milliseconds. */
const AT_ONCE = 2000;

/** The class at the beginning of a stored error. */
const ERROR_NAME = /^\{"name":("(?:[^"\\]|\\.)*")/;

/** Returns distinct values of a field, in order. */
export async function values(sql: SqlContext, field: ValueField): Promise<string[]> {
  const found = new Set<string>();
  for await (const value of readValues(sql, field)) {
    found.add(value);
    if (found.size >= MOST_VALUES) break;
  }
  return [...found].sort();
}

async function* readValues(sql: SqlContext, field: ValueField): AsyncGenerator<string> {
  const { t } = sql;
  const names = async (text: string) =>
    (await sql.all<{ name: string }>(`${text} limit ${MOST_VALUES}`)).map(({ name }) => name);
  switch (field) {
    case "job":
      return yield* await names(`select name from ${t.jobs} order by name`);
    case "queue":
      yield* await names(`select distinct queue as name from ${t.jobs}`);
      return yield* await names(`select name from ${t.queues} order by name`);
    case "worker": {
      const rows = await sql.all<{ id: string; host: string; pid: number }>(
        `select id, host, pid from ${t.workers} order by seen_at desc limit ${MOST_VALUES}`,
      );
      for (const { id, host, pid } of rows) yield* [host, `${host}:${pid}`, id];
      return;
    }
    case "tag":
      for (const table of [t.runs, t.history])
        for await (const tags of distinct(sql, table, "tags", "1 = 1")) yield* JSON.parse(tags) as string[];
      return;
    case "errortype":
      for await (const error of distinct(sql, t.history, "substr(error, 1, 200)", "state = 4")) {
        const [, name] = ERROR_NAME.exec(error) ?? [];
        if (name !== undefined) yield JSON.parse(name) as string;
      }
      return;
  }
}

/** Yields the distinct values of an expression in the newest rows of a table, slice by slice. */
async function* distinct(sql: SqlContext, table: string, of: string, where: string): AsyncGenerator<string> {
  let below = Number.MAX_SAFE_INTEGER;
  for (let read = 0; read < ROWS_READ; read += AT_ONCE) {
    const end = await first(
      sql.all<{ id: number }>(
        `select id from ${table} where ${where} and id < ? order by id desc limit 1 offset ${AT_ONCE - 1}`,
        below,
      ),
    );
    const rows = await sql.all<{ value: string | null }>(
      `select distinct ${of} as value from ${table} where ${where} and id < ? and id >= ?`,
      below,
      end?.id ?? 0,
    );
    for (const { value } of rows) if (value !== null) yield value;
    if (!end) return;
    below = end.id;
    await yieldToEventLoop();
  }
}
