import type { FinishedState, RunState } from "../../../run/states.ts";
import type { BatchLink } from "./batches.ts";
import type { Count, JsonText, Page } from "./values.ts";

/** A bar: `done` of `of`; `of` is null if the handler did not say how much there is. */
export interface ProgressView {
  done: number | null;
  of: number | null;
  /** The stored value as text, if it is no number. */
  text: string | null;
}

/** A run in a list. */
export interface RunSummary {
  id: number;
  job: string;
  queue: string;
  key: string | null;
  priority: number;
  state: RunState;
  /** Its last attempt failed, and it waits for the next one. */
  retrying: boolean;
  /** It has been due for longer than it should have. */
  late: boolean;
  cancelRequested: boolean;
  attempt: number;
  maxAttempts: number | null;
  /** The beginning of the arguments in one line, with secrets hidden. */
  preview: string;
  progress: ProgressView | null;
  tags: string[];
  createdAt: string;
  runAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  /** From when it was due until it started, or until now. */
  waited: number | null;
  /** How long the last attempt took, or has been running. */
  took: number | null;
  error: { name: string; message: string } | null;
  fingerprint: string | null;
}

/** `GET /runs?q=&before=&limit=&zone=`. */
export interface RunsResponse extends Page<RunSummary> {
  /** The query was restricted to the last seven days, because it has no bound itself. */
  bounded: boolean;
  /** How many match, counted only for the first page. */
  count: Count | null;
}

/** `GET /runs/changes?q=&ids=1,2,3&newest=99`: changes of the rows of a list since it was read. */
export interface RunsChanges {
  /** The runs of `ids` as they are now; those that are missing were deleted. */
  runs: RunSummary[];
  /** Runs that match `q` and are newer than `newest`. */
  added: Count;
}

/** `GET /runs/states?q=`: how many runs match the query in each state, for the tabs above the list. */
export type StateCounts = Record<RunState | "retrying" | "late", Count>;

export interface FailureView {
  name: string;
  message: string;
  code: string | null;
  /** First lines of the stack: own code first can be told by `own`. */
  frames: StackFrame[];
  stack: string | null;
  cause: FailureView | null;
}

export interface StackFrame {
  /** The function, or an empty text. */
  call: string;
  /** File, line and column as they are in the stack. */
  place: string;
  /** Whether the file is neither in node_modules nor part of Node. */
  own: boolean;
}

/** A part of the life of a run, for its timeline. */
export interface AttemptView {
  attempt: number;
  outcome: "retried" | "failed" | "crashed" | "lost" | "released" | "running" | FinishedState;
  worker: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  error: FailureView | null;
}

export interface RunLink {
  id: number;
  job: string;
  state: RunState;
  at: string;
  took: number | null;
}

/** `GET /runs/:id`. */
export interface RunDetail extends RunSummary {
  why: string;
  attempts: AttemptView[];
  failure: FailureView | null;
  /** Other failed runs with the same fingerprint. */
  alike: Count | null;
  args: JsonText;
  result: JsonText;
  progressValue: JsonText;
  logs: number;
  /** `host:pid` of the worker that executes it or executed it last, and the child process as `number:pid`. */
  worker: string | null;
  child: string | null;
  leasedUntil: string | null;
  isolated: boolean;
  crashes: number;
  uniqueKey: string | null;
  scheduledFor: string | null;
  scheduleId: number | null;
  batch: BatchLink | null;
  parent: RunLink | null;
  rerunOf: RunLink | null;
  children: Page<RunLink>;
  /** The last 30 finished runs of the job, the newest first. */
  recent: RunLink[];
  /** Neighbours of the run among the runs of its job. */
  newer: number | null;
  older: number | null;
  timeout: number | null;
  /** Actions that its state and the caller's role allow now. */
  actions: RunAction[];
  /** The command lines that do the same. */
  commands: Partial<Record<RunAction, string>>;
}

export type RunAction = "retry" | "cancel" | "forceCancel" | "rerun" | "delete";

/** `GET /runs/:id/logs?after=&limit=`. */
export interface LogsResponse {
  lines: { position: number; attempt: number; at: string; message: string; data: string | null }[];
  total: number;
}

/** `POST /runs/:id/cancel`. */
export interface CancelRequest {
  force?: boolean;
}

/** `POST /runs/:id/rerun`: without `args` the stored arguments are copied unchanged. */
export interface RerunRequest {
  /** JSON text, so that integers above 2^53 arrive unchanged. */
  args?: string;
}

/** Response of actions that create a run. */
export interface DispatchResult {
  id: number;
  /** False: a run with the same unique key exists, and `id` is that run. */
  created: boolean;
}

/** Response of other actions. */
export interface ActionResult {
  /** The effect, in one sentence. */
  message: string;
}

/** `POST /runs/bulk`: of a selection or of all that match a query. */
export interface BulkRequest {
  action: "retry" | "cancel" | "delete";
  /** Either `ids` or `q`. */
  ids?: number[];
  q?: string;
  zone?: string;
}

/** `GET /bulk/:id`, the response of `POST /runs/bulk`, and the data of the event `bulk`. */
export interface BulkOperation {
  id: string;
  action: BulkRequest["action"];
  /** Finds its runs; null: they were named by ids. */
  q: string | null;
  state: "running" | "finished" | "failed" | "stopped";
  /** Runs that were retried, cancelled or deleted. */
  done: number;
  /** Running runs that were asked to cancel: their handlers decide when they end. */
  requested: number;
  /** Other runs by reason: their state, `retried` (by another request meanwhile) or `gone` (deleted meanwhile). */
  skipped: Record<string, number>;
  /** About how many there are, counted up to 10,000. */
  total: Count;
  startedAt: string;
  finishedAt: string | null;
  by: string | null;
  error: string | null;
  command: string;
}
