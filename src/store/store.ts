import type { FinishedState, Outcome, RunState } from "../run/states.ts";
import type {
  AttemptRecord,
  JobRow,
  RunFilter,
  RunRecord,
  ScheduleRow,
  Status,
  WaitFacts,
  WorkerRow,
} from "./records.ts";

export type DatabaseName = "sqlite" | "postgres" | "mysql" | "mariadb";

/** A run to be inserted. Times are UTC milliseconds, durations milliseconds. */
export interface NewRun {
  name: string;
  queue: string;
  /** What the run queues in under limits: its job, or job and key. */
  lane: string;
  /** Whether any limit may apply, so that runs without one never wait behind runs with one. */
  limited: boolean;
  priority: number;
  /** When it is due; null: `delay` from the database's now. */
  runAt: number | null;
  delay: number;
  args: string | null;
  timeout: number | null;
  unique: { key: string; until: "started" | "finished"; for: number } | null;
  /** The instance that alone can run it (ad hoc). */
  owner: string | null;
  tags: string[];
  parentId: number | null;
  batchId: string | null;
  /** Not started this long after dispatch: skipped. */
  expires: number | null;
  traceparent: string | null;
}

export interface Inserted {
  id: number;
  /** False: the unique key was held, and `id` is the run that holds it. */
  inserted: boolean;
}

/** The right to settle a run: nobody else has this token, and it is worth nothing once the run was given to another. */
export interface Lease {
  id: number;
  token: string;
}

/** A run as its claimer gets it. */
export interface ClaimedRun extends Lease {
  name: string;
  queue: string;
  lane: string;
  limited: boolean;
  priority: number;
  runAt: number;
  args: string | null;
  /** This try counted in. */
  attempts: number;
  crashes: number;
  timeout: number | null;
  owner: string | null;
  tags: string[];
  parentId: number | null;
  batchId: string | null;
  expiresAt: number | null;
  traceparent: string | null;
  schedule: number | null;
  tickAt: number | null;
  createdAt: number;
  claimedAt: number;
  /** Marked as started by the claim itself; otherwise it waits in the claimer's buffer. */
  started: boolean;
}

/** The outcome of one attempt, to be written only while its lease is held. */
export interface Settlement extends Lease {
  outcome: Outcome;
  /** How long the try took. */
  duration: number;
  /** retried, snoozed: how long to wait. */
  delay: number;
  /** failed, retried: the failure; skipped, cancelled: the reason. */
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  /** How long history keeps it: null for ever, 0 not at all. */
  keep: number | null;
}

export interface ClaimRequest {
  /** New for each claim; a claim sent again under the same token gives the same runs. */
  token: string;
  limit: number;
  /** How many of them start at once. Runs under a limit are never claimed beyond this. */
  start: number;
  /** Null: every queue. */
  queues: string[] | null;
  /** Jobs that the database knows and this process does not define. */
  exclude: string[];
  owner: string;
  lease: number;
  /** Leases that differ from `lease`, by job. */
  leases: Record<string, number>;
}

export interface ExchangeRequest {
  worker: string;
  /** Counts up with each exchange of this worker that settles. */
  seq: number;
  /** The same exchange was sent before and its answer was lost. */
  again: boolean;
  settle: Settlement[];
  /** Runs that had been claimed ahead and have started since. */
  started: Lease[];
  claim: ClaimRequest | null;
}

export interface ExchangeResult {
  /** One for each settlement, in order. False: the lease was lost, nothing was written. */
  settled: boolean[];
  claimed: ClaimedRun[];
  /** When the next scheduled run is due; null when there is none. */
  nextDue: number | null;
  /** Runs of this worker that somebody asked to cancel. */
  cancelled: number[];
}

export interface Renewal extends Lease {
  lease: number;
}

export interface ReapedRun {
  id: number;
  name: string;
  worker: string | null;
  /** ready: runs again; failed: too many crashes; cancelled: somebody had asked for it. */
  state: "ready" | "failed" | "cancelled";
  /** False when the try had not begun and was given back. */
  crashed: boolean;
}

/** A schedule as a definition says it. */
export interface ScheduleSync {
  /** Stays the same while the schedule changes; the job's own one has an empty slot. */
  slot: string;
  cron: string;
  timezone: string;
  args: string | null;
  queue: string | null;
  /** Changes with whatever decides when it ticks. */
  fingerprint: string;
  next(after: number): number | null;
}

/** A schedule whose next tick has come. */
export interface DueSchedule {
  id: number;
  job: string;
  slot: string;
  /** Of the definition that has the say. */
  jobFingerprint: string;
  nextTick: number;
  /** Ticks up to here fell into a pause. */
  resumedAt: number | null;
  /** A run of an earlier tick has not started yet. */
  waiting: boolean;
}

/** The run that one tick asks for. */
export interface TickRun {
  name: string;
  queue: string;
  lane: string;
  limited: boolean;
  priority: number;
  args: string | null;
  tickAt: number;
}

export interface TickDecision {
  /** The new mark; null: it stays. */
  last: number | null;
  next: number | null;
  missed: number;
  runs: TickRun[];
}

export interface TickRequest {
  /** Jobs whose schedules are left alone. */
  exclude: string[];
  limit: number;
  /** Pure and synchronous: it is asked inside the transaction. Null: not ours to tick. */
  decide(schedule: DueSchedule, now: number): TickDecision | null;
}

export interface TickedSchedule {
  schedule: number;
  job: string;
  runs: { id: number; tickAt: number }[];
  missed: number;
}

export interface TickResult {
  ticked: TickedSchedule[];
  /** The soonest tick of the schedules that were not excluded. */
  nextTick: number | null;
}

export interface JobDetails extends Omit<JobRow, "name" | "fingerprint"> {
  schedules: ScheduleSync[];
}

export interface JobSync {
  worker: string;
  startedAt: number;
  jobs: {
    name: string;
    /** Changes with the details. */
    fingerprint: string;
    formerly: readonly string[];
    details(): JobDetails;
  }[];
  queues: { name: string; limit: number }[];
}

/** What happened to a job since the last flush. Flushed in groups, so that the settle never touches the job's row. */
export interface Tally {
  name: string;
  minute: number;
  counts: Partial<Record<Outcome | "dispatched" | "crashed", number>>;
  /** Sum of durations of finished tries. */
  busy: number;
  /** When the last try succeeded. */
  lastRun: number | null;
  /** Null: no try ended. `ok`: one succeeded; `failed` counts the failures since then, `error` is the last one's. */
  last: { ok: boolean; failed: number; error: string | null } | null;
}

export interface PruneRequest {
  /** Finished runs whose retention has ended; given a number, those finished longer ago than this as well. */
  finishedFor: number | null;
  /** Definitions that no worker has shown for this long, unless something of them is unfinished. */
  jobsUnseenFor: number | null;
  /** Waiting runs older than this whose job nobody has shown for this long. */
  orphansOlderThan: number | null;
  batch: number;
}

export interface PruneReport {
  history: number;
  jobs: number;
  orphans: number;
  workers: number;
}

export interface InstallReport {
  from: number;
  to: number;
  statements: string[];
}

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
  close(): Promise<void>;
  now(): Promise<number>;

  /** Inserts all or none, in order. In `tx`, the caller's own transaction, they exist when it commits. */
  insert(runs: NewRun[], tx?: unknown): Promise<Inserted[]>;
  /** Writes outcomes, then claims: what was settled has freed its slots before the claim looks. */
  exchange(request: ExchangeRequest): Promise<ExchangeResult>;
  /** Prolongs leases. A run that is not in `held` is lost. */
  renew(worker: string, renewals: Renewal[]): Promise<{ held: Set<number>; cancelled: number[] }>;
  /** Marks one run as started before its handler runs: a crash from here on is charged to it. */
  start(lease: Lease): Promise<boolean>;
  progress(lease: Lease, progress: string): Promise<boolean>;
  /** Runs `work` and writes the settlement in one transaction; false and nothing of either if the lease is lost. */
  transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean>;
  /** Takes back runs whose lease has ended, at most `limit`; so many crashes as `crashCap` says end a run. */
  reap(limit: number, crashCap: number, error: string, keep: number | null): Promise<ReapedRun[]>;
  /** Fails ad hoc runs that wait for an owner which is gone. */
  reapOwnerless(error: string, keep: number | null): Promise<number[]>;
  /** Fails the waiting ad hoc runs of this owner. */
  disown(owner: string, error: string, keep: number | null): Promise<number[]>;

  /** `requested`: it is running, and its worker will be told. */
  cancel(id: number, keep: number | null): Promise<"cancelled" | "requested" | FinishedState | null>;
  /** Moves a run that nobody has claimed; otherwise says what state it is in. */
  move(id: number, runAt: number): Promise<"moved" | RunState | null>;
  /** Brings a finished run back under its own id, with all its attempts before it. */
  revive(id: number): Promise<"revived" | RunState | null>;
  /** Deletes a run that is not running. */
  remove(id: number): Promise<"removed" | RunState | null>;

  syncJobs(sync: JobSync): Promise<void>;
  /** Makes names known that are dispatched here and defined elsewhere. */
  declareJobs(names: string[], queue: string, priority: number): Promise<void>;
  job(name: string): Promise<JobRow | null>;
  jobNames(): Promise<string[]>;
  pauseJob(name: string, paused: boolean): Promise<boolean>;
  pauseQueue(name: string, paused: boolean, until: number | null): Promise<void>;
  flush(tallies: Tally[]): Promise<void>;

  /**
   * Makes the runs of due schedules. A schedule's mark moves in the transaction that inserts them, so a tick happens
   * once, whoever asks and however late, and whatever becomes of its run.
   */
  tick(request: TickRequest): Promise<TickResult>;
  schedules(): Promise<ScheduleRow[]>;
  /** False: there is no such schedule. Ticks that fall into a pause are not missed. */
  pauseSchedule(id: number, paused: boolean): Promise<boolean>;

  beat(worker: Omit<WorkerRow, "seenAt">): Promise<void>;
  leave(worker: string): Promise<void>;

  find(id: number): Promise<RunRecord | null>;
  attempts(id: number): Promise<AttemptRecord[]>;
  list(filter: RunFilter): Promise<RunRecord[]>;
  status(): Promise<Status>;
  waitFacts(id: number): Promise<WaitFacts | null>;

  prune(request: PruneRequest): Promise<PruneReport>;

  /** Calls back when another process may have changed something; returns how to stop. */
  watch(onChange: () => void): () => void;
}

/** A worker that has not been seen for this long is taken for dead. */
export const WORKER_DEAD_AFTER = 60_000;
