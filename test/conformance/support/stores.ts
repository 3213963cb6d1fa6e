import type { ErrorCode } from "../../../src/errors.ts";
import type { DatabaseName, Store } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/time.ts";
import { isAvailable } from "../../servers/find.ts";
import { mariadbServer, mysqlServer } from "./mysql-database.ts";
import type { Plan } from "./plan.ts";
import { postgres } from "./postgres-database.ts";
import { sqlite } from "./sqlite-database.ts";

export type Param = string | number | null;

/** A transaction that the caller of the store has opened. */
export interface CallersTransaction {
  tx: unknown;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** A value that `insert(…, tx)` must refuse. */
export interface WrongHandle {
  what: string;
  tx: unknown;
  code: ErrorCode;
}

/** The database of one test. */
export interface Opened {
  store: Store;
  url: string;
  /** A second connection to the same database, as another process would have. */
  another(options?: { prefix?: string; clock?: Clock }): Promise<Store>;
  /** Directly to the database, without the store; `?` for parameters. */
  sql<Row>(text: string, ...params: Param[]): Promise<Row[]>;
  /** `level`: the isolation level, for databases that have several. */
  begin(level?: string): Promise<CallersTransaction>;
  wrongHandles(): Promise<WrongHandle[]>;
  /**
   * From now on the table `audit` (seq, step, run, name, lane, queue) gets a row for each run that starts
   * or stops running.
   */
  audit(): Promise<void>;
  /** The numbers from 1 to `count`, as a table with the column `n`. */
  series(count: number): string;
  /**
   * Freezes the statistics of the database, as between a burst of inserts and the next statistics.
   */
  stopCounting(): Promise<void>;
  /** Runs `work` on a new connection and explains every statement; with new statistics, unless they are frozen. */
  plans(work: (store: Store) => Promise<void>): Promise<Plan[]>;
  teardown(): Promise<void>;
}

export interface Database {
  name: DatabaseName;
  /** Empty: nothing is installed in it. */
  open(clock: Clock): Promise<Opened>;
  /** Installed and without rows; an earlier test may have used it. */
  openInstalled(clock: Clock): Promise<Opened>;
  /** Removes databases that were kept for later tests. */
  end(): Promise<void>;
}

/** Every database that must pass the suite. */
export const databases: Database[] = [sqlite, postgres, mysqlServer, mariadbServer];

const wanted = process.env.STORES?.split(",").map((name) => name.trim());

for (const name of wanted ?? []) {
  if (!databases.some((database) => database.name === name)) {
    throw new Error(`STORES names ${name}; known: ${databases.map((database) => database.name).join(", ")}.`);
  }
}

/** The databases that STORES names, else those that this machine has; `npm test` fails if a required one is missing. */
export const selected: Database[] = databases.filter(({ name }) =>
  wanted ? wanted.includes(name) : name === "sqlite" || isAvailable(name),
);
