import type { ColumnType, Database, Param } from "./database.ts";

/** The source of the rows of an `insert … select`. */
export interface RowSource {
  /** For each column its expression: `v.<column>`, or `?`. */
  values: string[];
  /** The table expression; the statement must give it the alias `v`. */
  rows: string;
  /** The parameters of `values`, then the one of `rows`. */
  params: Param[];
}

/**
 * Makes a source of rows. A value that all rows share becomes a parameter, the others go as one JSON parameter: on
 * SQLite, reading every column from JSON takes three times as long (bench/subjects/drain.ts). The first column is
 * always in the JSON.
 */
export function rowSource(
  db: Pick<Database, "rows">,
  columns: Record<string, ColumnType>,
  rows: (string | number | null)[][],
): RowSource {
  const names = Object.keys(columns);
  const differs = names.map((_, index) => index === 0 || rows.some((row) => row[index] !== rows[0]![index]));
  const listed = names.filter((_, index) => differs[index]);
  return {
    values: names.map((name, index) => (differs[index] ? `v.${name}` : "?")),
    rows: db.rows(Object.fromEntries(listed.map((name) => [name, columns[name]!]))),
    params: [
      ...rows[0]!.filter((_, index) => !differs[index]),
      JSON.stringify(rows.map((row) => row.filter((_, index) => differs[index]))),
    ],
  };
}
