import type { ErrorCode } from "../../../src/errors.ts";
import type { DatabaseName, Store } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/time.ts";
import { isAvailable } from "../../servers/find.ts";
import { mariadbServer, mysqlServer } from "./mysql-database.ts";
import type { Plan } from "./plan.ts";
import { postgres } from "./postgres-database.ts";
import { sqlite } from "./sqlite-database.ts";

export type Param = string | number | null;

/** A transaction that the caller of the store has opened for themselves. */
export interface CallersTransaction {
  tx: unknown;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Something that `insert(…, tx)` must not take for the caller's transaction. */
export interface WrongHandle {
  what: string;
  tx: unknown;
  code: ErrorCode;
}

/** A database of its own for one test. */
export interface Opened {
  store: Store;
  url: string;
  /** A second connection to the same database, as another process would have. */
  another(options?: { prefix?: string; clock?: Clock }): Promise<Store>;
  /** Straight to the database, past the store; `?` for parameters. */
  sql<Row>(text: string, ...params: Param[]): Promise<Row[]>;
  /** `level`: of isolation, where the database has several. */
  begin(level?: string): Promise<CallersTransaction>;
  wrongHandles(): Promise<WrongHandle[]>;
  /** From now on the table `audit` (seq, step, run, name, lane, queue) gets a row for each run that begins or ceases to run. */
  audit(): Promise<void>;
  /** The numbers from 1 to `count`, as a table with the column `n`. */
  series(count: number): string;
  /**
   * From here on the database knows of its rows what it knows now, as between a burst of inserts and the moment at which
   * it next makes its statistics.
   */
  stopCounting(): Promise<void>;
  /** Runs `work` on a new connection and explains every statement it ran; with new statistics, unless that was stopped. */
  plans(work: (store: Store) => Promise<void>): Promise<Plan[]>;
  teardown(): Promise<void>;
}

export interface Database {
  name: DatabaseName;
  /** Empty: nothing is installed in it. */
  open(clock: Clock): Promise<Opened>;
  /** Everything is installed, and there are no rows; an earlier test may have used it. */
  openInstalled(clock: Clock): Promise<Opened>;
  /** Removes what was kept for tests to come. */
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

/** Those that STORES names, else those that are here; `npm test` sees to it that none is missing which must not be. */
export const selected: Database[] = databases.filter(({ name }) =>
  wanted ? wanted.includes(name) : name === "sqlite" || isAvailable(name),
);
