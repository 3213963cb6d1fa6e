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
