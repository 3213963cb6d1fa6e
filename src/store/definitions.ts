import type { JobRecord } from "./records.ts";

/** What other processes must know of a job. */
export interface JobDetails extends Omit<JobRecord, "name" | "fingerprint"> {
  schedules: ScheduleSync[];
}

/** Jobs and limits of queues as one worker defines them. */
export interface SyncRequest {
  worker: string;
  startedAt: number;
  jobs: {
    name: string;
    /** Changes with the details. */
    fingerprint: string;
    formerly: readonly string[];
    /** Made from its class alone: gives way to the definition of any other worker. */
    implicit?: boolean;
    details(): JobDetails;
  }[];
  queues: { name: string; limit: number }[];
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

export interface ScheduleTicks {
  schedule: number;
  job: string;
  runs: { id: number; tickAt: number }[];
  missed: number;
}

export interface TickResult {
  ticked: ScheduleTicks[];
  /** The soonest tick of the schedules that were not excluded. */
  nextTick: number | null;
}
