import type { BatchRecord, BatchSearch, BatchStatusRecord } from "./batches.ts";
import type { InvariantReport } from "./invariants.ts";
import type {
  AttemptRecord,
  AuditRecord,
  FailureCounts,
  LogRecord,
  MuteRecord,
  RateRecord,
  RunRecord,
  ScheduleRecord,
  Status,
  TickRecord,
  ValueField,
  WaitFacts,
  WorkerRecord,
  WorkerRun,
} from "./records.ts";
import type { NamedRollupRow, RollupRequest, RollupRow, RollupSurvey } from "./rollups.ts";
import type { RunCondition, RunCount, RunPage, RunSearch } from "./search.ts";

/** Bounds of reads. */
export interface ReadLimits {
  /** Longest time for all statements of one reader together, in milliseconds. */
  timeout: number;
  /** Aborts the reads; a statement that is under way ends on the server after `timeout` at the latest. */
  signal?: AbortSignal | undefined;
}

/** The runs of the last ticks of schedules. */
export interface TickRecords {
  /** Of each schedule the newest first. */
  ticks: TickRecord[];
  /** Schedules with fewer ticks than asked for whose older ones may exist: they were not looked for. */
  partial: number[];
}

/** Selects the rates of a list. With several of `job`, `queue` and `name`: those of each. */
export interface RateSearch {
  /** At most as many. */
  most: number;
  job?: string | undefined;
  queue?: string | undefined;
  /** Of this named limit. */
  name?: string | undefined;
  kind?: RateKind | undefined;
}

/** Kinds of owners of a rate. */
export type RateKind = "job" | "key" | "queue" | "limit";

/** The part of a store that people look at. Every method reads a bounded number of rows, however large the tables. */
export interface StoreReads {
  /** Returns the database's time. */
  now(): Promise<number>;
  find(id: number): Promise<RunRecord | null>;
  /** Returns the attempts of a run that failed or crashed, in order. */
  attempts(id: number): Promise<AttemptRecord[]>;
  /** Returns log lines of a run, in order, after the position `after`. */
  logs(id: number, after: number, limit: number): Promise<LogRecord[]>;
  countLogs(id: number): Promise<number>;
  /**
   * Returns a page of runs, the newest first. Reads a bounded number of rows: a page may be short without being the
   * last.
   */
  search(search: RunSearch): Promise<RunPage>;
  /** Counts the runs that a search would find, up to `cap`. */
  count(where: RunCondition[], cap: number): Promise<RunCount>;
  /**
   * Counts runs by job and queue, and lists workers and problems. Its cost is bounded: above some number waiting runs
   * are not counted.
   */
  status(): Promise<Status>;
  /** Returns everything that `why()` needs to explain a run. */
  waitFacts(id: number): Promise<WaitFacts | null>;

  /** Returns the counts of one job, one queue or all, in order of time. */
  rollups(request: RollupRequest): Promise<RollupRow[]>;
  /** Returns the counts of every job or every queue, summed over longer spans, by name. */
  surveyRollups(survey: RollupSurvey): Promise<NamedRollupRow[]>;
  schedules(): Promise<ScheduleRecord[]>;

  /** Returns the live workers, in the order of their start. */
  liveWorkers(): Promise<WorkerRecord[]>;
  /** Returns runs that workers execute now, at most `most`, the longest running first. */
  workerRuns(most: number): Promise<WorkerRun[]>;
  /** Returns the runs of the last `each` ticks of each schedule, the newest first. */
  recentTicks(schedules: number[], each: number): Promise<TickRecords>;
  /** Groups the newest `most` failed runs, of all jobs or one, that finished at `since` or later. */
  failures(request: { job: string | null; since: number | null; most: number }): Promise<FailureCounts>;
  /** Returns the errors of finished runs, as stored, by id. */
  errorsOf(ids: number[]): Promise<Map<number, string | null>>;
  /** Returns distinct values of a field, found in a bounded number of the newest rows; at most 1,000. */
  values(field: ValueField): Promise<string[]>;

  /** Checks the invariants in the oldest `most` unfinished runs, attempts and log lines each. */
  checkInvariants(most: number): Promise<InvariantReport>;

  /** Returns the rates of jobs, keys, queues and named limits. */
  rates(search: RateSearch): Promise<RateRecord[]>;

  /** Returns a batch with its counts of this moment. */
  batch(id: number): Promise<BatchStatusRecord | null>;
  /** Returns a page of batches, the newest first. */
  listBatches(search: BatchSearch): Promise<BatchRecord[]>;

  /** Returns the groups of failures that are muted now, the latest first. */
  mutes(): Promise<MuteRecord[]>;

  /** Returns actions of operators, the newest first; with `before` only those with a smaller id. */
  audit(limit: number, before: number | null): Promise<AuditRecord[]>;
}
