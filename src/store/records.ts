import type { RunState } from "../run/states.ts";
import type { JobError } from "./job-errors.ts";
import type { LimitStatus, RateRecord } from "./limit-records.ts";
import type { MuteRecord } from "./operator-records.ts";
import type { Rate } from "./rate.ts";
import type { JobRates } from "./stored-limits.ts";
import type { WorkerRecord } from "./worker-records.ts";

export type { LimitStatus, RateRecord, RateSubject } from "./limit-records.ts";
export type { AuditRecord, MuteRecord, NewAuditEntry, NewMute } from "./operator-records.ts";
export type {
  BusyWorker,
  Heartbeat,
  WorkerActivity,
  WorkerFacts,
  WorkerRecord,
  WorkerRequest,
  WorkerRun,
} from "./worker-records.ts";

/** A job as the database has it: written by the workers that define it, read by producers that do not. */
export interface JobRecord {
  name: string;
  queue: string;
  priority: number;
  /** Most runs at once; 0: no limit. */
  limit: number;
  /** Most runs at once for each key; 0: no limit. */
  keyLimit: number;
  /** How many runs may start within a time; null or absent: no limit. */
  rates?: JobRates | null;
  cron: string | null;
  /** Differs whenever the definition differs. */
  fingerprint: string;
}

/** Since when something is paused, by whom and why, if that was given. */
export interface Pause {
  since: number;
  by: string | null;
  reason: string | null;
}

export type PauseNote = Omit<Pause, "since">;

/** A schedule as the database has it. */
export interface ScheduleRecord {
  id: number;
  job: string;
  cron: string;
  timezone: string;
  args: string | null;
  queue: string | null;
  lastTick: number | null;
  /** Null: the schedule has ended. */
  nextTick: number | null;
  /** Ticks that got no run. */
  missed: number;
  paused: boolean;
  pause: Pause | null;
}

/** A line that a handler logged. */
export interface LogRecord {
  /** Orders the lines of a run: the time in microseconds, made unique by adding 1. */
  position: number;
  attempt: number;
  /** UTC milliseconds. */
  at: number;
  message: string;
  /** JSON; null: none was given. */
  data: string | null;
}

/** A run as people look at it, finished or not. */
export interface RunRecord {
  id: number;
  name: string;
  queue: string;
  key: string | null;
  priority: number;
  state: RunState;
  runAt: number;
  args: string | null;
  attempts: number;
  crashes: number;
  /** Whether it crashed before and no other run is in its process. */
  isolated: boolean;
  /** Also of a run that is ready: the worker has claimed it and has not started it. */
  worker: string | null;
  /** The child process of the worker, as `number:pid`; null without a supervisor. */
  child: string | null;
  lockedUntil: number | null;
  startedAt: number | null;
  finishedAt: number | null;
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  progress: string | null;
  tags: string[];
  parentId: number | null;
  /** The run that this one repeats. */
  rerunOf: number | null;
  batchId: string | null;
  uniqueKey: string | null;
  /** The schedule whose tick made it. */
  scheduleId: number | null;
  scheduledFor: number | null;
  timeout: number | null;
  /** Retry policy of this run alone, as JSON; null: the job's policy. */
  retries: string | null;
  owner: string | null;
  cancelRequested: boolean;
  createdAt: number;
}

/** An attempt that failed, or did not finish. */
export interface AttemptRecord {
  attempt: number;
  /**
   * `crashed`: it was lost with its process, and counts as a crash. `lost`: it was, or may have been, lost with its
   * process, and counts for nothing. `released`: it was interrupted, by a shutdown or by the kill of its child process
   * because of another run, and counts for nothing.
   */
  outcome: "retried" | "failed" | "crashed" | "lost" | "released";
  worker: string | null;
  startedAt: number | null;
  finishedAt: number;
  error: string | null;
}

export interface JobStatus extends JobRecord {
  paused: boolean;
  pause: Pause | null;
  running: number;
  waiting: number;
  /** When an attempt last succeeded. */
  lastRun: number | null;
  /** When an attempt last failed or crashed. */
  lastFailure: number | null;
  lastError: string | null;
  /** The errors with which attempts have failed since the last success, the latest last. At most 8. */
  errors: JobError[];
  /** Failures since the last success. */
  fails: number;
  /** When a worker last defined the job; null: it was only declared. */
  seenAt: number | null;
  /** End of the lease that ends last among its running runs, and the worker that holds it. */
  leasedUntil: number | null;
  leasedBy: string | null;
  /** The earliest next tick of its schedules. */
  nextRun: number | null;
}

export interface QueueStatus {
  name: string;
  limit: number;
  /** How many of its runs may start within a time; null: no limit. */
  rate: Rate | null;
  /** Whether its lanes take turns. */
  fair: boolean;
  /** Longest that a run should wait behind more important ones, in milliseconds; null: no limit. */
  patience: number | null;
  paused: boolean;
  pausedUntil: number | null;
  pause: Pause | null;
  ready: number;
  /** Whether more of its runs are ready or due than were counted: `ready` and `due` are then lower bounds. */
  capped: boolean;
  scheduled: number;
  /** Of `scheduled`: runs that are due, and that no worker has made ready. */
  due: number;
  running: number;
  /** When the ready or due run that has waited longest was due. */
  oldest: number | null;
}

export interface Status {
  now: number;
  jobs: JobStatus[];
  queues: QueueStatus[];
  /** Limits that are defined, or that a job is under, by name. */
  limits: LimitStatus[];
  workers: WorkerRecord[];
  /** Schedules whose tick has been due for more than a few seconds; at most 100. */
  late: LateSchedule[];
  /** Workers that hold runs without a sign of life. */
  silent: SilentWorker[];
  /** Runs whose lease ended a while ago and that no worker has reaped. */
  expired: number;
  isolated: IsolatedRun[];
  /** Groups of failures that are muted now. */
  mutes: MuteRecord[];
  /** Whether more runs wait than were counted: the counts of waiting runs are lower bounds. */
  capped: boolean;
}

/** The last heartbeat of a worker; null: its row is gone, because it left or has been dead for minutes. */
export type LastHeartbeat = Pick<WorkerRecord, "host" | "pid" | "seenAt"> | null;

/**
 * A worker that holds runs and has sent no heartbeat for some time: it was killed, is frozen, or cannot reach the
 * database.
 */
export interface SilentWorker {
  id: string;
  trace: LastHeartbeat;
  /** Number of runs that it holds. */
  runs: number;
  jobs: string[];
  /** The run among them whose lease ends last, and that lease's end. */
  last: { id: number; name: string };
  leasedUntil: number;
}

/** A claimed run that crashed before, and that a worker executes alone in a process. */
export interface IsolatedRun {
  id: number;
  name: string;
  worker: string;
  /** The child process, as `number:pid`; null: the worker's own process, or the run has not started. */
  child: string | null;
  /** Null: the run waits until other runs have left the process. */
  startedAt: number | null;
}

/** A schedule whose tick is overdue. */
export interface LateSchedule {
  id: number;
  job: string;
  nextTick: number;
}

/** A hook, filter or schema of a running run that has not returned for some seconds. */
export interface SlowHook {
  name: string;
  since: number;
  /** Milliseconds after which the worker stops waiting for it. */
  limit: number;
}

/** The slots of a limit that are in use: the runs of a chain use one. */
export interface SlotUsage {
  slots: number;
  /** Some runs that use them, of a chain the one that is executed, and the workers that hold these runs. */
  holders: { id: number; worker: LastHeartbeat }[];
}

/** Everything that `why()` needs to explain a run. */
export interface WaitFacts {
  now: number;
  run: RunRecord;
  /** Whether the run's key has been computed. */
  keyed: boolean;
  job: {
    limit: number;
    keyLimit: number;
    /** Whether the job has a rate per key. */
    hasKeyRate?: boolean;
    paused: boolean;
    pause: Pause | null;
    seenAt: number | null;
  } | null;
  queue:
    | (Pick<QueueStatus, "limit" | "paused" | "pausedUntil" | "pause"> & Partial<Pick<QueueStatus, "fair">>)
    | null;
  runningOfJob: SlotUsage;
  runningOfLane: SlotUsage;
  runningOfQueue: SlotUsage;
  /** The named limit that its job is under; null or absent: none. */
  named?: NamedFacts | null;
  /** The run of a chain that its worker executes before it; null: it is in no chain, or first in it. */
  behind: number | null;
  /** The rates that it is under. */
  rates?: RateRecord[];
  /** Ready runs of the same queue that are claimed before it, counted up to 1,000. */
  ahead: number;
  workers: WorkerRecord[];
  /** The worker that holds the run, alive or not; null also if no worker holds it. */
  holder: LastHeartbeat;
  isolated: IsolatedRun[];
  slowHook: SlowHook | null;
  ownerAlive: boolean;
}

/** A named limit, as far as it concerns one run. */
export interface NamedFacts {
  name: string;
  /** Most runs at once; 0: no limit. Null: no process has defined the limit. */
  limit: number | null;
  /** Cost of the start of the run; null: it is not computed yet. */
  cost: number | null;
  running: SlotUsage;
}

/**
 * `ended`: this call has cancelled the run. `requested`: the run is running, and its worker will abort it. A state: the
 * run is left as it is, since it has finished, also if it had been cancelled, or is in none of the states asked for.
 * Null: no such run.
 */
export type CancelAnswer = "ended" | "requested" | RunState | null;

/** The run of a tick. */
export interface TickRecord {
  scheduleId: number;
  /** Id of the run. */
  id: number;
  state: RunState;
  scheduledFor: number;
  startedAt: number | null;
  finishedAt: number | null;
}

/** Failed runs of one job with the same error, in one hour. */
export interface FailureCount {
  fingerprint: string | null;
  job: string;
  /** Start of the hour, in UTC. */
  hour: number;
  count: number;
  first: number;
  last: number;
  /** The newest run. */
  sample: number;
}

/** The newest failed runs, grouped. */
export interface FailureCounts {
  counts: FailureCount[];
  /** Whether older failed runs were not read. */
  capped: boolean;
}

/** Fields whose distinct values a store can list. */
export type ValueField = "job" | "queue" | "tag" | "worker" | "errortype";
