import { type ColumnType, type Index, rowsOfMarks, type Statement } from "../sql/database.ts";

export type Server = "mysql" | "mariadb";

/** By bytes, and a space at the end counts. */
export function collation(server: Server): string {
  return server === "mysql" ? "utf8mb4_0900_bin" : "utf8mb4_nopad_bin";
}

/**
 * Text with its collation: left out, MariaDB takes the database's character set, which may lose characters, and either
 * server refuses to compare two columns of different collations.
 */
export function rows(server: Server, columns: Record<string, ColumnType>): string {
  const text = `longtext character set utf8mb4 collate ${collation(server)}`;
  const list = Object.entries(columns).map(
    ([name, type], index) =>
      `${name} ${type === "integer" ? "bigint" : text} path '$[${index}]' error on error`,
  );
  const table = `json_table(?, '$[*]' columns (${list.join(", ")}))`;
  // MySQL refuses to lock what is joined with the bare one: "appears in multiple locking clauses".
  return server === "mysql" ? `(select * from ${table} j)` : table;
}

/**
 * In this order and by this index, said outright: where the statistics are still those of an emptier table, as after a
 * burst of inserts, MySQL reads through the whole table instead, and locks every row it meets.
 */
export function lookUp(from: string, table: string, on = "r.id = v.id", index?: Index): string {
  const forced = index ? using(table, index) : " force index (primary)";
  return `${from} v straight_join ${table} r${forced} on ${on}`;
}

/** In the order given: a column that is set earlier already has its new value in what comes after it. */
export function updateFrom(table: string, set: Record<string, string>, from: string, where?: string): string {
  const sets = Object.entries(set).map(([column, to]) => `r.${column} = ${to}`);
  return `update ${lookUp(from, table)} set ${sets.join(", ")}${where ? ` where ${where}` : ""}`;
}

/** As a join: given a list to look into, MariaDB reads through the table. */
export function deleteFrom(table: string, column: string, from: string): string {
  return `delete r from ${lookUp(from, table, `r.${column} = v.id`)}`;
}

export function upsert(
  table: string,
  key: string[],
  columns: string[],
  update: (string | { column: string; to: string })[],
  count = 1,
): string {
  const sets = update.map((set) =>
    typeof set === "string"
      ? `${set} = values(${set})`
      : `${set.column} = ${set.to.replace(/\bexcluded\.(\w+)/g, "values($1)")}`,
  );
  const nothing = `${key[0]} = ${table}.${key[0]}`;
  return (
    `insert into ${table} (${columns.join(", ")}) values ${rowsOfMarks(columns.length, count)} ` +
    `on duplicate key update ${sets.length > 0 ? sets.join(", ") : nothing}`
  );
}

/**
 * Said outright: left to choose, both servers now and then take an index that has the right order but not the
 * condition, and read through all runs.
 */
export function using(table: string, index: Index): string {
  return ` force index (${table}_${index})`;
}

/** The statement without parameters. Texts as digits: whatever the mode of the session, nothing in them ends a literal. */
export function literally({ text, params }: Statement): string {
  let index = 0;
  return text.replaceAll("?", () => {
    const param = params[index++] ?? null;
    if (typeof param !== "string") return `${param}`;
    return `_utf8mb4 x'${Buffer.from(param).toString("hex")}'`;
  });
}

export function lengthOf({ params }: Statement): number {
  return params.reduce<number>((sum, param) => sum + `${param}`.length, 0);
}
