import type { QueueSelection } from "./queue-selection.ts";

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
  /** The request of an operator; null: none. */
  request?: WorkerRequest | null;
}

/** The description of a worker in one of its heartbeats. */
export type Heartbeat = Omit<WorkerRecord, "seenAt" | "request">;

/** A request of an operator, which the worker obeys at its next heartbeat (note 63). */
export interface WorkerRequest {
  /** `pause`: claim nothing until it is resumed. `stop`: end as after SIGTERM. */
  action: "pause" | "stop";
  since: number;
  by: string | null;
  reason: string | null;
}

/** Whether a worker claims: while it is paused or stopping, it does not. */
export type WorkerActivity = "working" | "paused" | "stopping";

/** Whether a worker claims runs and ticks: one that is paused or stopping, or only dispatches, does not. */
export function isClaiming({ parallel, facts }: Pick<WorkerRecord, "parallel" | "facts">): boolean {
  return parallel > 0 && (facts?.activity ?? "working") === "working";
}

interface RequestedActivity {
  facts?: Pick<WorkerFacts, "activity"> | null;
  request?: Pick<WorkerRequest, "action"> | null;
}

/** Whether a worker has paused and may be resumed: one that was asked to stop meanwhile may not. */
export function isPaused({ facts, request }: RequestedActivity): boolean {
  return facts?.activity === "paused" && request?.action !== "stop";
}

/** A worker that holds runs. */
export interface BusyWorker {
  id: string;
  pid: number;
  /** The mark of its process, if all its handlers run in that process and the process can be identified. */
  process: string | null;
  /** Milliseconds since its last heartbeat. */
  silence: number;
}

/** Figures of a worker's process at its last heartbeat. */
export interface WorkerFacts {
  /**
   * Identifies the process, so that others can find out whether it has ended; null: not known, or handlers run in child
   * processes, which may outlive it.
   */
  process?: string | null;
  /**
   * Whether the heartbeats say that the jobs which the worker has defined are still defined. Workers of older versions
   * do not have it: they write `seen_at` of each job, and go by it alone.
   */
  coversJobs?: boolean;
  /** Absent: the worker runs older code, which does not obey requests. */
  activity?: WorkerActivity;
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
