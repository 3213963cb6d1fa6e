import { type ColumnType, rowsOfMarks, type Statement } from "../sql/database.ts";
import { jsonPaths } from "../sql/dialect.ts";

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

export function rows(columns: Record<string, ColumnType>): string {
  const values = Object.keys(columns).map((column, index) => `value ->> ${index} as ${column}`);
  return `(select ${values.join(", ")} from json_each(?))`;
}

export function updateFrom(table: string, set: Record<string, string>, from: string, where = "true"): string {
  const sets = Object.entries(set).map(([column, to]) => `${column} = ${to}`);
  return `update ${table} as r set ${sets.join(", ")} from ${from} v where r.id = v.id and ${where}`;
}

export function deleteFrom(table: string, column: string, from: string): string {
  return `delete from ${table} where ${column} in (select v.id from ${from} v)`;
}

/** `like` takes no notice of upper and lower case. */
export function like(column: string): string {
  return `${column} glob ?`;
}

export function pattern(pieces: string[]): string {
  return pieces.map((piece) => piece.replace(/[*?[]/g, "[$&]")).join("*");
}

export function scalar(column: string, path: string[]): Statement {
  const paths = jsonPaths(path);
  const parts = paths.map(
    () =>
      `case json_type(${column}, ?) when 'text' then json_extract(${column}, ?) when 'object' then null when 'array' then null else ${column} -> ? end`,
  );
  const value = parts.length === 1 ? parts[0]! : `coalesce(${parts.join(", ")})`;
  return {
    text: `(case when json_valid(${column}) then ${value} end)`,
    params: paths.flatMap(({ text }) => [text, text, text]),
  };
}
