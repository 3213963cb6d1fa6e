import type { FinishedState } from "../run/states.ts";

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
