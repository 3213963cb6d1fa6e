import type { MissingObject, VacuumReport } from "../maintenance.ts";
import type { DatabaseName } from "../store.ts";

export type Param = string | number | bigint | null;

/** What the statements that all databases share are written against: `?` for parameters, nothing else assumed. */
export interface Sql {
  all<Row>(text: string, ...params: Param[]): Promise<Row[]>;
  run(text: string, ...params: Param[]): Promise<void>;
}

/**
 * An open transaction. `run` may return before its statement is answered, or sent: a fault shows with the next `all`, or
 * when the transaction ends.
 */
export interface Transaction extends Sql {
  /** The driver's own connection, for a caller who writes in the same transaction. */
  readonly handle: unknown;
  /** An earlier try may have been committed: the connection was lost before the answer came. */
  readonly again: boolean;
}

export interface TransactionOptions {
  /** False: a conflict or a lost connection is the caller's to see, who may have done more than statements. */
  retry?: boolean;
  /**
   * A statement without parameters that goes along with `begin`, in one packet where that can be. Left out where an
   * earlier try may have been committed.
   */
  first?: string;
}

export interface Statement {
  text: string;
  params: Param[];
}

/** A condition, and the columns by which what it finds comes in order. */
export interface Way extends Statement {
  order: string[];
}

export type ColumnType = "integer" | "text";

/** A database, and where its SQL differs from the others'. */
export interface Database extends Sql {
  readonly name: DatabaseName;
  /** Behind a `select`: locks its rows until the transaction ends. */
  readonly forUpdate: string;
  /** The same, but passes over rows that another has locked. */
  readonly skipLocked: string;
  /** Such a lock behind a join, of the table with this alias only. */
  lockOnly(lock: string, alias: string): string;
  /** A parameter that is text where the statement does not say so. */
  readonly text: string;
  /** Whether the list in the column `tags` has the text of the one parameter. */
  readonly tagged: string;
  /** The key in the column `lane`, which is `name|key`. */
  readonly key: string;
  /** Whether the text of a column is like the one parameter, made by `pattern`; by its bytes. */
  like(column: string): string;
  /** The pieces between stars, each of which stands for anything. */
  pattern(pieces: string[]): string;
  /**
   * The value at a path within a column of JSON, as JSON writes it, a text without its quotes; null for lists, objects
   * and what is not there. A number in the path is a place in a list, or a name in an object.
   */
  scalar(column: string, path: string[]): Statement;
  /**
   * All of it or nothing, at read committed; nobody else's statement on this connection comes in between. A conflict
   * with others, or a lost connection, begins it anew, so `work` may be called more than once.
   */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /** A transaction that nobody else can be in at the same time: for installing. */
  alone<Result>(prefix: string, work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /** `insert … values (?, …), …` that overwrites the named columns where the key exists; a name alone takes the new value. */
  upsert(
    table: string,
    key: string[],
    columns: string[],
    update: (string | { column: string; to: string })[],
    rows?: number,
  ): string;
  /** A table expression made of one parameter: JSON, a list of rows, each a list of values in the order of the columns. */
  rows(columns: Record<string, ColumnType>): string;
  /**
   * For a `from`: the rows of the table expression (as `v`), each with those of `table` (as `r`) that `on` finds for it in
   * the index. Without these two: the one with its `id`, in the primary key.
   */
  lookUp(rows: string, table: string, on?: string, index?: Index): string;
  /** Behind the name of a table, or its alias: the index to go by, where the database has to be told. */
  using(table: string, index: Index): string;
  /** `update` of the rows of `table` (as `r`) that join those of the table expression (as `v`) by their column `id`. */
  updateFrom(table: string, set: Record<string, string>, rows: string, where?: string): string;
  /** `delete` of the rows of `table` whose `column` is the `id` of a row of the table expression. */
  deleteFrom(table: string, column: string, rows: string): string;
  /** Whether one statement can delete rows and insert them into another table, as PostgreSQL's can. */
  readonly movesRows: boolean;
  /**
   * Finished runs, as `r`, of one name, from after this id up to that one: the condition and the order, in either
   * direction, with which the database goes along the index of the two and meets no others.
   */
  stretch(name: string, after: number, upTo: number): Way;
  /** Its version and what of its settings matters, for people. */
  about(): Promise<{ version: string; settings: Record<string, string> }>;
  /** How dead rows are removed; absent where the database does that without a share of its own. */
  vacuum?(tables: Tables): Promise<VacuumReport>;
  /** A `select` of the `name` of every table, view, sequence and usable index beside the tables. */
  objects(tables: Tables): Statement;
  /** Makes an index or a view anew, however long it takes; an index while others go on working, where that can be. */
  restore(tables: Tables, missing: MissingObject): Promise<void>;
  /** New ids for runs; null where the table numbers its rows itself. They are nobody else's, whatever becomes of the transaction. */
  newIds(sql: Sql, tables: Tables, count: number): Promise<(number | null)[]>;
}

/** The indexes by which a worker looks for runs and schedules. */
export type Index =
  | "ready"
  | "lanes"
  | "owned"
  | "scheduled"
  | "leased"
  | "counted"
  | "unique"
  | "tick"
  | "next"
  | "slot";

/** A database that several hosts share: it has the time, and its statements meet those of others. */
export interface ServerDatabase extends Database {
  /** How many connections were lost so far. */
  readonly losses: number;
  /** A `select` of the database's own time, in UTC milliseconds, as `now`. */
  readonly clock: string;
  /** Behind `insert … select`: passes over runs whose unique key is held, where the database can; any other conflict is an error. */
  readonly unlessKeyHeld: string;
  /** Whether `insert … select` locks the rows it reads, at the isolation level that a caller's transaction may have. */
  readonly insertsLock: boolean;
  /**
   * Two inserts as one transaction, in one packet where that can be. Where they met a fault, done or not, `again` takes
   * their place.
   */
  both(one: Statement, other: Statement, again: (tx: Transaction) => Promise<void>): Promise<void>;
  /** Whether an insert was refused because another run holds the unique key. */
  isKeyHeld(error: unknown): boolean;
  /** Whether an insert was refused because its id, or that of its receipt, is another's. */
  isIdTaken(error: unknown): boolean;
  /**
   * Reads what is committed at that moment, whatever the isolation level of the caller's transaction: on a connection of
   * its own. Where none is free, in the transaction.
   */
  beside(tx: Sql): Sql;
  /** A `select` of each `queue` and `limited` that has ready runs which are nobody's own, without reading through the runs. */
  readyQueues(tables: Tables): string;
  /** A `select` of each `priority` and `lane` of a queue that has ready runs under limits, in order, after a place, at most `count`. */
  readyLanes(
    tables: Tables,
    queue: string,
    after: { priority: number; lane: string },
    count: number,
  ): Statement;
}

const TABLES = [
  "runs",
  "history",
  "attempts",
  "logs",
  "jobs",
  "schedules",
  "aliases",
  "queues",
  "workers",
  "minutes",
  "migrations",
  "gates",
  "ids",
  "receipts",
] as const;

export type Tables = Record<(typeof TABLES)[number], string> & { prefix: string };

export function tablesWith(prefix: string): Tables {
  const named = Object.fromEntries(TABLES.map((table) => [table, prefix + table]));
  return { ...(named as Record<(typeof TABLES)[number], string>), prefix };
}

export async function first<Row>(rows: Promise<Row[]>): Promise<Row | null> {
  return (await rows)[0] ?? null;
}

/**
 * Values that a statement lists one by one at most. A list that may be longer is one JSON parameter, see `rows`, or is
 * taken in groups: SQLite takes 32,766 parameters, PostgreSQL and MySQL 65,535 (note 28).
 */
const MOST_LISTED = 1000;

/** Placeholders for `in (…)`. */
export function marks(values: readonly unknown[]): string {
  return placeholders(values.length, MOST_LISTED);
}

/** Placeholders of whole rows, behind `values`. */
export function rowsOfMarks(columns: number, rows: number): string {
  const row = `(${placeholders(columns, MOST_LISTED)})`;
  if (rows > MOST_LISTED) throw tooMany(rows, MOST_LISTED);
  return Array<string>(rows).fill(row).join(", ");
}

function placeholders(count: number, most: number): string {
  if (count > most) throw tooMany(count, most);
  return Array<string>(count).fill("?").join(", ");
}

function tooMany(count: number, most: number): RangeError {
  return new RangeError(
    `A statement lists at most ${most} values, got ${count}. Pass them as JSON, or in groups.`,
  );
}

/** The parameter of `rows({ id: "integer" })`. */
export function asJson(ids: readonly number[]): string {
  return JSON.stringify(ids.map((id) => [id]));
}

/** The parameter of `rows` with one column of text. */
export function namesAsJson(names: readonly string[]): string {
  return JSON.stringify(names.map((name) => [name]));
}

/** Splits work so that no statement grows with the size of what it is given. */
export function* inGroups<Item>(items: readonly Item[], size = 500): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** The rows that `read` gives for each group of items, in the order of the items. */
export async function forGroups<Item, Row>(
  items: readonly Item[],
  read: (group: Item[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[][] = [];
  for (const group of inGroups(items)) rows.push(await read(group));
  return rows.length === 1 ? rows[0]! : rows.flat();
}
