import type { RunState } from "../../../run/states.ts";
import type { TrendView } from "./overview.ts";
import type { RunLink } from "./runs.ts";
import type { Count, JsonText, PauseView } from "./values.ts";

export interface JobView {
  name: string;
  queue: string;
  priority: number;
  /** Most runs at once, of the job and of each key; 0: no limit. */
  limit: number;
  keyLimit: number;
  /** Its rates in words, such as `100 in 1 min`, of all its runs and of each key; null: none. */
  rate: string | null;
  keyRate: string | null;
  /** The named limit of the job: how many runs of all its jobs run, and may run, at once; null: it is under none. */
  under: NamedLimitView | null;
  pause: PauseView | null;
  running: number;
  waiting: Count;
  lastRun: string | null;
  lastFailure: string | null;
  lastError: string | null;
  /** Failures since the last success. */
  fails: number;
  /** The error of its last failure is muted: the job does not count as failing. */
  muted: boolean;
  nextRun: string | null;
  /** When a live worker last defined it; null: it was only dispatched or declared. */
  seenAt: string | null;
  /** No live worker defines it. */
  undefined: boolean;
  /** Attempts that ended in the last 24 hours. `failed`: their run failed for good; `retried`: it is tried again. */
  last24h: { completed: number; failed: number; retried: number; took: { p50: number; p95: number } | null };
  /** Completed and failed attempts of the last hour in 12 points, the oldest first. */
  spark: { completed: number; failed: number }[];
}

/** `GET /jobs/:name`. */
export interface JobDetail extends JobView {
  trend: TrendView;
  schedules: ScheduleView[];
  failures: FailureGroup[];
  /** The last 30 finished runs, the newest first. */
  recent: RunLink[];
  /** Settings in words, if this process defines the job. */
  settings: Record<string, string> | null;
  /** Place of the definition in the code, as `file:line`. */
  definedAt: string | null;
  /** Arguments of the last run as JSON text with secrets hidden, to start the dispatch form with. */
  lastArgs: string | null;
  commands: { dispatch: string; pause: string; resume: string };
}

/** `POST /jobs/:name/dispatch`. */
export interface DispatchRequest {
  /** JSON text or, for callers without large integers, any JSON value as `value`. */
  args?: string;
  value?: unknown;
  queue?: string;
  priority?: number;
  key?: string;
  /** Seconds or a text such as "5m". */
  delay?: number | string;
  at?: string;
  tags?: string[];
  unique?: string;
}

export interface QueueView {
  name: string;
  /** Most runs at once; 0: no limit. */
  limit: number;
  /** Its rate in words, such as `500 in 1 min`; null: it has none. `GET /rates` has what is spent. */
  rate: string | null;
  /** Whether its lanes, jobs or jobs with a key, take turns. */
  fair: boolean;
  /** Longest that a run should wait behind more important ones, in milliseconds; null: no limit. */
  patience: number | null;
  pause: PauseView | null;
  ready: Count;
  scheduled: Count;
  /** Of `scheduled`: runs that are due, and that no worker has made ready. */
  due: Count;
  running: number;
  /** When the oldest of its ready and due runs was due. */
  oldest: string | null;
  /** Live workers that serve it. */
  workers: number;
  spark: { completed: number; failed: number }[];
  perMinute: { completed: number; failed: number };
}

export interface NamedLimitView {
  name: string;
  running: number;
  /** 0: no limit. Null: no process has defined it, and no run under it starts. */
  limit: number | null;
  /** The two in words: `3 of 20 at once`. */
  words: string;
}

/** A rate of a job, of a key of a job, of a queue, or of a named limit. */
export interface RateView {
  job: string | null;
  /** The key of the runs of `job`; null: all runs of the job or queue. */
  key: string | null;
  queue: string | null;
  /**
   * The owner in words: `job mail`, `job sync, key a`, `queue api`, `limit openai`. Later versions may have other
   * kinds.
   */
  subject: string;
  /** The rate in words: `100 in 1 min, burst 10`. */
  words: string;
  /** Most starts in any window of the length `per`. */
  limit: number;
  per: number;
  /** Most starts ahead of an even pace; null: as many as the limit admits. */
  burst: number | null;
  /** Starts in the window that ends now. */
  spent: number;
  /** When the next run may start; null: now. */
  opensAt: string | null;
  /** Until when `run.slowDown()` of a handler has closed it; null: none has. */
  slowedUntil: string | null;
}

/** `GET /rates?job=mail&queue=api`. */
export interface RatesResponse {
  /**
   * At most 200, with that of the named limit of `job`: of each job its own rate, then up to 100 keys that have
   * started runs lately, closed ones first.
   */
  items: RateView[];
  /** There may be more keys. Closed keys are looked for among the first 1,000 of a job, by name. */
  capped: boolean;
}

/** `GET /queues/:name`. */
export interface QueueDetail extends QueueView {
  trend: TrendView;
  jobs: string[];
  commands: { pause: string; resume: string };
}

/** `POST /queues/:name/pause`, `/jobs/:name/pause`, `/schedules/:id/pause`. */
export interface PauseRequest {
  reason?: string;
  /** Queues only: seconds or a text such as "2h", after which the queue resumes by itself. */
  for?: number | string;
}

export interface TickResult {
  /** When it was due. */
  at: string;
  runId: number;
  state: RunState;
  took: number | null;
}

export interface ScheduleView {
  id: number;
  job: string;
  cron: string;
  words: string;
  timezone: string;
  queue: string | null;
  state: "active" | "late" | "failing" | "running" | "paused" | "ended";
  pause: PauseView | null;
  next: string | null;
  last: string | null;
  missed: number;
  /** Why it is late; null if it is not. */
  why: string | null;
  /** Up to 20, the oldest first. */
  recent: TickResult[];
  /** Whether older ticks may be missing from `recent`: MySQL and MariaDB look among the newest runs of the job. */
  partial: boolean;
}

/** `GET /schedules/:id`. */
export interface ScheduleDetail extends ScheduleView {
  /** The next ten ticks; `note` says what a clock change does to the tick. */
  upcoming: { at: string; local: string; note: string | null }[];
  args: JsonText;
  misfires: string | null;
  commands: { run: string; pause: string; resume: string };
}

/** `GET /schedules`. */
export interface SchedulesResponse {
  items: ScheduleView[];
  /** Number of ticks in each of the next 24 hours. */
  hours: { at: string; ticks: number; jobs: string[] }[];
}

export interface FailureGroup {
  fingerprint: string;
  error: { name: string; message: string };
  /** First own frame of the stack. */
  place: string | null;
  jobs: string[];
  count: Count;
  first: string;
  last: string;
  /** Failures in each of the last 24 hours, the oldest first. */
  spark: number[];
  /** The newest run of the group. */
  sample: number;
  /** Query that finds its runs. */
  q: string;
  command: string;
  /** Null: it is not muted. */
  mute: MuteView | null;
}

/** The mute of a group of failures: its jobs do not count as failing because of it. */
export interface MuteView {
  since: string;
  by: string | null;
  reason: string | null;
  /** Null: until it is unmuted. */
  until: string | null;
}

/** `POST /failures/:fingerprint/mute`. */
export interface MuteRequest {
  reason?: string;
  /** Seconds or a text such as "1d", after which the mute ends by itself. */
  for?: number | string;
}

/** `GET /failures`. */
export interface FailuresResponse {
  items: FailureGroup[];
  /** More failed runs exist than were read. */
  capped: boolean;
}

export interface WorkerView {
  id: string;
  host: string;
  pid: number;
  state: "live" | "silent" | "dispatcher";
  /** A paused or stopping worker claims nothing. Null: its version does not obey requests, or it is no live worker. */
  activity: "working" | "paused" | "stopping" | null;
  /** The request of an operator; null: none. */
  request: WorkerRequestView | null;
  version: string | null;
  /** Names, or null for all queues; `except` are left out. */
  queues: string[] | null;
  except: string[];
  slots: { used: number; total: number };
  ticks: boolean;
  startedAt: string | null;
  seenAt: string | null;
  memory: number | null;
  loopLag: number | null;
  children: { number: number; pid: number; runs: number }[];
  /** Runs that it executes now, the oldest first; at most 20. */
  running: RunLink[];
  /** Silent workers: when the janitor may reap their runs. */
  leasedUntil: string | null;
}

/** A request to a worker, which obeys at its next heartbeat. */
export interface WorkerRequestView {
  action: "pause" | "stop";
  by: string | null;
  reason: string | null;
  since: string;
  obeyed: boolean;
}

/** `POST /workers/:worker/pause` and `stop` */
export interface WorkerActionRequest {
  reason?: string;
}

/** One action of an operator. */
export interface AuditEntry {
  id: number;
  at: string;
  user: string | null;
  role: string | null;
  source: string;
  action: string;
  target: string;
  /** The details in words; empty if there are none. */
  summary: string;
  /** The details as JSON, with secrets hidden. */
  details: string | null;
}

/** `GET /values?field=job&prefix=em`: completions of the query bar. */
export interface ValuesResponse {
  values: string[];
}
