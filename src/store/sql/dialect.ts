import { type IndexRange, rowPlaceholders, type Upsert } from "./database.ts";

/** `lookUp` of SQLite and PostgreSQL, whose planners choose the key by themselves. */
export function lookUp(rows: string, table: string, on = "r.id = v.id"): string {
  return `${rows} v join ${table} r on ${on}`;
}

/** `using` of SQLite and PostgreSQL: no hint, since their partial indexes match by the condition. */
export function using(): string {
  return "";
}

/** `upTo` of SQLite, MySQL and MariaDB. */
export function upTo(rows: number): string {
  return `limit ${rows}`;
}

/** A path for the JSON functions of SQLite and MySQL. */
export interface JsonPath {
  text: string;
  /** Prefixes of the path that must be arrays: MySQL treats any other value as an array of one element. */
  lists: string[];
}

/** Returns the paths that a search path can mean: a number may be an array index or a name in an object. */
export function jsonPaths(path: string[]): JsonPath[] {
  let paths: JsonPath[] = [{ text: "$", lists: [] }];
  for (const step of path) {
    const named = paths.map(({ text, lists }) => ({ text: `${text}.${JSON.stringify(step)}`, lists }));
    const isIndex = /^\d{1,9}$/.test(step);
    const indexed = ({ text, lists }: JsonPath) => ({
      text: `${text}[${Number(step)}]`,
      lists: [...lists, text],
    });
    paths = isIndex ? [...paths.map(indexed), ...named] : named;
  }
  return paths;
}

/** `historyRange` of SQLite, MySQL and MariaDB. */
export function historyRange(name: string, after: number, upTo: number): IndexRange {
  return { text: "r.name = ? and r.id > ? and r.id <= ?", params: [name, after, upTo], order: ["r.id"] };
}

/** `upsert` of SQLite and PostgreSQL. */
export function upsert({ table, key, columns, update = [], rows = 1 }: Upsert): string {
  const sets = update.map((set) =>
    typeof set === "string" ? `${set} = excluded.${set}` : `${set.column} = ${set.to}`,
  );
  return (
    `insert into ${table} (${columns.join(", ")}) values ${rowPlaceholders(columns.length, rows)} ` +
    `on conflict (${key.join(", ")}) do ${sets.length > 0 ? `update set ${sets.join(", ")}` : "nothing"}`
  );
}

/** `deleteFrom` of SQLite and PostgreSQL. */
export function deleteFrom(table: string, column: string, from: string): string {
  return `delete from ${table} where ${column} in (select v.id from ${from} v)`;
}

/** `like` of PostgreSQL, MySQL and MariaDB. */
export function like(column: string): string {
  return `${column} like ? escape '!'`;
}

/**
 * `pattern` of PostgreSQL, MySQL and MariaDB. Escapes with `!`: some modes of MySQL require backslashes to be doubled.
 */
export function pattern(pieces: string[]): string {
  return pieces.map((piece) => piece.replace(/[%_!]/g, "!$&")).join("%");
}
