import type { Rate } from "./rate.ts";
import type { JobRecord } from "./records.ts";

/** The settings of a job that other processes must know. */
export interface JobDetails extends Omit<JobRecord, "name" | "fingerprint"> {
  schedules: ScheduleSync[];
}

/** A job as a worker defines it. */
export interface DefinedJob {
  name: string;
  /** Differs whenever the details differ. */
  fingerprint: string;
  /** Former names of the job, whose runs and schedules it takes over. */
  formerly: readonly string[];
  /** Defined by its class alone: the definition of any other worker wins. */
  implicit?: boolean;
  /** The named limit that its runs are under; null or absent: none. */
  under?: string | null;
  details(): JobDetails;
}

/** The jobs and limits that one worker defines. */
export interface SyncRequest {
  worker: string;
  /** When the worker started: the most recently started live worker wins. */
  startedAt: number;
  jobs: DefinedJob[];
  queues: { name: string; limit: number; rate?: Rate | null }[];
  /** Limits that jobs are under by name. A limit of 0 and no rate: the limit was taken away. */
  limits?: { name: string; limit: number; rate: Rate | null }[];
  /** In which order runs of queues start, for people to see: workers go by their own definitions. */
  orders?: QueueOrder[];
  /** The census of the last sync of the same jobs and queues; null: they have changed since, or may have. */
  census?: string | null;
}

export interface SyncResult {
  /** Number of live workers. */
  workers: number;
  /** For the next sync of the same jobs and queues; null: that sync must read them again. */
  census: string | null;
  /** Whether nothing has changed since the sync that returned the census of the request. */
  isUnchanged: boolean;
  /** Named limits that jobs of the request are under and that no process has defined. */
  undefinedLimits: string[];
}

/** The order in which runs of a queue start. */
export interface QueueOrder {
  name: string;
  /** Whether its lanes take turns. */
  fair: boolean;
  /** Longest that a run should wait behind more important ones, in milliseconds; null: no limit. */
  patience: number | null;
}

/** A schedule as a worker defines it. */
export interface ScheduleSync {
  /** Identifies the schedule within its job when its times change; empty for the schedule of the job itself. */
  slot: string;
  cron: string;
  timezone: string;
  args: string | null;
  queue: string | null;
  /** Differs whenever the ticks differ. */
  fingerprint: string;
  /** Returns the first tick after a time; null: there is none. */
  next(after: number): number | null;
}

/** A schedule whose next tick is due. */
export interface DueSchedule {
  id: number;
  job: string;
  slot: string;
  /** Fingerprint of the definition in the database. */
  jobFingerprint: string;
  nextTick: number;
  /** End of the last pause: ticks before it are skipped. Null: no pause since the last tick. */
  resumedAt: number | null;
  /** Whether a run of an earlier tick has not started yet. */
  waiting: boolean;
}

/** The run to insert for one tick. */
export interface TickRun {
  name: string;
  queue: string;
  lane: string;
  priority: number;
  args: string | null;
  tickAt: number;
}

/** Tells how a due schedule ticks. */
export interface TickDecision {
  /** New mark: the last tick that has a run or was skipped; null: unchanged. */
  last: number | null;
  /** The next tick; null: the schedule has ended. */
  next: number | null;
  /** Ticks that get no run. */
  missed: number;
  runs: TickRun[];
}

export interface TickRequest {
  /** Jobs whose schedules do not tick here. */
  exclude: string[];
  /** Most schedules to tick. */
  limit: number;
  /**
   * Called inside the transaction: synchronous and without side effects. Null: this process does not tick the schedule.
   */
  decide(schedule: DueSchedule, now: number): TickDecision | null;
}

/** The ticks of one schedule in one call. */
export interface ScheduleTicks {
  schedule: number;
  job: string;
  runs: { id: number; tickAt: number }[];
  missed: number;
}

export interface TickResult {
  ticked: ScheduleTicks[];
  /** The earliest next tick of the schedules that were not excluded; null: none. */
  nextTick: number | null;
}
