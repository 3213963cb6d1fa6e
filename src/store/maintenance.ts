import type { FinishedState } from "../run/states.ts";

/** A table, view or index that a fresh install has and the database has not. */
export interface MissingObject {
  name: string;
  kind: "table" | "index" | "view" | "sequence";
  /** What makes it; for an index of a large table in the way that holds up others least. */
  statement: string;
}

export interface InstallReport {
  from: number;
  to: number;
  statements: string[];
}

/** How PostgreSQL removes dead rows. */
export interface VacuumReport {
  tables: {
    name: string;
    /** Rows by the statistics, not counted. */
    live: number;
    dead: number;
    /** Null: never. */
    vacuumedAt: number | null;
    /** Whether autovacuum is on for it. */
    enabled: boolean;
  }[];
  /** The oldest open transaction of others in this database: rows that died since it began stay. */
  oldest: { pid: number; program: string; since: number } | null;
}

/** What a database says of itself. It is asked also where the tables are missing, or of another version. */
export interface Inspection {
  version: string;
  /** The installed schema, the newest one this code knows, and whether this code can use the installed one. */
  schema: { found: number; needed: number; usable: boolean };
  /** Its own time. */
  now: number;
  /** Milliseconds that one statement took. */
  latency: number;
  missing: MissingObject[];
  /** What the engine does not do although claims rely on it, in words; null: nothing, or it could not be checked. */
  unsafe: string | null;
  /** How dead rows are removed; null where the database needs no vacuum. */
  vacuum: VacuumReport | null;
  /** Runs whose lease has ended and that nobody has taken back, and since when the oldest. */
  expired: { count: number; since: number | null };
  /** Rows of workers that died long ago: what a living one would have pruned. */
  deadWorkers: number;
  /** By their own names, where they matter: `journal_mode`, `synchronous`, `file`. */
  settings: Record<string, string>;
}

export interface PruneRequest {
  /** Only this job goes, with its schedules and waiting runs, once no worker has shown it for `jobsUnseenFor`; null: not so. */
  job?: string | null;
  /** Finished runs whose retention has ended; given a number, those finished longer ago than this as well. */
  finishedFor: number | null;
  /**
   * Of each job so many stay, the newest by their ids, and all others go whatever their retention; with `finishedFor` only those
   * finished that long ago. Null: retention decides.
   */
  keep?: number | null;
  /** Only finished runs in these states go, and count for `keep`; null: in any. */
  states?: FinishedState[] | null;
  /** Definitions that no worker has shown for this long, unless something of them is unfinished. */
  jobsUnseenFor: number | null;
  /** Waiting runs older than this whose job no worker has shown for this long; of any age with `job`. */
  orphansOlderThan: number | null;
  /** How many finished runs go at a time. */
  batch: number;
  /** Told after each batch what went so far; false: no more. */
  onBatch?: (so: PruneReport) => boolean;
}

/** How many of each were deleted. */
export interface PruneReport {
  history: number;
  jobs: number;
  orphans: number;
  workers: number;
}

/** What `prune` would delete now. */
export interface PruneForecast extends PruneReport {
  /** There are more finished runs: they were counted up to 1,000,000. */
  capped: boolean;
}
