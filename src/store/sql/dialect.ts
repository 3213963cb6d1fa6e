import { rowsOfMarks, type Way } from "./database.ts";

/** For databases that find their way by themselves: to a few rows, by their key. */
export function lookUp(rows: string, table: string, on = "r.id = v.id"): string {
  return `${rows} v join ${table} r on ${on}`;
}

/** The conditions of their indexes tell them which to take. */
export function using(): string {
  return "";
}

/** A path for the JSON functions of SQLite and MySQL. */
export interface JsonPath {
  text: string;
  /** The paths of what has to be a list on the way: MySQL takes anything else for a list of itself. */
  lists: string[];
}

/** A number may be a place in a list or a name in an object: both are tried. */
export function jsonPaths(path: string[]): JsonPath[] {
  let paths: JsonPath[] = [{ text: "$", lists: [] }];
  for (const step of path) {
    const named = paths.map(({ text, lists }) => ({ text: `${text}.${JSON.stringify(step)}`, lists }));
    const isPlace = /^\d{1,9}$/.test(step);
    const place = ({ text, lists }: JsonPath) => ({
      text: `${text}[${Number(step)}]`,
      lists: [...lists, text],
    });
    paths = isPlace ? [...paths.map(place), ...named] : named;
  }
  return paths;
}

/** Of one name, from after this id up to that one. */
export function stretch(name: string, after: number, upTo: number): Way {
  return { text: "r.name = ? and r.id > ? and r.id <= ?", params: [name, after, upTo], order: ["r.id"] };
}

/** The upsert of SQLite and PostgreSQL. */
export function upsert(
  table: string,
  key: string[],
  columns: string[],
  update: (string | { column: string; to: string })[],
  count = 1,
): string {
  const sets = update.map((set) =>
    typeof set === "string" ? `${set} = excluded.${set}` : `${set.column} = ${set.to}`,
  );
  return (
    `insert into ${table} (${columns.join(", ")}) values ${rowsOfMarks(columns.length, count)} ` +
    `on conflict (${key.join(", ")}) do ${sets.length > 0 ? `update set ${sets.join(", ")}` : "nothing"}`
  );
}

/** The delete of SQLite and PostgreSQL. */
export function deleteFrom(table: string, column: string, from: string): string {
  return `delete from ${table} where ${column} in (select v.id from ${from} v)`;
}
