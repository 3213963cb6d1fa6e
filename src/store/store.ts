import type { RunState } from "../run/states.ts";
import type { SyncRequest, TickRequest, TickResult } from "./definitions.ts";
import type {
  Inspection,
  InstallReport,
  MissingObject,
  PruneForecast,
  PruneReport,
  PruneRequest,
} from "./maintenance.ts";
import type {
  AttemptRecord,
  CancelAnswer,
  JobRecord,
  LogRecord,
  PauseNote,
  RunRecord,
  ScheduleRecord,
  Status,
  WaitFacts,
  WorkerRecord,
} from "./records.ts";
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
  Settlement,
} from "./runs.ts";
import type { RunCondition, RunCount, RunPage, RunSearch } from "./search.ts";

export type { JobDetails, SyncRequest } from "./definitions.ts";
export * from "./runs.ts";

export type DatabaseName = "sqlite" | "postgres" | "mysql" | "mariadb";

/**
 * The contract that every database fulfils, proven by `test/conformance`.
 *
 * "Now" is the database's time, or the clock's when a test moves it. Every write about a claimed run is fenced: it
 * happens only while the run is running under the token given.
 */
export interface Store {
  readonly database: DatabaseName;

  /** Brings the schema up to date, safe from several processes at once. With `dryRun` it only tells the statements. */
  install(options?: { dryRun?: boolean }): Promise<InstallReport>;
  /** Refuses a schema that is missing, or newer than this code. */
  verify(): Promise<void>;
  /** What the database says of itself, for diagnoses; tables that are missing or of another version are told, not refused. */
  inspect(): Promise<Inspection>;
  /** Makes an index or a view that is missing, without holding up others where the database can do so. */
  restore(missing: MissingObject): Promise<void>;
  /** Deletes the rows of workers that died long ago, as `prune()` does; gives how many there were. */
  forgetWorkers(): Promise<number>;
  close(): Promise<void>;
  now(): Promise<number>;

  /** Inserts all or none, in order. In `tx`, the caller's own transaction, they exist when it commits. */
  insert(runs: NewRun[], tx?: unknown): Promise<InsertResult[]>;
  /** Writes outcomes, then claims: what was settled has freed its slots before the claim looks. */
  exchange(request: ExchangeRequest): Promise<ExchangeResult>;
  /** Prolongs leases, and never waits for a row that another transaction has locked. */
  renew(worker: string, renewals: Renewal[]): Promise<RenewalResult>;
  /**
   * Marks one run as started before its handler runs: a crash from here on is charged to it. `isolated`: no other run is
   * in its process. Called again with false before others are admitted.
   */
  start(lease: Lease, isolated: boolean): Promise<boolean>;
  /** Keeps how far a run has come, as JSON; false: the lease is lost. */
  progress(lease: Lease, progress: string): Promise<boolean>;
  /** Names a hook, filter or schema of a run that has not settled for some time; null: it has. False: the lease is lost. */
  slowHook(lease: Lease, slow: { name: string; elapsed: number; limit: number } | null): Promise<boolean>;
  /**
   * Writes lines that handlers logged; those that are there already, or whose run is not, are left out. Not fenced: a
   * try that lost its lease has said what it said.
   */
  log(lines: NewLogLine[]): Promise<void>;
  /** Runs `work` and writes the settlement in one transaction; false and nothing of either if the lease is lost. */
  transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean>;
  /** Takes back runs whose lease has ended, at most `limit`. */
  reap(limit: number, cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]>;
  /** Takes back runs that were lost with a child process, each charged with a crash; those no longer held are left alone. */
  takeBack(leases: Lease[], cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]>;
  /** Fails ad hoc runs that wait for an owner which is gone. `self` asks, so it is alive, however long ago it was seen. */
  reapOwnerless(self: string, error: string, keep: number | null): Promise<number[]>;
  /** Fails the waiting ad hoc runs of this owner. */
  disown(owner: string, error: string, keep: number | null): Promise<number[]>;

  /** `requested`: it is running, and its worker will be told. With `force` it ends at once, and its lease with it. */
  cancel(id: number, keep: number | null, force?: boolean): Promise<CancelAnswer>;
  /** Moves a run that nobody has claimed; otherwise says what state it is in. */
  move(id: number, runAt: number): Promise<"moved" | RunState | null>;
  /** Brings a finished run back under its own id, with all its attempts before it; due now unless a time is given. */
  revive(id: number, runAt?: number | null): Promise<"revived" | RunState | null>;
  /** Deletes a run that is not running. */
  remove(id: number): Promise<"removed" | RunState | null>;

  /** Shows what a worker defines. Of several workers alive the latest started has the say. */
  syncJobs(sync: SyncRequest): Promise<void>;
  /** Makes names known that are dispatched here and defined elsewhere. */
  declareJobs(names: string[], queue: string, priority: number): Promise<void>;
  /** Moves a run that was dispatched under a former name to the job that has the name now; false: its name is none. */
  adopt(id: number): Promise<boolean>;
  /** By its name, or by a former one. */
  job(name: string): Promise<JobRecord | null>;
  /** Every job that was ever shown or declared, and not pruned. */
  jobNames(): Promise<string[]>;
  /** False: there is no such job. Ticks that fall into a pause are not missed. */
  pauseJob(name: string, paused: boolean, note?: PauseNote): Promise<boolean>;
  /** Until a time, or until it is resumed. The queue need not be known. */
  pauseQueue(name: string, paused: boolean, until: number | null, note?: PauseNote): Promise<void>;
  /** Adds to the counts by the minute and to what jobs say of their last tries. May count twice if its answer is lost. */
  flush(tallies: JobMinute[]): Promise<void>;

  /**
   * Makes the runs of due schedules. A schedule's mark moves in the transaction that inserts them, so a tick happens
   * once, whoever asks and however late, and whatever becomes of its run.
   */
  tick(request: TickRequest): Promise<TickResult>;
  schedules(): Promise<ScheduleRecord[]>;
  /** False: there is no such schedule. Ticks that fall into a pause are not missed. */
  pauseSchedule(id: number, paused: boolean, note?: PauseNote): Promise<boolean>;

  beat(worker: Omit<WorkerRecord, "seenAt">): Promise<void>;
  /** Takes a worker out of those alive; what it still holds stays its own until the leases end. */
  leave(worker: string): Promise<void>;

  find(id: number): Promise<RunRecord | null>;
  /** Tries that failed or were lost, the first one first. */
  attempts(id: number): Promise<AttemptRecord[]>;
  /** The lines that its tries logged, in order, after a position. */
  logs(id: number, after: number, limit: number): Promise<LogRecord[]>;
  countLogs(id: number): Promise<number>;
  /** The newest first. One call reads a bounded number of rows, however many there are. */
  search(search: RunSearch): Promise<RunPage>;
  /** How many runs a search would find, up to `cap`. */
  count(where: RunCondition[], cap: number): Promise<RunCount>;
  /** Its cost is bounded however many runs wait: from some number on they are not counted. */
  status(): Promise<Status>;
  waitFacts(id: number): Promise<WaitFacts | null>;

  /** Deletes in batches, and lets others have their turn between them. Nothing that is running. */
  prune(request: PruneRequest): Promise<PruneReport>;
  countPrunable(request: PruneRequest): Promise<PruneForecast>;

  /** Calls back when another process may have changed something; returns how to stop. */
  watch(onChange: () => void): () => void;
}

/** A worker counts as alive for people when it was seen within this time: three heartbeats, and some slack. */
export const WORKER_SEEN_WITHIN = 20_000;

/** A worker that has not been seen for this long loses its functions, and its say about definitions. Neither comes back. */
export const WORKER_DEAD_AFTER = 60_000;
