import type { ColumnType, Database, Param } from "./database.ts";

/** Rows as an `insert … select` takes them. */
export interface Spread {
  /** For each column where its value comes from: `v.<column>`, or a parameter. */
  values: string[];
  /** The table expression, to be called `v`. */
  rows: string;
  /** In the order of the columns, then the one of the table expression. */
  params: Param[];
}

/**
 * What is the same for all rows is bound once, the rest goes as JSON: on SQLite, taking every column out of the list
 * costs three times as much (bench/sqlite.ts). The first column always goes in the list: an id to join by, or a name.
 */
export function spread(
  db: Pick<Database, "rows">,
  columns: Record<string, ColumnType>,
  rows: (string | number | null)[][],
): Spread {
  const names = Object.keys(columns);
  const differs = names.map((_, place) => place === 0 || rows.some((row) => row[place] !== rows[0]![place]));
  const listed = names.filter((_, place) => differs[place]);
  return {
    values: names.map((name, place) => (differs[place] ? `v.${name}` : "?")),
    rows: db.rows(Object.fromEntries(listed.map((name) => [name, columns[name]!]))),
    params: [
      ...rows[0]!.filter((_, place) => !differs[place]),
      JSON.stringify(rows.map((row) => row.filter((_, place) => differs[place]))),
    ],
  };
}
