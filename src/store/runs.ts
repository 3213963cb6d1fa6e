import type { Rotation } from "../run/rotation.ts";
import type { Outcome } from "../run/states.ts";
import type { JobError } from "./job-errors.ts";
import type { QueueSelection } from "./queue-selection.ts";
import type { JobRecord, LogRecord, RunRecord } from "./records.ts";

/** Settings in the row of a job until a worker defines the job. */
export type DeclaredJob = Pick<JobRecord, "queue" | "priority" | "limit" | "keyLimit">;

/** A run to insert. */
export interface NewRun {
  name: string;
  /** Written if the job has no row yet. */
  job: DeclaredJob;
  queue: string;
  /** The job's name, or name and key: runs of one lane share the limits per job and per key (`run/lanes.ts`). */
  lane: string;
  /** Lower numbers are claimed first. */
  priority: number;
  /** When the run is due; null: `delay` after the database's now. */
  runAt: number | null;
  delay: number;
  args: string | null;
  timeout: number | null;
  /** Retry policy of this run alone, as JSON; null: the job's policy. */
  retries: string | null;
  /** Key that no other run may hold until this one has started or finished, and for at least `for` ms. */
  unique: { key: string; until: "started" | "finished"; for: number } | null;
  /** The only instance that can execute the run (ad hoc); null: any worker that defines the job. */
  owner: string | null;
  tags: string[];
  parentId: number | null;
  /** The run that this one repeats; null or absent: none. */
  rerunOf?: number | null;
  batchId: string | null;
  /** How long after the dispatch the run may still start; later it is skipped. Null: always. */
  expires: number | null;
  traceparent: string | null;
  /** Cost of its start under a named limit; null or absent: not computed, or the job has no function for it. */
  cost?: number | null;
}

export interface InsertResult {
  /** The new run, or the run that holds the unique key. */
  id: number;
  /** False: the unique key was held, and nothing was inserted. */
  inserted: boolean;
}

/** The right to write about a running run. It is lost when the run is settled, reaped or claimed again. */
export interface Lease {
  id: number;
  /** Chosen by the claim; no other claim has the same. The runs of a chain have one of their own. */
  token: string;
  /** The child process that executes the run, as `number:pid`; null: the worker's own process. */
  child?: string | null;
}

/** A run as its claimer gets it. */
export interface ClaimedRun extends Lease {
  name: string;
  queue: string;
  lane: string;
  /** Whether the run is under a limit. */
  limited: boolean;
  priority: number;
  runAt: number;
  args: string | null;
  /** Number of this attempt, from 1. No other execution of the run has it. */
  attempts: number;
  crashes: number;
  /** Number of earlier attempts that do not count towards the maximum of the retry policy, without crashes. */
  uncounted: number;
  /**
   * Whether a worker died that may have been executing the run. Its start must be written before its handler is called,
   * so that the next crash is charged to it if it caused that one (note 46).
   */
  suspect: boolean;
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
  /** Whether the claim marked the run as started; a prefetched run is marked later. */
  started: boolean;
  /** Claimed only to compute its key, or the cost of its start, which the producer could not compute. */
  unkeyed: boolean;
  /** Whether the start of the run counts towards a rate. */
  rated: boolean;
  /** The stream that claimed the run, which settles it as well. The worker sets it. */
  stream?: number;
  /** Log lines of this attempt, and of those before it since the last one that counted. */
  logged: number;
}

/** The outcome of one attempt. */
export interface Settlement extends Lease {
  outcome: Outcome;
  /** How long the attempt took. */
  duration: number;
  /** retried, snoozed: how long the run waits. */
  delay: number;
  /** failed, retried: the failure, as JSON. skipped, cancelled: the reason. released: what interrupted the handler. */
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  /**
   * How long history keeps the run; null: for ever, 0: not at all. A run that would wait again ends as cancelled if
   * somebody has cancelled it, and is kept as long as this says.
   */
  keep: number | null;
  /** Log lines of this attempt. They are deleted with the run if history does not keep it. */
  logged: number;
  /** released: the lane with the key that was computed. */
  lane?: string;
  /** released: what the start of the run costs, if that was computed. */
  cost?: number;
  /** The run's `batchId`: the transaction that ends a member of a batch counts it. */
  batchId?: string | null;
  /** snoozed: how long to close the most specific rate that the run is under, in milliseconds. */
  slowDown?: number;
  /** released: whether the handler was called, so that the next attempt gets another number. */
  executed?: boolean;
}

/** A log line to append. */
export interface NewLogLine extends LogRecord {
  runId: number;
}

export interface ClaimRequest extends QueueSelection {
  /**
   * Whether runs were announced: the store may claim some before it looks at anything else. Its answer is then partial.
   */
  immediate: boolean;
  /** New for each claim. A claim that is sent again under the same token returns the same runs. */
  token: string;
  /** Most runs to claim. */
  limit: number;
  /** How many of them the worker starts at once; the others are prefetched. */
  start: number;
  /** How many of the first runs may be under limits: a prefetched run would occupy its slot without running. */
  limited: number;
  /**
   * How many runs of a job the claim may take along with one that fits under their limits. They form a chain, which
   * occupies one slot: they share a token, and the worker starts each when the one before it has returned.
   */
  behind(name: string): number;
  /** How many ready runs under limits the claim reads of each queue, in order: it finds the runs of chains there. */
  window: number;
  /**
   * How many runs may have crashed before: as many as the worker can isolate now. A claim that leaves crashed runs
   * ready may return fewer runs than are ready; a claim with 0 looks past them.
   */
  crashed: number;
  /**
   * Distance from a queue's last run to its next one in the claim's order, for shares by weight; null: queues have no
   * shares.
   */
  stride: ((queue: string) => number) | null;
  /** Order of the lanes in fair queues; null or absent: no queue is fair. The claim records in it what it took. */
  rotation?: Rotation | null;
  /** Jobs in the database that this process does not define. */
  exclude: string[];
  /** Whether this process can compute the keys of a job's runs. */
  computesKey(name: string): boolean;
  /** Whether this process can compute what the start of a job's runs costs under its named limit. */
  computesCost(name: string): boolean;
  /** The instance whose ad hoc runs may be claimed. */
  owner: string;
  /** Length of the leases, in milliseconds. */
  lease: number;
  /** Lengths for jobs whose leases differ, by job name. */
  leases: Record<string, number>;
}

export interface ExchangeRequest {
  worker: string;
  /**
   * The worker's stream to which the exchange belongs, below `EXCHANGE_STREAMS`. The exchanges of one stream follow
   * one another; those of two streams may be under way at the same time, if they concern different runs.
   */
  stream: number;
  /** Number of the exchange, ascending with each exchange of this stream that settles. */
  seq: number;
  /** Whether this exchange was sent before and its answer was lost. */
  again: boolean;
  settle: Settlement[];
  /** Runs that started since they were claimed: prefetched, or given to a child process. */
  started: Lease[];
  claim: ClaimRequest | null;
}

/** Names of everything that is paused. A claim takes only ad hoc runs of these jobs and queues. */
export interface PausedNames {
  jobs: string[];
  queues: string[];
}

export interface ExchangeResult {
  /** Whether the answer has claimed runs only; the next exchange returns the rest. */
  isPartial?: boolean;
  /**
   * For each settlement, in order: whether it was written. False: the lease is lost. `"cancelled"`: the run was to wait
   * again, and ended because it was cancelled meanwhile. An exchange that is repeated because its answer was lost
   * returns true instead.
   */
  settled: (boolean | "cancelled")[];
  claimed: ClaimedRun[];
  /** When the next scheduled run is due; null: none is scheduled. */
  nextDue: number | null;
  /** Running runs of this worker that someone asked to cancel. */
  cancelled: number[];
  /** Absent if the answer is partial. */
  paused?: PausedNames;
}

export interface Renewal extends Lease {
  /** New length of the lease, from now. */
  lease: number;
}

/** The leases after a renewal, by run id. A lease in neither set is lost. */
export interface RenewalResult {
  held: Set<number>;
  /** Leases that are held but were not prolonged: another transaction has locked the run. */
  locked: Set<number>;
  /** Running runs of this worker that someone asked to cancel. */
  cancelled: number[];
}

/** Counts of a job in one minute. Workers flush them together, so that a settlement never touches the job's row. */
export interface JobMinute {
  name: string;
  /** UTC minutes since 1970. */
  minute: number;
  counts: Partial<Record<Outcome | "dispatched" | "crashed", number>>;
  /** Sum of the durations of finished attempts. */
  busy: number;
  /** When the last attempt succeeded. */
  lastRun: number | null;
  /** When the last attempt failed or crashed. */
  lastFailure: number | null;
  /**
   * `ok`: an attempt succeeded. `failed`: failures since then; `error`: the last one; `errors`: each kind of error
   * once. Null: no attempt ended.
   */
  last: { ok: boolean; failed: number; error: string | null; errors: JobError[] } | null;
}

/** A run that was taken back from a worker. */
export interface ReapedRun {
  id: number;
  name: string;
  queue: string;
  /** Number of the attempt that was lost. */
  attempt: number;
  /** From the start until now; 0: the attempt had not started. */
  duration: number;
  worker: string | null;
  /** ready: the run waits again. failed: it crashed too often. cancelled: its cancellation was requested. */
  state: "ready" | "failed" | "cancelled";
  /** Whether the run is charged with the crash. False: it had not started, or one of several runs may have. */
  crashed: boolean;
  /** The run, for its hooks, if its crashes ended it as failed; otherwise null. */
  ended: ClaimedRun | null;
}

/** The number of crashes that ends a run. */
export interface CrashCap {
  /** For a run that was alone in its process at the last crash: no other run can have caused that crash. */
  isolated: number;
  /** For a run that shared its process with others. */
  shared: number;
}

/** Whether a worker must isolate the run. Ad hoc runs are exempt: their process is the same and survived the crash. */
export function hasCrashed({ crashes, owner }: { crashes: number; owner: string | null }): boolean {
  return crashes > 0 && owner === null;
}

/** How a finished run is retried. */
export interface Revival {
  /** When it is due; null: now. */
  runAt?: number | null;
  /** The run as the caller has read it. A run that has been retried since then is left as it is. */
  seen?: Pick<RunRecord, "state" | "attempts" | "finishedAt"> | undefined;
}
