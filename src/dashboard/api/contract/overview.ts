import type { Outcome } from "../../../run/states.ts";
import type { QueueView } from "./definitions.ts";
import type { Count } from "./values.ts";

export type Span = "1h" | "6h" | "24h" | "7d";

export interface HealthView {
  level: "healthy" | "degraded" | "stalled";
  /** One sentence per problem, the worst first; one without a problem if healthy. */
  sentences: string[];
  /** Commands that help. */
  commands: string[];
}

/** A problem on the overview, with the page that explains it. */
export interface Attention {
  kind: "failure" | "late" | "retrying" | "paused" | "worker" | "queue" | "job";
  /** Name of the job, queue, schedule or worker. */
  name: string;
  text: string;
  since: string | null;
  /** Path of the page below the base, such as `/runs?q=state:failed job:send`. */
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

/** `GET /overview`, and the data of the event `overview`. */
export interface Overview {
  now: string;
  health: HealthView;
  tiles: {
    running: { runs: number; slots: number };
    waiting: { ready: Count; scheduled: Count; oldest: string | null };
    /** Failed runs of the last 24 hours, and of the 24 hours before them. */
    failed: { last24h: number; before: number; rate: number | null; jobs: number };
    schedules: { active: number; paused: number; late: number; next: string | null };
    workers: { live: number; silent: number; lastHeartbeat: string | null };
  };
  attention: Attention[];
  queues: QueueView[];
  nextTicks: NextTick[];
  /** Changes with every run that was dispatched, started or finished, as far as a sample can tell. */
  version: string;
}
