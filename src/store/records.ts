import type { FinishedState, RunState } from "../run/states.ts";
import type { QueueSelection } from "./queue-selection.ts";

/** What a job's row says. Written by workers that define it, read by producers that do not. */
export interface JobRecord {
  name: string;
  queue: string;
  priority: number;
  limit: number;
  keyLimit: number;
  cron: string | null;
  fingerprint: string;
}

/** Who paused it and why, where they said so. */
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
  /** Null: it will not tick again. */
  nextTick: number | null;
  /** Ticks that no run was made for. */
  missed: number;
  paused: boolean;
  pause: Pause | null;
}

/** A worker as it shows itself. */
export interface WorkerRecord extends QueueSelection {
  id: string;
  host: string;
  pid: number;
  parallel: number;
  /** How its queues share it: those that are not named weigh 1. Null: by priority alone. */
  weights: Record<string, number> | null;
  /** Whether it ticks. */
  schedules: boolean;
  startedAt: number;
  seenAt: number;
}

/** A line that a handler logged. */
export interface LogRecord {
  /** Orders the lines of a run: the time in microseconds, one more where two fall together. */
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
  /** It crashed before, and no other run is in its process. */
  isolated: boolean;
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
  batchId: string | null;
  uniqueKey: string | null;
  scheduledFor: number | null;
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
  /** When a try last succeeded. */
  lastRun: number | null;
  /** When a try last failed or was lost in a crash. */
  lastFailure: number | null;
  lastError: string | null;
  fails: number;
  seenAt: number | null;
  /** Of its running runs the lease that ends last: until when, and the worker that has it. */
  leasedUntil: number | null;
  leasedBy: string | null;
  /** The next tick of its schedules. */
  nextRun: number | null;
}

export interface QueueStatus {
  name: string;
  limit: number;
  paused: boolean;
  pausedUntil: number | null;
  pause: Pause | null;
  ready: number;
  scheduled: number;
  running: number;
  /** When the first of its ready runs was due. */
  oldest: number | null;
}

export interface Status {
  now: number;
  jobs: JobStatus[];
  queues: QueueStatus[];
  workers: WorkerRecord[];
  /** Ticks that came more than a few seconds ago and that nobody has ticked, at most 100. */
  late: LateSchedule[];
  /** Workers that hold runs without a sign of life. */
  silent: SilentWorker[];
  /** Runs whose lease ended a while ago and that nobody took back. */
  expired: number;
  isolated: IsolatedRun[];
  /** More runs wait than were counted: counts of waiting runs are "at least". */
  capped: boolean;
}

/** The last trace of a worker; null: its row is gone, since it left or has been dead for minutes. */
export type Trace = Pick<WorkerRecord, "host" | "pid" | "seenAt"> | null;

/** A worker that holds runs and has sent no heartbeat for some time: it was killed, is frozen, or cannot reach the database. */
export interface SilentWorker {
  id: string;
  trace: Trace;
  /** How many runs it holds. */
  runs: number;
  jobs: string[];
  /** Of these runs the one whose lease ends last, and when it ends. */
  last: { id: number; name: string };
  leasedUntil: number;
}

/** A claimed run that crashed before, and for which a worker keeps others out of a process. */
export interface IsolatedRun {
  id: number;
  name: string;
  worker: string;
  /** The child process, as `number:pid`. Null: the worker's own, or the run has not started. */
  child: string | null;
  /** Null: other runs have to leave the process first. */
  startedAt: number | null;
}

/** A schedule whose next tick has passed. */
export interface LateSchedule {
  id: number;
  job: string;
  nextTick: number;
}

/** A hook, filter or schema of a running run that has not settled for some seconds. */
export interface SlowHook {
  name: string;
  since: number;
  /** Milliseconds after which it is not waited for any more. */
  limit: number;
}

/** What `why` needs to know about a run. */
export interface WaitFacts {
  now: number;
  run: RunRecord;
  /** Whether it is known which key it has. */
  keyed: boolean;
  job: {
    limit: number;
    keyLimit: number;
    paused: boolean;
    pause: Pause | null;
    seenAt: number | null;
  } | null;
  queue: { limit: number; paused: boolean; pausedUntil: number | null; pause: Pause | null } | null;
  runningOfJob: number;
  runningOfLane: number;
  runningOfQueue: number;
  /** Ready runs of the same queue that come before it, counted up to 1,000. */
  ahead: number;
  workers: WorkerRecord[];
  /** The worker that holds the run, alive or not; null also for a run that nobody holds. */
  holder: Trace;
  isolated: IsolatedRun[];
  slowHook: SlowHook | null;
  ownerAlive: boolean;
}

/** `requested`: it is running, and its worker will be told. */
export type CancelAnswer = "cancelled" | "requested" | FinishedState | null;
