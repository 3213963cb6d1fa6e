import type { MissingObject, VacuumReport } from "../maintenance.ts";
import type { DatabaseName, Settlement } from "../store.ts";
import type { Tables } from "./tables.ts";

export { type Tables, tablesWith } from "./tables.ts";

export type Param = string | number | bigint | null;

/** Runs statements. Parameters are written as `?` on every database. */
export interface Sql {
  all<Row>(text: string, ...params: Param[]): Promise<Row[]>;
  run(text: string, ...params: Param[]): Promise<void>;
}

/**
 * An open transaction. `run` may resolve before its statement was sent or answered: an error then rejects the next
 * `all`, or the transaction.
 */
export interface Transaction extends Sql {
  /** The driver's connection, for handlers that write in the same transaction. */
  readonly handle: unknown;
  /** Whether an earlier try may have been committed: the connection was lost before the commit was answered. */
  readonly again: boolean;
  /**
   * Reports that a row this process has written is missing or older. Throws on a cluster whose node may lag; the store
   * then retries the transaction. Absent outside such clusters.
   */
  missed?(): void;
}

export interface TransactionOptions {
  /** False: a conflict or a lost connection rejects. For work that does more than run statements. */
  retry?: boolean;
  /**
   * A statement without parameters to send with `begin`, in the same packet if possible. It is left out if an earlier
   * try may have been committed.
   */
  first?: string;
  /**
   * True: a lock that is not free within a second ends the try, which is then retried like any conflict. MySQL and
   * MariaDB do so after five seconds in every transaction. For duties whose rows a frozen worker may have locked.
   */
  lockTimeout?: boolean;
  /** True: on a cluster, waits until the node has everything that was committed before. */
  waitForNode?: boolean;
}

export interface Statement {
  text: string;
  params: Param[];
}

/** A condition that an index range satisfies, and the columns that give its rows in the order of the index. */
export interface IndexRange extends Statement {
  order: string[];
}

export type ColumnType = "integer" | "text";

/** The parts of an `upsert`. */
export interface Upsert {
  table: string;
  key: readonly string[];
  columns: readonly string[];
  /** Columns that an existing row gets: the new value, or an expression. Default: none. */
  update?: readonly (string | { column: string; to: string })[];
  /** Number of rows. Default: 1. */
  rows?: number;
}

/** The parts of `moveToHistory`. */
export interface HistoryMove {
  token: string;
  endings: Settlement[];
  now: number;
  /** See `Database.orReplace`. */
  orReplace: string;
}

export interface About {
  version: string;
  /** Whether the server refuses writes now. */
  readOnly: boolean;
  /** The relevant settings, to be printed. */
  settings: Record<string, string>;
}

/** A database, with the pieces of SQL that differ between databases. */
export interface Database extends Sql {
  readonly name: DatabaseName;
  /** Whether other nodes accept writes too. A lock then holds on one node only, and only writes conflict (note 53). */
  readonly isMultiWriter: boolean;
  /** Appended to a `select`: locks its rows until the transaction ends. Empty on SQLite, which has one write lock. */
  readonly forUpdate: string;
  /** As `forUpdate`, but lets others lock the rows in the same way. */
  readonly forShare: string;
  /** As `forUpdate`, but skips rows that another transaction has locked. */
  readonly skipLocked: string;
  /** Restricts such a lock, behind a join, to the table with this alias. */
  lockOnly(lock: string, alias: string): string;
  /** A text parameter, where the database cannot infer its type from the statement. */
  readonly text: string;
  /** A condition: the column `tags` contains the parameter. */
  readonly hasTag: string;
  /** The key in the column `lane`, whose values are `name|key`. */
  readonly key: string;
  /** A condition: a text column matches the parameter, which `pattern` made. Compares bytes. */
  like(column: string): string;
  /** A text with its ASCII letters in lower case, whatever the locale and the type of the column. */
  lower(column: string): string;
  /** Returns the parameter of `like` for the pieces between wildcards. */
  pattern(pieces: string[]): string;
  /**
   * The value at a path within a JSON column as JSON writes it, a string without its quotes. Null for arrays, objects
   * and missing values. A number in the path is an index of an array or a name in an object.
   */
  scalar(column: string, path: string[]): Statement;
  /** Reads as `all` does. A server cancels the statement after about `ms`: `isCancelled` of the error. */
  readWithin<Row>(ms: number, text: string, ...params: Param[]): Promise<Row[]>;
  /** Whether the server cancelled a statement because its time was over. */
  isCancelled(error: unknown): boolean;
  /** The error after which statements are being retried; null: the database answers. */
  fault(): unknown;
  /**
   * Runs `work` in a transaction at read committed, on a connection that no other statement uses meanwhile. After a
   * conflict or a lost connection it starts again: `work` may be called more than once.
   */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /** Runs `work` in a transaction that excludes other installers of the same tables. */
  alone<Result>(prefix: string, work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /** `insert … values (?, …), …` that updates a row if its key exists. */
  upsert(upsert: Upsert): string;
  /**
   * A table expression from one JSON parameter: an array of rows, each an array of values in the order of the
   * columns.
   */
  rows(columns: Record<string, ColumnType>): string;
  /**
   * A `from` clause that joins each row of the table expression (as `v`) with the rows of `table` (as `r`) that
   * satisfy `on`, by the index given; by default with the row that has its `id`, by the primary key.
   */
  lookUp(rows: string, table: string, on?: string, index?: Index): string;
  /**
   * A `from` clause that looks up the run of each member of a batch (`members` as `m`, `table` as `r`) by its id. A
   * planner that may choose another order reads all runs for a page of members.
   */
  runsOfMembers(members: string, table: string): string;
  /** Appended to a table's name or alias: the hint to use this index, on databases whose planner needs one. */
  using(table: string, index: Index): string;
  /**
   * The `limit` of a read in the order of an index. PostgreSQL must not know the number: if it expects fewer rows, it
   * reads and sorts all of them instead, 100,000 rows of a queue in 1.7 s (note 45).
   */
  upTo(rows: number): string;
  /** `update` of the rows of `table` (as `r`) whose `id` is in the table expression (as `v`). */
  updateFrom(table: string, set: Record<string, string>, rows: string, where?: string): string;
  /** `delete` of the rows of `table` whose `column` is an `id` in the table expression. */
  deleteFrom(table: string, column: string, rows: string): string;
  /**
   * Appended to `insert … select`: skips runs whose unique key is held, if the database can. Other conflicts stay
   * errors.
   */
  readonly unlessKeyHeld: string;
  /**
   * Appended to `insert … select` into `history` or `attempts`: replaces the values of a row that has the same key. A
   * run may have the id of an older one that was restored, or that another primary wrote (note 54). Any other conflict
   * is an error. PostgreSQL pays for it, so it replaces rows only after it has met a taken key.
   */
  orReplace(table: string, key: readonly string[], columns: readonly string[]): string;
  /** Whether an insert failed because another run holds the unique key. */
  isKeyHeld(error: unknown): boolean;
  /**
   * Whether runs have partial indexes by parent, rerun and schedule, and failed runs by job. Other runs are
   * in none of them. A database without partial indexes has none of these (note 45).
   */
  readonly indexesLinks: boolean;
  /**
   * A statement that moves the settled runs of one token into history, and returns those that still had the token (as
   * `EndedRun`). Absent on databases that cannot delete rows and insert them elsewhere in one statement.
   */
  moveToHistory?(tables: Tables, move: HistoryMove): Statement;
  /** Finished runs (as `r`) of one job with ids in (`after`, `upTo`], as a range of the index on name and id. */
  historyRange(name: string, after: number, upTo: number): IndexRange;
  /** Describes the database, for diagnosis. */
  about(): Promise<About>;
  /** Reports on vacuum; absent on databases without one. */
  vacuum?(tables: Tables): Promise<VacuumReport>;
  /** A `select` of the `name` of every table, view, sequence and valid index in the schema of the tables. */
  objects(tables: Tables): Statement;
  /** Creates a missing index or view, however long it takes; an index without blocking writers if possible. */
  restore(tables: Tables, missing: MissingObject): Promise<void>;
  /**
   * Reserves ids for runs, also if the transaction is rolled back; nulls on databases whose table numbers its rows. On
   * servers all of them are above `above`.
   */
  newIds(sql: Sql, tables: Tables, count: number, above?: number): Promise<(number | null)[]>;
}

/** The indexes that statements name. */
export type Index =
  | "primary"
  | "ready"
  | "lanes"
  | "owned"
  | "scheduled"
  | "leased"
  | "counted"
  | "under"
  | "unique"
  | "tick"
  | "name"
  | "next"
  | "failed"
  | "slot";

/** A database server: it has a clock of its own, and transactions that run at the same time as others'. */
export interface ServerDatabase extends Database {
  /** Number of connections lost so far. */
  readonly losses: number;
  /** A `select` of the database's time, in UTC milliseconds, as `now`. */
  readonly clock: string;
  /** Whether `insert … select` locks the rows that it reads, at the isolation level of a caller's transaction. */
  readonly insertsLock: boolean;
  /** Whether reads scan index entries of changed rows until the server purges them. */
  readonly purgesLate: boolean;
  /** Whether a subquery may use columns of the table expression before it, also in its `limit`. Absent: no. */
  readonly hasLateral?: boolean;
  /** A `select` with an order, a limit and locks of its own, as an arm of a `union all`. Absent: a subquery. */
  unionArm?(select: string): string;
  /**
   * Runs two inserts as one transaction, in one packet if possible. After an error that may have come after the
   * commit, `again` runs instead. `trailing` is sent right behind the inserts, even if they fail; its answer
   * is not awaited, and its error is ignored.
   */
  insertTogether(
    one: Statement,
    other: Statement,
    again: (tx: Transaction) => Promise<void>,
    trailing?: Statement | null,
  ): Promise<void>;
  /**
   * Runs one statement as a transaction, in one round trip if possible. Null: it is unknown whether it was committed,
   * or a later try may succeed. Absent on databases whose updates return no rows.
   */
  atOnce?<Row>(statement: Statement): Promise<Row[] | null>;
  /** Reads as `all` does; keeps the statement prepared if that costs no further round trip. */
  read<Row>(text: string, ...params: Param[]): Promise<Row[]>;
  /** `update` of the rows of `table` (as `r`) with these ids. `params` are those of `set`, in its order. */
  updateByIds(table: string, set: Record<string, string>, ids: readonly number[], params: Param[]): Statement;
  /** Whether an insert failed because the id of the run, or of its receipt, is in use. */
  isIdTaken(error: unknown): boolean;
  /**
   * Returns an `Sql` that reads the latest committed data, whatever the isolation level of the caller's transaction
   * `tx`: on another connection, or in `tx` if none is free.
   */
  beside(tx: Sql): Sql;
  /** A `select` of each `queue` and `limited` with ready runs that have no owner, by a loose index scan. */
  readyQueues(tables: Tables): string;
  /** A `select` of the `name` of each paused job. */
  pausedJobs(tables: Tables): string;
  /** A `select` of the `run_at` of the next scheduled run, null if there is none. */
  nextDue(tables: Tables): string;
  /**
   * A `select` of the first `count` pairs of `priority` and `lane`, after `after`, with ready runs in a queue that have
   * this limit hint.
   */
  readyLanes(
    tables: Tables,
    place: { queue: string; limited: 0 | 1 },
    after: { priority: number; lane: string },
    count: number,
  ): Statement;
}

export async function first<Row>(rows: Promise<Row[]>): Promise<Row | null> {
  return (await rows)[0] ?? null;
}

/**
 * Most values that a statement lists one by one. Longer lists are one JSON parameter (see `rows`) or are split into
 * groups: SQLite accepts 32,766 parameters, PostgreSQL and MySQL 65,535 (note 28).
 */
const MOST_LISTED = 1000;

/** Placeholders for `in (…)`. Throws above `MOST_LISTED` values. */
export function placeholders(values: readonly unknown[]): string {
  return placeholderList(values.length);
}

/** Placeholders of whole rows, for `values`. Throws above `MOST_LISTED` rows. */
export function rowPlaceholders(columns: number, rows: number): string {
  if (rows > MOST_LISTED) throw tooMany(rows);
  return Array<string>(rows)
    .fill(`(${placeholderList(columns)})`)
    .join(", ");
}

function placeholderList(count: number): string {
  if (count > MOST_LISTED) throw tooMany(count);
  return Array<string>(count).fill("?").join(", ");
}

function tooMany(count: number): RangeError {
  return new RangeError(
    `A statement lists at most ${MOST_LISTED} values, got ${count}. Pass them as one JSON parameter, or in groups.`,
  );
}

/** The parameter of `rows({ id: "integer" })`. */
export function idsAsJson(ids: readonly number[]): string {
  return JSON.stringify(ids.map((id) => [id]));
}

/** The parameter of `rows` with one text column. */
export function namesAsJson(names: readonly string[]): string {
  return JSON.stringify(names.map((name) => [name]));
}

/** Splits items into groups, so that the size of a statement is bounded. */
export function* inGroups<Item>(items: readonly Item[], size = 500): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Returns the rows that `read` returns for each group of items, in order. */
export async function forGroups<Item, Row>(
  items: readonly Item[],
  read: (group: Item[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[][] = [];
  for (const group of inGroups(items)) rows.push(await read(group));
  return rows.length === 1 ? rows[0]! : rows.flat();
}
