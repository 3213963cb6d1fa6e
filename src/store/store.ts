import type { RunState } from "../run/states.ts";
import type { BatchStore } from "./batches.ts";
import type { SyncRequest, SyncResult, TickRequest, TickResult } from "./definitions.ts";
import type {
  Inspection,
  InstallReport,
  MissingObject,
  PruneForecast,
  PruneReport,
  PruneRequest,
} from "./maintenance.ts";
import type { ReadLimits, StoreReads } from "./reads.ts";
import type {
  BusyWorker,
  CancelAnswer,
  Heartbeat,
  JobRecord,
  NewAuditEntry,
  NewMute,
  PauseNote,
  RateSubject,
  WorkerRequest,
} from "./records.ts";
import type { RollupCount } from "./rollups.ts";
import type {
  CrashCap,
  ExchangeRequest,
  ExchangeResult,
  InsertResult,
  JobMinute,
  Lease,
  NewLogLine,
  NewRun,
  ReapedRun,
  Renewal,
  RenewalResult,
  Revival,
  Settlement,
} from "./runs.ts";

export type { DefinedJob, JobDetails, QueueOrder, SyncRequest, SyncResult } from "./definitions.ts";
export * from "./runs.ts";

export type DatabaseName = "sqlite" | "postgres" | "mysql" | "mariadb";

/**
 * The contract between Punctual and a database. `test/conformance` runs the same tests against every implementation.
 *
 * **Time.** Arguments and results are UTC milliseconds, durations are milliseconds. "Now" is the database's time, so
 * that hosts whose clocks differ agree on what is due and which lease has ended; a test's clock replaces it.
 *
 * **Fencing.** A claim gives each run a lease: an id and a token. Every write about a running run names its lease, and
 * takes effect only while the run is running under that token. A worker that lost its lease can write nothing more
 * about the run.
 *
 * **Failures.** If the database does not answer, a call is retried for about 30 s and then rejects with a
 * `PunctualError`. A call that rejected may have been carried out nevertheless. Repeating it is safe, except for
 * `insert` and `flush`, which would take effect twice.
 *
 * Where a run, job or schedule may not exist, the answer is null or false.
 */
export interface Store extends StoreReads {
  readonly database: DatabaseName;
  /** How many streams of exchanges a worker should use, at most `EXCHANGE_STREAMS`. */
  readonly streams: number;

  // The database and its tables.

  /**
   * Brings the schema up to date. Processes that install at the same time wait for each other. With `dryRun` nothing is
   * changed: the report lists the statements.
   */
  install(options?: { dryRun?: boolean }): Promise<InstallReport>;
  /**
   * Rejects with `NOT_INSTALLED` if tables are missing or old, with `SCHEMA_TOO_NEW` if they need newer code than this.
   */
  checkSchema(): Promise<void>;
  /** Describes the database for diagnosis. Resolves also if tables are missing, old or too new. */
  inspect(): Promise<Inspection>;
  /** Creates a missing index or view; an index without blocking writers, where the database can do that. */
  restore(missing: MissingObject): Promise<void>;
  /** Deletes the rows of workers that died long ago, as `prune()` does. Returns their number. */
  forgetWorkers(): Promise<number>;
  /** Closes the connections that the store opened. */
  close(): Promise<void>;

  // The life of a run: inserted, claimed, renewed, settled.

  /**
   * Inserts runs, all or none; their ids ascend in the order given. A run whose unique key is held is not inserted: its
   * result names the holder. With `tx`, a transaction of the caller's, the runs exist once the caller commits.
   */
  insert(runs: NewRun[], tx?: unknown): Promise<InsertResult[]>;
  /**
   * Writes the outcomes of finished attempts, then claims runs, in one transaction: the claim can use the slots that
   * the outcomes freed. A repeated exchange with `again` writes nothing twice and returns the runs that were claimed
   * before.
   */
  exchange(request: ExchangeRequest): Promise<ExchangeResult>;
  /** Prolongs leases. Never waits for a row that another transaction has locked: the result lists it as locked. */
  renew(worker: string, renewals: Renewal[]): Promise<RenewalResult>;
  /**
   * Marks a run as started, before its handler is called: if the process dies from then on, the run is charged with the
   * crash. `isolated`: no other run is in the process. The worker calls it again with false before it admits other
   * runs. Returns false if the lease is lost.
   */
  start(lease: Lease, isolated: boolean): Promise<boolean>;
  /** Stores the progress of a run, as JSON. Returns false if the lease is lost. */
  progress(lease: Lease, progress: string): Promise<boolean>;
  /**
   * Records that a hook, filter or schema of a running run has not returned for `elapsed` ms; null: it has returned
   * since. Returns false if the lease is lost.
   */
  slowHook(lease: Lease, slow: { name: string; elapsed: number; limit: number } | null): Promise<boolean>;
  /**
   * Appends log lines. Lines that exist already, or whose run does not, are left out. Not fenced: lines that an attempt
   * logged before it lost its lease are kept.
   */
  log(lines: NewLogLine[]): Promise<void>;
  /**
   * Calls `work` with a transaction, writes the settlement in the same transaction, and commits. Returns false, and
   * rolls both back, if the lease is lost. `work` is called at most once.
   *
   * On SQLite no lease can be renewed meanwhile, so a transaction that takes long extends every lease by the time
   * it took, whether it commits or rolls back, and calls `extended` with that time in milliseconds.
   */
  transaction(
    settlement: Settlement,
    work: (tx: unknown) => unknown,
    extended?: (ms: number) => void,
  ): Promise<boolean>;

  // Runs whose process died.

  /**
   * Takes back runs whose lease has ended: they wait again, or end if they crashed too often. Reads `limit` of them and
   * adds the other expired runs of the same workers, since the runs of one worker are judged together. `error` and
   * `keep` are for runs that end.
   */
  reap(limit: number, cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]>;
  /**
   * Takes back all runs of workers whose process is known to have ended, whether their leases have ended or not. Leaves
   * out workers that were seen within `WORKER_SILENT_AFTER`.
   */
  reapGone(workers: string[], cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]>;
  /**
   * Takes back runs that were lost with a child process, without waiting for the end of their leases. Each is charged
   * with a crash. Leases that are lost are ignored.
   */
  takeBack(leases: Lease[], cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]>;
  /**
   * Fails waiting ad hoc runs whose owner has not been seen for `WORKER_DEAD_AFTER`. `self` is the caller, which counts
   * as alive. Returns the ids.
   */
  reapOwnerless(self: string, error: string, keep: number | null): Promise<number[]>;
  /** Fails the waiting ad hoc runs of this owner, which is stopping. Returns their ids. */
  disown(owner: string, error: string, keep: number | null): Promise<number[]>;

  // Operating on single runs.

  /**
   * Cancels a waiting run, or asks the worker of a running one to abort it (`requested`). With `force` a running run
   * ends at once: its worker loses the lease. A finished run, and one in none of the states `only`, is left as it is;
   * the answer is its state.
   */
  cancel(
    id: number,
    keep: number | null,
    force?: boolean,
    only?: readonly RunState[] | null,
  ): Promise<CancelAnswer>;
  /** Changes when a waiting run is due. Any other run is left as it is; the answer is its state. */
  move(id: number, runAt: number): Promise<"moved" | RunState | null>;
  /**
   * Takes a finished run out of history to run again, due at `runAt` or now. It keeps its id, its attempts and its
   * crashes, and its unique key if no other run holds it. A run that is not finished, or no longer as it was `seen`, is
   * left as it is; the answer is its state. Null: there is no such run.
   */
  revive(id: number, revival?: Revival): Promise<"revived" | RunState | null>;
  /** Deletes a run that is not running, with its attempts and log lines. The answer for a running one is its state. */
  remove(id: number, only?: readonly RunState[] | null): Promise<"removed" | RunState | null>;

  /** The writes about batches. */
  readonly batches: BatchStore;

  // Jobs, queues and schedules.

  /**
   * Writes a worker's definitions of jobs, schedules and queue limits. Where live workers define a job differently, the
   * most recently started one wins. A job counts as seen for as long as the heartbeats of its worker say so; see
   * `WorkerFacts.coversJobs`.
   */
  syncJobs(sync: SyncRequest): Promise<SyncResult>;
  /**
   * Raises ready runs of a queue that have been due for longer than `patience` to the best priority that waits there:
   * at most `limit`, the oldest first. Returns their number.
   */
  raise(queue: string, patience: number, limit: number): Promise<number>;
  /**
   * Moves a run that was dispatched under a former name to the job of that name today. Returns false if the name is not
   * a former one.
   */
  adopt(id: number): Promise<boolean>;
  /** Returns a job by its name, or by a former name. */
  job(name: string): Promise<JobRecord | null>;
  /** Returns the names of all jobs that were defined or declared, and not pruned since. */
  jobNames(): Promise<string[]>;
  /** Pauses or resumes a job. Ticks that fall into the pause are skipped. Returns false if the job does not exist. */
  pauseJob(name: string, paused: boolean, note?: PauseNote): Promise<boolean>;
  /** Pauses a queue until a time, or until it is resumed (null). The queue need not exist yet. */
  pauseQueue(name: string, paused: boolean, until: number | null, note?: PauseNote): Promise<void>;
  /** Pauses or resumes a schedule, with the answer and the effect on ticks of `pauseJob`. */
  pauseSchedule(id: number, paused: boolean, note?: PauseNote): Promise<boolean>;
  /** Adds counts to the minutes of jobs, updates their last attempts, and adds to the rollups. */
  flush(minutes: JobMinute[], rollups?: RollupCount[]): Promise<void>;
  /**
   * Inserts the runs of due schedules and moves the marks of these schedules, in one transaction: each tick happens
   * once, also if several workers tick at the same time, and if the run is deleted later.
   */
  tick(request: TickRequest): Promise<TickResult>;

  // Workers.

  /** Records that a worker is alive. Returns what an operator has asked of it. */
  beat(worker: Heartbeat): Promise<WorkerRequest | null>;
  /** Returns the workers on a host that hold runs, alive or not. */
  busyWorkersOf(host: string): Promise<BusyWorker[]>;
  /** Records that a worker no longer defines its jobs: from now on its heartbeats do not stand for them. */
  releaseJobs(worker: string): Promise<void>;
  /**
   * Deletes a worker's row when it stops, and releases its jobs. Runs that it still holds are reaped once their leases
   * end.
   */
  leave(worker: string): Promise<void>;
  /** Calls back when another process may have dispatched or changed something. Returns a function that stops it. */
  watch(onChange: () => void): () => void;
  /** Whether `watch` is known to report runs that other processes dispatch: a worker need not poll often. */
  readonly isWatched: boolean;

  /**
   * Returns a reader whose statements, all together, have a time limit from now on. Rejects with QUERY_TIMED_OUT after
   * it, or with the reason of the signal.
   */
  limited(limits: ReadLimits): StoreReads;

  // Operators.

  /**
   * Asks a worker to pause or to stop; null: withdraws the request to pause. Returns null if there is no such worker,
   * `stopping` if it was asked to stop: then nothing is changed.
   */
  askWorker(
    worker: string,
    action: WorkerRequest["action"] | null,
    note?: PauseNote,
  ): Promise<"asked" | "stopping" | null>;
  /** Appends an action of an operator to the audit trail. Returns its time. */
  recordAction(entry: NewAuditEntry): Promise<number>;
  /** Mutes a group of failures, in place of an earlier mute of it. The group need not exist. */
  mute(mute: NewMute): Promise<void>;
  /** Ends a mute. Returns false if the group is not muted. */
  unmute(fingerprint: string): Promise<boolean>;
  /**
   * Reopens the rates that `slowDown()` of handlers has closed: of a job and all its keys, of one key, or of a queue.
   * Their starts still count. Returns the number of rates that were closed.
   */
  reopenRates(subject: RateSubject): Promise<number>;

  // Deleting.

  /** Deletes finished runs, jobs and workers that are no longer needed, in batches. Running runs are never deleted. */
  prune(request: PruneRequest): Promise<PruneReport>;
  /** Counts what `prune()` would delete now. */
  countPrunable(request: PruneRequest): Promise<PruneForecast>;
}

/** Streams of exchanges that a worker may have (note 35). */
export const EXCHANGE_STREAMS = 2;

/** A worker is shown as alive if it was seen within this time: three heartbeats, and some slack. */
export const WORKER_SEEN_WITHIN = 20_000;

/**
 * A worker without a heartbeat for this long is silent: one and a half intervals. Its runs are reaped if its process is
 * known to have ended. The silence is a second proof: clones of a virtual machine take each other for one host.
 */
export const WORKER_SILENT_AFTER = 7500;

/**
 * A worker that was not seen for this long is dead: its waiting ad hoc runs fail, and any worker may replace its
 * definitions. Neither is undone if the worker comes back.
 */
export const WORKER_DEAD_AFTER = 60_000;

/** The row of a worker that was last seen longer ago is deleted. */
export const WORKER_FORGOTTEN_AFTER: number = 10 * WORKER_DEAD_AFTER;
