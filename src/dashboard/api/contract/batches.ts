import type { RunLink, RunSummary } from "./runs.ts";
import type { Count } from "./values.ts";

/** A batch in a list. */
export interface BatchView {
  id: number;
  name: string;
  /** `open`: members may be added. `running`: all were added, and some have not ended. */
  state: "open" | "running" | "finished";
  /** Number of members; those that follow add up to it. */
  total: number;
  /** Members that have not ended. */
  unfinished: number;
  completed: number;
  failed: number;
  cancelled: number;
  skipped: number;
  createdAt: string;
  /** When the adding of members ended. */
  sealedAt: string | null;
  /** When the first failure of a member was noticed. */
  failedAt: string | null;
  cancelledAt: string | null;
  finishedAt: string | null;
}

/** `GET /batches/changes?ids=1,2,3&newest=99`: changes of the rows of a list since it was read. */
export interface BatchesChanges {
  /** The batches of `ids` as they are now; those that are missing were deleted. */
  batches: BatchView[];
  /** Batches that are newer than `newest`, counted up to 100. */
  added: Count;
}

/** A callback of a batch. */
export interface CallbackView {
  /** `success`: none failed or was cancelled. `failure`: the first member has failed. `finish`: all have ended. */
  on: "success" | "failure" | "finish";
  job: string;
  /** The runs that were dispatched, the newest first: several after retries of the batch. */
  runs: RunLink[];
  /** Why there are no runs; null: there are some. */
  note: string | null;
}

/** `GET /batches/:id`. */
export interface BatchDetail extends BatchView {
  /** Members that have not ended and do not run. */
  waiting: number;
  running: number;
  /** Whether the first failure cancels the other members. */
  failures: "continue" | "cancel";
  callbacks: CallbackView[];
  /** The last members that failed, at most 5. */
  failedMembers: RunSummary[];
  /** Actions that its state and the caller's role allow now. */
  actions: BatchAction[];
  /** The effect of each action, in words. */
  effects: Partial<Record<BatchAction, string>>;
  /** The command lines that do the same. */
  commands: Partial<Record<BatchAction, string>>;
}

export type BatchAction = "seal" | "cancel" | "retry";

/** The batch of a run. */
export interface BatchLink {
  id: number;
  /** Null: the batch was deleted. */
  name: string | null;
  /** When the batch dispatched the run, its callback; null: the run is a member. */
  callback: "success" | "failure" | "finish" | null;
}
