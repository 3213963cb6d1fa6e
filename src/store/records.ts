import type { RunState } from "../run/states.ts";

/** What a job's row says. Written by workers that define it, read by producers that do not. */
export interface JobRow {
  name: string;
  queue: string;
  priority: number;
  limit: number;
  keyLimit: number;
  cron: string | null;
  fingerprint: string;
}

/** A schedule as the database has it. */
export interface ScheduleRow {
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
}

export interface WorkerRow {
  id: string;
  host: string;
  pid: number;
  parallel: number;
  queues: string[] | null;
  startedAt: number;
  seenAt: number;
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
  worker: string | null;
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

export interface RunFilter {
  states?: RunState[];
  name?: string;
  queue?: string;
  key?: string;
  tag?: string;
  batchId?: string;
  parentId?: number;
  /** Only runs with a smaller id: the last id of the page before. */
  before?: number;
  limit: number;
}

export interface JobStatus extends JobRow {
  paused: boolean;
  running: number;
  waiting: number;
  lastRun: number | null;
  lastError: string | null;
  fails: number;
  seenAt: number | null;
  leasedUntil: number | null;
  /** The next tick of its schedules. */
  nextRun: number | null;
}

export interface QueueStatus {
  name: string;
  limit: number;
  paused: boolean;
  pausedUntil: number | null;
  ready: number;
  scheduled: number;
  running: number;
}

export interface Status {
  now: number;
  jobs: JobStatus[];
  queues: QueueStatus[];
  workers: WorkerRow[];
}

/** What `why` needs to know about a run that is not running. */
export interface WaitFacts {
  now: number;
  run: RunRecord;
  limited: boolean;
  job: { limit: number; keyLimit: number; paused: boolean; seenAt: number | null } | null;
  queue: { limit: number; paused: boolean; pausedUntil: number | null } | null;
  runningOfJob: number;
  runningOfLane: number;
  runningOfQueue: number;
  /** Ready runs of the same queue that come before it, counted up to 1,000. */
  ahead: number;
  workers: WorkerRow[];
  ownerAlive: boolean;
}
