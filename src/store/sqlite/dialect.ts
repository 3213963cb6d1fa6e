import type { ColumnType, Statement } from "../sql/database.ts";
import { jsonPaths } from "../sql/dialect.ts";

export function rows(columns: Record<string, ColumnType>): string {
  const values = Object.keys(columns).map((column, index) => `value ->> ${index} as ${column}`);
  return `(select ${values.join(", ")} from json_each(?))`;
}

export function updateFrom(table: string, set: Record<string, string>, from: string, where = "true"): string {
  const sets = Object.entries(set).map(([column, to]) => `${column} = ${to}`);
  return `update ${table} as r set ${sets.join(", ")} from ${from} v where r.id = v.id and ${where}`;
}

/** Uses `glob`: `like` is case-insensitive. */
export function like(column: string): string {
  return `${column} glob ?`;
}

export function lower(column: string): string {
  return `lower(${column})`;
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

/** SQLite never reorders a `cross join`. */
export function runsOfMembers(members: string, table: string): string {
  return `${members} m cross join ${table} r on r.id = m.run_id`;
}

export function orReplace(_: string, key: readonly string[], columns: readonly string[]): string {
  const sets = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  // The condition keeps the parser from reading `on conflict` as the condition of a join.
  return ` where true on conflict (${key.join(", ")}) do update set ${sets.join(", ")}`;
}
