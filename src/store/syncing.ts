import type { JobRow } from "./records.ts";
import type { ScheduleSync } from "./ticking.ts";

/** What other processes must know of a job. */
export interface JobDetails extends Omit<JobRow, "name" | "fingerprint"> {
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
    details(): JobDetails;
  }[];
  queues: { name: string; limit: number }[];
}
