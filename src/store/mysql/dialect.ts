import {
  type ColumnType,
  type Index,
  type Param,
  placeholders,
  rowPlaceholders,
  type Statement,
  type Tables,
  type Upsert,
} from "../sql/database.ts";
import { jsonPaths } from "../sql/dialect.ts";

export type Flavour = "mysql" | "mariadb";

/** A collation that compares by bytes, with trailing spaces. */
export function collation(flavour: Flavour): string {
  return flavour === "mysql" ? "utf8mb4_0900_bin" : "utf8mb4_nopad_bin";
}

/** Time limits of statements, in milliseconds. Few, because each is another statement to prepare. */
const TIME_LIMITS = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];

/** A `select` that the server cancels after `ms`, rounded up. */
export function withTimeLimit(flavour: Flavour, ms: number, text: string): string {
  const limit = TIME_LIMITS.find((one) => one >= ms) ?? TIME_LIMITS.at(-1)!;
  if (flavour === "mariadb") return `set statement max_statement_time = ${limit / 1000} for ${text}`;
  return text.replace(/^\s*select\b/i, `select /*+ max_execution_time(${limit}) */`);
}

/**
 * Text columns need their character set and collation: without them MariaDB uses the character set of the database,
 * which may lose characters, and both servers refuse to compare two columns of different collations.
 */
export function rows(flavour: Flavour, columns: Record<string, ColumnType>): string {
  const text = `longtext character set utf8mb4 collate ${collation(flavour)}`;
  const list = Object.entries(columns).map(
    ([name, type], index) =>
      `${name} ${type === "integer" ? "bigint" : text} path '$[${index}]' error on error`,
  );
  const table = `json_table(?, '$[*]' columns (${list.join(", ")}))`;
  // MySQL refuses a lock on a join with a bare json_table(): "appears in multiple locking clauses".
  return flavour === "mysql" ? `(select * from ${table} j)` : table;
}

/** `runsOfMembers`. */
export function runsOfMembers(members: string, table: string): string {
  return `${members} m straight_join ${table} r force index (primary) on r.id = m.run_id`;
}

/**
 * Forces the join order and the index. With statistics of an emptier table, as after a burst of inserts, MySQL scans
 * the whole table instead and locks every row it reads.
 */
export function lookUp(from: string, table: string, on = "r.id = v.id", index?: Index): string {
  const forced = index ? using(table, index) : " force index (primary)";
  return `${from} v straight_join ${table} r${forced} on ${on}`;
}

/** Keeps the order of `set`: an expression sees the new values of the columns that were set before it. */
export function updateFrom(table: string, set: Record<string, string>, from: string, where?: string): string {
  const sets = Object.entries(set).map(([column, to]) => `r.${column} = ${to}`);
  return `update ${lookUp(from, table)} set ${sets.join(", ")}${where ? ` where ${where}` : ""}`;
}

/** Most ids of a list. Longer ones are joined: MariaDB turns a list of more than 1,000 values into a subquery. */
const MOST_LISTED = 512;

/**
 * Returns the ids, the last one repeated until their number is a power of two: few texts are then prepared. Null: they
 * are too many for a list.
 */
export function paddedIds(ids: readonly number[]): number[] | null {
  if (ids.length === 0 || ids.length > MOST_LISTED) return null;
  const length = 2 ** Math.ceil(Math.log2(ids.length));
  return [...ids, ...Array<number>(length - ids.length).fill(ids.at(-1)!)];
}

/** A list takes a sixth less time than a join with the rows of a JSON text. */
export function updateListed(
  table: string,
  set: Record<string, string>,
  ids: number[],
  params: Param[],
): Statement {
  const sets = Object.entries(set).map(([column, to]) => `r.${column} = ${to}`);
  const text = `update ${table} r force index (primary) set ${sets.join(", ")} where r.id in (${placeholders(ids)})`;
  return { text, params: [...params, ...ids] };
}

/** Deletes by a join: with `in (select …)` MariaDB scans the table. */
export function deleteFrom(table: string, column: string, from: string): string {
  return `delete r from ${lookUp(from, table, `r.${column} = v.id`)}`;
}

export function upsert({ table, key, columns, update = [], rows: count = 1 }: Upsert): string {
  const sets = update.map((set) =>
    typeof set === "string"
      ? `${set} = values(${set})`
      : `${set.column} = ${set.to.replace(/\bexcluded\.(\w+)/g, "values($1)")}`,
  );
  const nothing = `${key[0]} = ${table}.${key[0]}`;
  return (
    `insert into ${table} (${columns.join(", ")}) values ${rowPlaceholders(columns.length, count)} ` +
    `on duplicate key update ${sets.length > 0 ? sets.join(", ") : nothing}`
  );
}

/** Forces the index: both servers sometimes choose one with the right order but no condition, and scan all runs. */
export function using(table: string, index: Index): string {
  return ` force index (${index === "primary" ? index : `${table}_${index}`})`;
}

/**
 * Returns the statement with its parameters inlined. Texts become hexadecimal literals, which no character and no SQL
 * mode can end early.
 */
export function inlineParams({ text, params }: Statement): string {
  let index = 0;
  return text.replaceAll("?", () => {
    const param = params[index++] ?? null;
    if (typeof param !== "string") return `${param}`;
    return `_utf8mb4 x'${Buffer.from(param).toString("hex")}'`;
  });
}

/** Length of the parameters as text, in characters. */
export function paramsLength({ params }: Statement): number {
  return params.reduce<number>((sum, param) => sum + `${param}`.length, 0);
}

/** `lower()` leaves binary strings as they are. */
export function lower(column: string): string {
  return `lower(convert(${column} using utf8mb4))`;
}

/** Casts the value to bytes: the results of the JSON functions are compared case-insensitively. */
export function scalar(column: string, path: string[]): Statement {
  const paths = jsonPaths(path);
  const type = `json_type(json_extract(${column}, ?))`;
  const parts = paths.map(({ lists }) => {
    const isScalar = [...lists.map(() => `${type} = 'ARRAY'`), `${type} not in ('OBJECT', 'ARRAY')`].join(
      " and ",
    );
    return `case when ${isScalar} then cast(json_unquote(json_extract(${column}, ?)) as binary) end`;
  });
  const value = parts.length === 1 ? parts[0]! : `coalesce(${parts.join(", ")})`;
  return {
    text: `(case when json_valid(${column}) then ${value} end)`,
    params: paths.flatMap(({ text, lists }) => [...lists, text, text]),
  };
}

/**
 * Steps of a loose index scan that are written out in the statement. Each one is `select min(column)` above the value
 * of the one before, which the server evaluates by an index lookup before it plans the rest. For the further values the
 * statement relies on the server's own loose index scan ("using index for group-by"). With statistics of an emptier
 * table the server does not choose that and scans all ready runs.
 */
const EXPLICIT_STEPS = 3;

/** A template of statements: joins their texts and collects their parameters. */
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

/**
 * Returns a `select` for each of the first values of a column, from the lowest or from the highest on, and the
 * condition of the further values. `from` ends with a condition; `start` is a further one for the first value.
 */
function firstValues(
  end: "min" | "max",
  column: string,
  from: Statement,
  start = sql``,
): { steps: Statement[]; further: Statement } {
  const steps: Statement[] = [];
  let further = start;
  for (let step = 0; step < EXPLICIT_STEPS; step++) {
    const next = sql`select ${end}(${column}) as ${column} ${from}${further}`;
    steps.push(next);
    further = sql` and ${column} ${end === "min" ? ">" : "<"} (${next})`;
  }
  return { steps, further };
}

/** In parentheses: MariaDB copies a subquery to a temporary table first, which takes six times as long (note 55). */
export function unionArm(select: string): string {
  return `(${select})`;
}

/**
 * Steps from the highest queue to the lowest. A lookup of the lowest would read the index entries of claimed runs that
 * the server has not purged yet: they are at the beginning of each queue.
 */
export function readyQueues(t: Tables): string {
  const found = (limited: "0" | "1"): Statement => {
    const from = sql`from ${t.runs}${using(t.runs, "ready")} where state = 1 and limited = ${limited} and owner is null`;
    const { steps, further } = firstValues("max", "queue", from);
    const rest = sql`select queue, ${limited} as limited ${from}${further} group by state, limited, owner, queue`;
    const arm = (next: Statement) =>
      sql`select queue, ${limited} as limited from (${next}) next_one where queue is not null`;
    return unionAll([...steps.map(arm), rest]);
  };
  return unionAll([found("0"), found("1")]).text;
}

/**
 * Looks up the latest time first: it ends the search if no run is scheduled. A search for the earliest one would then
 * read over the entries of claimed runs that the server has not purged yet.
 */
export function nextDue(t: Tables): string {
  const from = `from ${t.runs}${using(t.runs, "scheduled")} where state = 0`;
  return `select min(run_at) as run_at ${from} and run_at <= (select max(run_at) ${from})`;
}

export function pausedJobs(t: Tables): string {
  return `select name from ${t.jobs} where paused_at is not null`;
}

/** Selects the lanes of the priority of `after`, then those of the next priority, then all others. */
export function readyLanes(
  t: Tables,
  { queue, limited }: { queue: string; limited: 0 | 1 },
  after: { priority: number; lane: string },
  count: number,
): Statement {
  const from = sql`from ${t.runs}${using(t.runs, "lanes")} where state = 1 and limited = ${`${limited}`} and queue = ${param(queue)}`;
  // `distinct` reads in index order and stops at the limit; with `group by` MariaDB reads all lanes first.
  const rest = (where: Statement) =>
    sql`select priority, lane from (select distinct state, limited, queue, priority, lane ${from}${where} limit ${param(count)}) rest`;
  const ofPriority = (priority: Statement, start?: Statement) => {
    const { steps, further } = firstValues("min", "lane", sql`${from} and priority = ${priority}`, start);
    const arm = (next: Statement) =>
      sql`select ${priority} as priority, lane from (${next}) next_one where lane is not null`;
    return unionAll([...steps.map(arm), rest(sql` and priority = ${priority}${further}`)]);
  };
  const above = (priority: Statement) => sql`(select min(priority) ${from} and priority > ${priority})`;
  const next = above(param(after.priority));
  const all = unionAll([
    ofPriority(param(after.priority), sql` and lane > ${param(after.lane)}`),
    ofPriority(next),
    // Not `priority > ${next}`: without a further priority this condition is known to be false before the scan.
    rest(sql` and priority >= ${above(next)}`),
  ]);
  return sql`select priority, lane from (${all}) lanes order by priority, lane limit ${param(count)}`;
}

/** A `select` of the `name` of every table, view and index of the database. */
export const OBJECTS: string = `select table_name as name from information_schema.tables where table_schema = database()
  union select index_name from information_schema.statistics where table_schema = database()`;

/**
 * These servers cannot name the key whose conflict is meant. If a row of another key has the same value in a unique
 * index that an operator has added, the first column becomes null, which the server refuses.
 */
export function orReplace(table: string, key: readonly string[], columns: readonly string[]): string {
  const [first, ...others] = columns.filter((column) => !key.includes(column));
  const isSame = key.map((column) => `${table}.${column} = values(${column})`).join(" and ");
  const sets = [
    `${first} = if(${isSame}, values(${first}), null)`,
    ...others.map((column) => `${column} = values(${column})`),
  ];
  return ` on duplicate key update ${sets.map((set) => `${table}.${set}`).join(", ")}`;
}
