import type { Outcome } from "../../../run/states.ts";
import type { QueueView } from "./definitions.ts";
import type { Count } from "./values.ts";

export type Span = "1h" | "6h" | "24h" | "7d";

export interface HealthView {
  level: "healthy" | "degraded" | "stalled";
  /** One sentence per problem, the worst first; if healthy, one sentence that says so. */
  sentences: string[];
  /** Commands that help. */
  commands: string[];
}

/** A problem on the overview, with the page that explains it. */
export interface Attention {
  kind: "failure" | "late" | "paused" | "worker" | "queue" | "job";
  /** Name of the job, queue, schedule or worker. */
  name: string;
  text: string;
  since: string | null;
  /** Path of the page below the base, such as `/jobs/send`. */
  link: string;
}

export interface NextTick {
  scheduleId: number;
  job: string;
  words: string;
  timezone: string;
  at: string;
}

/** Attempts that ended in one span of time. */
export interface TrendPointView {
  at: string;
  counts: Record<Outcome, number>;
  waited: { p50: number; p95: number } | null;
  took: { p50: number; p95: number } | null;
}

export interface TrendView {
  over: Span;
  /** Milliseconds of a point. */
  step: number;
  total: TrendPointView;
  points: TrendPointView[];
}

/** Versions of the programs that share the database. */
export interface VersionsView {
  /** Version of the process that serves the dashboard; empty if it was bundled. */
  dashboard: string;
  /** Number of live workers of each version, the most frequent first; null: too old to report it. */
  workers: { version: string | null; count: number }[];
  /** The installed schema, and the newest one that the dashboard knows. */
  schema: { found: number; known: number };
  /** False: the schema needs newer code than the dashboard's, so that it refuses every action. */
  writable: boolean;
}

/** `GET /overview`, and the data of the event `overview`. */
export interface Overview {
  now: string;
  health: HealthView;
  tiles: {
    running: { runs: number; slots: number };
    /** `due`: the scheduled runs that are due, and that no worker has made ready. */
    waiting: { ready: Count; scheduled: Count; due: Count; oldest: string | null };
    failed: {
      /** Runs that failed for good in the last 24 hours and were not retried since: `state:failed after:24h`. */
      runs: Count;
      /** Their share of the runs that completed or failed; null: none did. */
      rate: number | null;
      /** Failed attempts of the last 24 hours, also of runs that were tried again, and of the 24 hours before. */
      attempts: number;
      attemptsBefore: number;
      /** Jobs whose last attempt failed with an error that is not muted. */
      jobs: number;
    };
    schedules: { active: number; paused: number; late: number; next: string | null };
    workers: { live: number; silent: number; lastHeartbeat: string | null };
  };
  attention: Attention[];
  queues: QueueView[];
  nextTicks: NextTick[];
  versions: VersionsView;
  /** Changes with every run that was dispatched, started or finished, as far as a sample can tell. */
  version: string;
}
