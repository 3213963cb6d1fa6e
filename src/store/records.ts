import type { FinishedState, RunState } from "../run/states.ts";
import type { QueueSelection } from "./queue-selection.ts";

/** A job as the database has it: written by the workers that define it, read by producers that do not. */
export interface JobRecord {
  name: string;
  queue: string;
  priority: number;
  /** Most runs at once; 0: no limit. */
  limit: number;
  /** Most runs at once for each key; 0: no limit. */
  keyLimit: number;
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

/** A worker as it describes itself in its heartbeats. */
export interface WorkerRecord extends QueueSelection {
  id: string;
  host: string;
  pid: number;
  /** Most runs at once. */
  parallel: number;
  /** Shares of the queues; a queue that is not named has weight 1. Null: only priorities decide. */
  weights: Record<string, number> | null;
  /** Whether it ticks schedules. */
  schedules: boolean;
  startedAt: number;
  /** Time of the last heartbeat. */
  seenAt: number;
  /** Null: the worker runs older code, or only dispatches. */
  facts?: WorkerFacts | null;
}

/** Figures of a worker's process at its last heartbeat. */
export interface WorkerFacts {
  /** Version of this package. */
  version: string;
  /** Resident memory of the process, in bytes. */
  memory: number;
  /** Fraction of the time since the heartbeat before in which the event loop was busy, from 0 to 1. */
  load: number;
  /** Duration of one turn of the event loop, in milliseconds. */
  lag: number;
  /** Child processes of `supervise()`. */
  children: { number: number; pid: number; state: string; running: number; memory: number | null }[];
}

/** A run that a worker executes now. */
export interface WorkerRun {
  worker: string;
  id: number;
  name: string;
  queue: string;
  attempt: number;
  /** The child process, as `number:pid`; null: the worker's own process. */
  child: string | null;
  startedAt: number;
  progress: string | null;
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

export interface AttemptRecord {
  attempt: number;
  outcome: "retried" | "failed" | "crashed";
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
  paused: boolean;
  pausedUntil: number | null;
  pause: Pause | null;
  ready: number;
  /** Whether more of its runs are ready than were counted: `ready` is then a lower bound. */
  capped: boolean;
  scheduled: number;
  running: number;
  /** When the ready run that has waited longest was due. */
  oldest: number | null;
}

export interface Status {
  now: number;
  jobs: JobStatus[];
  queues: QueueStatus[];
  workers: WorkerRecord[];
  /** Schedules whose tick has been due for more than a few seconds; at most 100. */
  late: LateSchedule[];
  /** Workers that hold runs without a sign of life. */
  silent: SilentWorker[];
  /** Runs whose lease ended a while ago and that no worker has reaped. */
  expired: number;
  isolated: IsolatedRun[];
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
    paused: boolean;
    pause: Pause | null;
    seenAt: number | null;
  } | null;
  queue: { limit: number; paused: boolean; pausedUntil: number | null; pause: Pause | null } | null;
  runningOfJob: SlotUsage;
  runningOfLane: SlotUsage;
  runningOfQueue: SlotUsage;
  /** The run of a chain that its worker executes before it; null: it is in no chain, or first in it. */
  behind: number | null;
  /** Ready runs of the same queue that are claimed before it, counted up to 1,000. */
  ahead: number;
  workers: WorkerRecord[];
  /** The worker that holds the run, alive or not; null also if no worker holds it. */
  holder: LastHeartbeat;
  isolated: IsolatedRun[];
  slowHook: SlowHook | null;
  ownerAlive: boolean;
}

/**
 * `ended`: this call has cancelled the run. `requested`: the run is running, and its worker will abort it. A finished
 * state: the run had ended before, also if it had been cancelled. Null: no such run.
 */
export type CancelAnswer = "ended" | "requested" | FinishedState | null;

/** An action of an operator to record. */
export interface NewAuditEntry {
  /** Null: unknown. */
  user: string | null;
  role: string | null;
  /** Such as `run.retry`. */
  action: string;
  /** The run, job, queue, schedule or query that it concerned. */
  target: string;
  /** JSON; null: none. */
  details: string | null;
  /** Such as `dashboard` or `cli`. */
  source: string;
}

/** An action of an operator. */
export interface AuditRecord extends NewAuditEntry {
  id: number;
  at: number;
}

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
