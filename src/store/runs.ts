import type { Outcome } from "../run/states.ts";
import type { QueueSelection } from "./queue-selection.ts";
import type { LogRecord } from "./records.ts";

/** A run to be inserted. Times are UTC milliseconds, durations milliseconds. */
export interface NewRun {
  name: string;
  queue: string;
  /** What the run queues in under limits: its job, or job and key (`run/lanes.ts`). */
  lane: string;
  priority: number;
  /** When it is due; null: `delay` from the database's now. */
  runAt: number | null;
  delay: number;
  args: string | null;
  timeout: number | null;
  /** The retry policy of this run alone, as JSON; null: its job's. */
  retries: string | null;
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

export interface InsertResult {
  id: number;
  /** False: the unique key was held, and `id` is the run that holds it. */
  inserted: boolean;
}

/** The right to settle a run: nobody else has this token, and it is worth nothing once the run was given to another. */
export interface Lease {
  id: number;
  token: string;
  /** The child process of the worker that has the run, as `number:pid`; null: the worker itself. */
  child?: string | null;
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
  retries: string | null;
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
  /** Claimed only for its key to be computed: its job has a limit per key, and its producer could not compute the key. */
  unkeyed: boolean;
  /** How many lines were logged under this attempt's number: by tries that were given back, then by this one. */
  logged: number;
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
  /** Lines logged under this attempt's number: where the run is not kept, they go with it. */
  logged: number;
  /** released: the lane of a run whose key was computed. */
  lane?: string;
}

/** A line that a handler logged. */
export interface NewLogLine extends LogRecord {
  runId: number;
}

export interface ClaimRequest extends QueueSelection {
  /** New for each claim; a claim sent again under the same token gives the same runs. */
  token: string;
  limit: number;
  /** How many of them start at once. */
  start: number;
  /** How many of them may be under limits, the first ones: those start at once, or next. */
  limited: number;
  /**
   * How many of them may have crashed before: as many as the claimer can isolate now. A claim that leaves crashed runs
   * ready may bring fewer runs than there are; a claim with 0 looks past them.
   */
  crashed: number;
  /** How far a queue's next run stands behind its last: the nearest comes first. Null: one order for all queues. */
  stride: ((queue: string) => number) | null;
  /** Jobs that the database knows and this process does not define. */
  exclude: string[];
  /** Whether this process can compute the keys of a job's runs. */
  computesKey(name: string): boolean;
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
  /** Runs that have started and were not told of: claimed ahead, or given to a child process since. */
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

/** What became of leases that were to be prolonged, by the ids of their runs. A run in neither set is lost. */
export interface RenewalResult {
  held: Set<number>;
  /** Still under its token, but another transaction has locked the row: the lease was not prolonged. */
  locked: Set<number>;
  /** Runs of this worker that somebody asked to cancel. */
  cancelled: number[];
}

/** What happened to a job since the last flush. Flushed in groups, so that the settle never touches the job's row. */
export interface JobMinute {
  name: string;
  minute: number;
  counts: Partial<Record<Outcome | "dispatched" | "crashed", number>>;
  /** Sum of durations of finished tries. */
  busy: number;
  /** When the last try succeeded. */
  lastRun: number | null;
  /** When the last try failed or was lost in a crash. */
  lastFailure: number | null;
  /** Null: no try ended. `ok`: one succeeded; `failed` counts the failures since then, `error` is the last one's. */
  last: { ok: boolean; failed: number; error: string | null } | null;
}

export interface ReapedRun {
  id: number;
  name: string;
  queue: string;
  /** The number of the try that was lost. */
  attempt: number;
  /** From its start until now; 0: it had not started. */
  duration: number;
  worker: string | null;
  /** ready: runs again; failed: too many crashes; cancelled: somebody had asked for it. */
  state: "ready" | "failed" | "cancelled";
  /** False when the try had not begun and was given back. */
  crashed: boolean;
  /** The run that its crashes have ended as failed, for its hooks; null: it was not ended by them. */
  ended: ClaimedRun | null;
}

/** The number of crashes that ends a run. */
export interface CrashCap {
  /** When it was alone in its process the last time: nothing else can have caused that crash. */
  isolated: number;
  /** When it had neighbours. */
  shared: number;
}

/** Whether a worker isolates a run. Not a function of one process: that process has survived the crash. */
export function hasCrashed({ crashes, owner }: { crashes: number; owner: string | null }): boolean {
  return crashes > 0 && owner === null;
}
