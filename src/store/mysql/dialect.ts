import type { ColumnType, RunsIndex, Statement, Tables } from "../sql/database.ts";

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

/** In the order given: a column that is set earlier already has its new value in what comes after it. */
export function updateFrom(table: string, set: Record<string, string>, from: string, where?: string): string {
  const sets = Object.entries(set).map(([column, to]) => `r.${column} = ${to}`);
  return `update ${table} r join ${from} v on v.id = r.id set ${sets.join(", ")}${where ? ` where ${where}` : ""}`;
}

/** As a join: given a list to look into, MariaDB reads through the table. */
export function deleteFrom(table: string, column: string, from: string): string {
  return `delete r from ${table} r join ${from} v on v.id = r.${column}`;
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
  const values = `(${columns.map(() => "?").join(", ")})`;
  return (
    `insert into ${table} (${columns.join(", ")}) values ${Array(count).fill(values).join(", ")} ` +
    `on duplicate key update ${sets.length > 0 ? sets.join(", ") : nothing}`
  );
}

/**
 * Said outright: left to choose, both servers now and then take an index that has the right order but not the
 * condition, and read through all runs.
 */
export function using(t: Tables, index: RunsIndex): string {
  return ` force index (${t.runs}_${index})`;
}

/** So many queues are found whatever the server's statistics say. */
const SURE_QUEUES = 4;

/**
 * The least queue, the least above it, and so on: each one step into the index, made before the server plans anything.
 * What comes after these is grouped by all that stands before the queue in the index, so that the server hops from one
 * to the next. That alone is not enough: with statistics of an emptier table it reads all ready runs instead.
 */
export function readyQueues(t: Tables): string {
  const found = (limited: 0 | 1) => {
    const from = `from ${t.runs}${using(t, "ready")} where state = 1 and limited = ${limited} and owner is null`;
    const arms: string[] = [];
    let above = "";
    for (let step = 0; step < SURE_QUEUES; step++) {
      const least = `select min(queue) as queue ${from}${above}`;
      arms.push(`select queue, ${limited} as limited from (${least}) q${step} where queue is not null`);
      above = ` and queue > (${least})`;
    }
    arms.push(`select queue, ${limited} ${from}${above} group by state, limited, owner, queue`);
    return arms.join(" union all ");
  };
  return `${found(0)} union all ${found(1)}`;
}

/**
 * Hops from lane to lane, in two parts: one condition over both columns reads every run of the queue. By `distinct`,
 * which comes in the order of the index and stops at the limit; with `group by` MariaDB reads all lanes first.
 */
export function readyLanes(
  t: Tables,
  queue: string,
  after: { priority: number; lane: string },
  count: number,
): Statement {
  const lanes = (where: string) =>
    `select distinct state, limited, queue, priority, lane from ${t.runs}${using(t, "lanes")}
      where state = 1 and limited = 1 and queue = ? and ${where} limit ?`;
  return {
    text: `select priority, lane from (${lanes("priority = ? and lane > ?")}) same
      union all select priority, lane from (${lanes("priority > ?")}) later
      order by priority, lane limit ?`,
    params: [queue, after.priority, after.lane, count, queue, after.priority, count, count],
  };
}
