import {
  type ColumnType,
  type Index,
  type Param,
  rowsOfMarks,
  type Statement,
  type Tables,
} from "../sql/database.ts";
import { jsonPaths } from "../sql/dialect.ts";

export { like, pattern } from "../server/matching.ts";

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

/** As bytes: what these functions give is compared without regard to upper and lower case. */
export function scalar(column: string, path: string[]): Statement {
  const paths = jsonPaths(path);
  const type = `json_type(json_extract(${column}, ?))`;
  const parts = paths.map(({ lists }) => {
    const isThere = [...lists.map(() => `${type} = 'ARRAY'`), `${type} not in ('OBJECT', 'ARRAY')`].join(
      " and ",
    );
    return `case when ${isThere} then cast(json_unquote(json_extract(${column}, ?)) as binary) end`;
  });
  const value = parts.length === 1 ? parts[0]! : `coalesce(${parts.join(", ")})`;
  return {
    text: `(case when json_valid(${column}) then ${value} end)`,
    params: paths.flatMap(({ text, lists }) => [...lists, text, text]),
  };
}

/**
 * The different values of a column are found by hops along an index: the least one, the least above it, and so on. Each
 * of these hops is a step that the server makes before it plans anything. What comes after them is left to its own
 * way of hopping, "using index for group-by", which it leaves off when its statistics are those of an emptier table:
 * then it reads through all ready runs.
 */
const SURE = 3;

/** Two statements, or parts of them, as one. */
function sql(strings: TemplateStringsArray, ...parts: (Statement | string)[]): Statement {
  const params: Param[] = [];
  let text = strings[0]!;
  for (const [index, part] of parts.entries()) {
    text += (typeof part === "string" ? part : part.text) + strings[index + 1]!;
    if (typeof part !== "string") params.push(...part.params);
  }
  return { text, params };
}

function param(value: Param): Statement {
  return { text: "?", params: [value] };
}

function unionAll(arms: Statement[]): Statement {
  return {
    text: arms.map(({ text }) => text).join(" union all "),
    params: arms.flatMap(({ params }) => params),
  };
}

/** Each of the first values of a column among the rows of `from`, which ends with a condition; and the condition for those behind. */
function hop(column: string, from: Statement, start = sql``): { firsts: Statement[]; behind: Statement } {
  const firsts: Statement[] = [];
  let behind = start;
  for (let step = 0; step < SURE; step++) {
    const least = sql`select min(${column}) as ${column} ${from}${behind}`;
    firsts.push(least);
    behind = sql` and ${column} > (${least})`;
  }
  return { firsts, behind };
}

export function readyQueues(t: Tables): string {
  const found = (limited: "0" | "1"): Statement => {
    const from = sql`from ${t.runs}${using(t.runs, "ready")} where state = 1 and limited = ${limited} and owner is null`;
    const { firsts, behind } = hop("queue", from);
    const rest = sql`select queue, ${limited} as limited ${from}${behind} group by state, limited, owner, queue`;
    const arm = (least: Statement) =>
      sql`select queue, ${limited} as limited from (${least}) least where queue is not null`;
    return unionAll([...firsts.map(arm), rest]);
  };
  return unionAll([found("0"), found("1")]).text;
}

/** First those of the place's own priority, then those of the next one, then the others. */
export function readyLanes(
  t: Tables,
  queue: string,
  after: { priority: number; lane: string },
  count: number,
): Statement {
  const from = sql`from ${t.runs}${using(t.runs, "lanes")} where state = 1 and limited = 1 and queue = ${param(queue)}`;
  // By `distinct`, which comes in the order of the index and stops at the limit; with `group by` MariaDB reads all lanes first.
  const rest = (where: Statement) =>
    sql`select priority, lane from (select distinct state, limited, queue, priority, lane ${from}${where} limit ${param(count)}) rest`;
  const ofPriority = (priority: Statement, start?: Statement) => {
    const { firsts, behind } = hop("lane", sql`${from} and priority = ${priority}`, start);
    const arm = (least: Statement) =>
      sql`select ${priority} as priority, lane from (${least}) least where lane is not null`;
    return unionAll([...firsts.map(arm), rest(sql` and priority = ${priority}${behind}`)]);
  };
  const later = sql` and priority > ${param(after.priority)}`;
  const next = sql`(select min(priority) ${from}${later})`;
  const all = unionAll([
    ofPriority(param(after.priority), sql` and lane > ${param(after.lane)}`),
    ofPriority(next),
    rest(sql` and priority > ${next}`),
  ]);
  return sql`select priority, lane from (${all}) lanes order by priority, lane limit ${param(count)}`;
}
