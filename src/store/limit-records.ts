import type { Rate } from "./rate.ts";

/** A limit that jobs share by its name. */
export interface LimitStatus {
  name: string;
  /** Most runs at once; 0: no limit. Null: no process has defined it, and no run under it starts. */
  limit: number | null;
  /** How much the starts of its runs may cost within a time, 1 each unless their job says otherwise; null: no limit. */
  rate: Rate | null;
  /** The jobs under it, by name. */
  jobs: string[];
  /** Running runs of these jobs. */
  running: number;
}

/** The job, key, queue or named limit that a rate belongs to. */
export interface RateSubject {
  /** The job; null: the rate of a queue or a named limit. */
  job: string | null;
  /** Null: the rate of all runs of the job or queue. */
  key: string | null;
  queue: string | null;
  /** The named limit; absent: the rate of a job, key or queue. */
  name?: string;
}

/** A rate, and how much of it is spent. Times are milliseconds. */
export interface RateRecord extends RateSubject {
  /** Most starts in any window of the length `per`. Under a named limit: most that starts may cost together. */
  limit: number;
  /** Length of the window, in milliseconds. */
  per: number;
  /** Most starts ahead of an even pace; null: as many as the limit admits. */
  burst: number | null;
  /** Starts in the window that ends now. */
  spent: number;
  /** When the next run may start; null: now. */
  opensAt: number | null;
  /** Until when `run.slowDown()` of a handler has closed it; null: none has. */
  slowedUntil: number | null;
}
