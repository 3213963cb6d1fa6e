import type { FinishedState } from "../run/states.ts";

/** A table, view, index or sequence that `install()` creates and the database lacks. */
export interface MissingObject {
  name: string;
  kind: "table" | "index" | "view" | "sequence";
  /** The statement that creates it; for an index the variant that blocks writers least. */
  statement: string;
}

export interface InstallReport {
  /** The schema before; 0: no tables. */
  from: number;
  /** The schema after. */
  to: number;
  statements: string[];
}

/** The state of PostgreSQL's vacuum. */
export interface VacuumReport {
  /** Whether the server has autovacuum on; off, it is off for every table. */
  enabled: boolean;
  tables: {
    name: string;
    /** Rows according to the statistics. */
    live: number;
    dead: number;
    /** Last vacuum or autovacuum; null: never. */
    vacuumedAt: number | null;
    /** Whether the table's own settings leave autovacuum on. */
    enabled: boolean;
  }[];
  /** The oldest open transaction in this database: vacuum cannot remove rows that died since it began. */
  oldest: { pid: number; program: string; since: number } | null;
}

/** The role of a host in the URL. */
export interface HostReport {
  /** `host:port`. */
  host: string;
  role: "writer" | "read-only" | "unreachable";
  /** Why the host is unreachable; null: it answered. */
  reason: string | null;
}

/** A database, for diagnosis. Available also if the tables are missing, old or too new. */
export interface Inspection {
  database: "sqlite" | "postgres" | "mysql" | "mariadb";
  /** Version of the database program. */
  version: string;
  /** The installed schema, the newest one that this code knows, and whether this code can use the installed one. */
  schema: { found: number; needed: number; usable: boolean };
  /** The database's time. */
  now: number;
  /** By how much the database's clock is ahead of this machine's, in milliseconds; 0: they may agree. */
  skew: number;
  /** Round trip of one statement, in milliseconds. */
  latency: number;
  /** The hosts that the URL lists; empty: it names one, or there is no URL. */
  hosts: HostReport[];
  /** Whether the server refuses writes: it is a standby or a replica. */
  readOnly: boolean;
  missing: MissingObject[];
  /** A guarantee that claims rely on and this database breaks, in words; null: none, or the check was not possible. */
  unsafe: string | null;
  /** Null: the database needs no vacuum. */
  vacuum: VacuumReport | null;
  /** Runs whose lease has ended and that no worker has reaped, and the end of the oldest of these leases. */
  expired: { count: number; since: number | null };
  /** Rows of workers that died long ago. Any live worker prunes them. */
  deadWorkers: number;
  /** Settings that matter, by the database's names: `journal_mode`, `synchronous`, `file`. */
  settings: Record<string, string>;
}

/** Selects what `prune()` deletes. */
export interface PruneRequest {
  /**
   * Delete only this job, with its schedules and waiting runs, if no worker has defined it for `jobsUnseenFor`. Null:
   * all jobs.
   */
  job?: string | null;
  /** Delete finished runs after this time, whatever their retention; null: only those whose retention has ended. */
  finishedFor: number | null;
  /**
   * Keep this many finished runs of each job, the newest by id, and delete the others whatever their retention; with
   * `finishedFor` only those that finished that long ago. Null: retention decides.
   */
  keep?: number | null;
  /** Delete, and count for `keep`, only finished runs in these states; null: in all states. */
  states?: FinishedState[] | null;
  /** Delete jobs that no worker has defined for this long and that have no unfinished runs; null: none. */
  jobsUnseenFor: number | null;
  /**
   * Delete waiting runs that are older than this and whose job no worker has defined for as long; with `job` of any
   * age. Null: none.
   */
  orphansOlderThan: number | null;
  /** Finished runs to delete in one transaction. */
  batch: number;
  /** Called after each batch with the report so far; returns false to stop. */
  onBatch?: (soFar: PruneReport) => boolean;
}

/** Numbers of deleted rows. */
export interface PruneReport {
  /** Finished runs. */
  history: number;
  jobs: number;
  /** Waiting runs. */
  orphans: number;
  workers: number;
}

/** Numbers of rows that `prune()` would delete now. */
export interface PruneForecast extends PruneReport {
  /** Whether there are more finished runs: counting stops at 1,000,000. */
  capped: boolean;
}
