import type { DatabaseName } from "../store.ts";

export type Param = string | number | bigint | null;

/** What the statements that all databases share are written against: `?` for parameters, nothing else assumed. */
export interface Sql {
  all<Row>(text: string, ...params: Param[]): Promise<Row[]>;
  run(text: string, ...params: Param[]): Promise<void>;
}

/** An open transaction. */
export interface Transaction extends Sql {
  /** The driver's own connection, for a caller who writes in the same transaction. */
  readonly handle: unknown;
  /** An earlier try may have been committed: the connection was lost before the answer came. */
  readonly again: boolean;
}

export interface TransactionOptions {
  /** False: a conflict or a lost connection is the caller's to see, who may have done more than statements. */
  retry?: boolean;
}

export interface Statement {
  text: string;
  params: Param[];
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
  /** `update` of the rows of `table` (as `r`) that join those of the table expression (as `v`) by their column `id`. */
  updateFrom(table: string, set: Record<string, string>, rows: string, where?: string): string;
  /** `delete` of the rows of `table` whose `column` is the `id` of a row of the table expression. */
  deleteFrom(table: string, column: string, rows: string): string;
  /** New ids for runs; null where the table numbers its rows itself. They are nobody else's, whatever becomes of the transaction. */
  newIds(sql: Sql, tables: Tables, count: number): Promise<(number | null)[]>;
}

/** The indexes of the runs that a claim goes by. */
export type RunsIndex = "ready" | "lanes" | "owned" | "scheduled";

/** A database that several hosts share: it has the time, and its statements meet those of others. */
export interface ServerDatabase extends Database {
  /** A `select` of the database's own time, in UTC milliseconds, as `now`. */
  readonly clock: string;
  /** Behind `insert … select`: what is there already is left alone, where the database can say so. */
  readonly orNothing: string;
  /** Whether an insert was refused because of a unique index. */
  isDuplicate(error: unknown): boolean;
  /** Behind the name of the runs: the index to go by, where the database has to be told. */
  using(tables: Tables, index: RunsIndex): string;
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
  "jobs",
  "schedules",
  "queues",
  "workers",
  "minutes",
  "migrations",
  "gates",
  "ids",
] as const;

export type Tables = Record<(typeof TABLES)[number], string> & { prefix: string };

export function tablesWith(prefix: string): Tables {
  const named = Object.fromEntries(TABLES.map((table) => [table, prefix + table]));
  return { ...(named as Record<(typeof TABLES)[number], string>), prefix };
}

export async function first<Row>(rows: Promise<Row[]>): Promise<Row | null> {
  return (await rows)[0] ?? null;
}

/** Placeholders for `in (…)`. */
export function marks(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}

/** Splits work so that no statement grows with the size of what it is given. */
export function* inGroups<Item>(items: readonly Item[], size = 500): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
