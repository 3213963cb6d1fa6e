import type { InsertResult, NewRun } from "./runs.ts";

/** When a callback of a batch is dispatched. */
export type BatchMoment =
  /** All members have ended, and none failed or was cancelled. */
  | "success"
  /** The first member has failed for good. */
  | "failure"
  /** All members have ended. */
  | "finish";

/** A run that a batch dispatches. */
export interface BatchCallback {
  on: BatchMoment;
  run: NewRun;
  /** Ids of the runs that were dispatched, the oldest first; more than one after retries of the batch. */
  dispatched?: number[];
}

/** A batch to insert. */
export interface NewBatch {
  name: string;
  /** Whether the first failure cancels the other members. */
  cancels: boolean;
  callbacks: BatchCallback[];
}

/** Members of a batch, by what became of them. */
export interface BatchCounts {
  added: number;
  completed: number;
  failed: number;
  cancelled: number;
  skipped: number;
}

/** A batch as it is stored, with its counts of this moment. */
export interface BatchRecord extends BatchCounts {
  id: number;
  name: string;
  cancels: boolean;
  createdAt: number;
  /** When the last member was added; null: more may follow. */
  sealedAt: number | null;
  /** When the first failure was noticed. */
  failedAt: number | null;
  cancelledAt: number | null;
  finishedAt: number | null;
  /** When a retry that is under way last revived members; null: none is. The batch does not finish meanwhile. */
  retriedAt: number | null;
}

/** A callback of a batch, and the runs that it has become. */
export interface BatchCallbackRecord {
  on: BatchMoment;
  job: string;
  /** The latest ones, the oldest first. Some may be pruned. */
  runs: number[];
}

/** A batch with the number of members whose handlers run, and its callbacks. */
export interface BatchStatusRecord extends BatchRecord {
  running: number;
  callbacks: BatchCallbackRecord[];
}

export interface NewMembers {
  /** Seals the batch after these members. */
  seal: boolean;
  /** Whether a running member adds them: it may add to a sealed batch, until it has ended. */
  byMember?: boolean;
}

/** Why members were not added. Null: there is no such batch. */
export type BatchRefusal = "sealed" | "cancelled" | "finished" | null;

/** The changes that a look has made to a batch. */
export interface BatchChange {
  batch: BatchRecord;
  /** Whether its first failure was noticed now. */
  failed: boolean;
  /** Whether it was finished now. */
  finished: boolean;
  /** The callbacks that were dispatched now. */
  dispatched: { id: number; run: NewRun }[];
}

/** Selects the batches of a list. */
export interface BatchSearch {
  limit: number;
  /** Only batches with a smaller id. */
  before: number | null;
  /** Only batches with a larger id. */
  after?: number | null;
  /** Only these, at most 1,000. */
  ids?: readonly number[] | null;
  /** Only batches that have not finished. */
  unfinished: boolean;
}

/** The members that a cancellation concerned. */
export interface BatchCancellation {
  /** Members that were waiting and are cancelled. */
  cancelled: number;
  /** Running members that were asked to end. */
  requested: number[];
}

/** Follows a change of many members. */
export interface BatchWatch {
  /** Called after each group of members, with the numbers of those that were changed and that were asked to end. */
  progress?: ((done: number, requested: number) => void) | undefined;
  /** Stops before the next group. */
  signal?: AbortSignal | undefined;
}

/** The writes about batches (note 56). */
export interface BatchStore {
  /** Inserts a batch with its first members, all or nothing. With `tx`, in the caller's transaction. */
  create(
    batch: NewBatch,
    members: NewRun[],
    options: { seal: boolean },
    tx?: unknown,
  ): Promise<{ id: number; inserted: InsertResult[] }>;
  /** Adds members, all or none. */
  add(
    id: number,
    members: NewRun[],
    options: NewMembers,
    tx?: unknown,
  ): Promise<InsertResult[] | BatchRefusal>;
  /**
   * Ends the adding of members; the batch finishes when all have ended. Returns whether it was open; null: there is no
   * such batch.
   */
  seal(id: number): Promise<boolean | null>;
  /**
   * Cancels the waiting members, in groups, and asks the running ones to end. The batch takes no more members. Null:
   * there is no such batch. If it is stopped, or its process dies, the sweep of a worker cancels the rest; members that
   * workers claim until then do not start.
   */
  cancel(id: number, watch?: BatchWatch): Promise<BatchCancellation | "finished" | null>;
  /**
   * Runs the members again that failed or were cancelled and are kept. The batch is unfinished from then on, and its
   * callbacks are dispatched again. Returns their number; null: there is no such batch.
   */
  retry(id: number, watch?: BatchWatch): Promise<number | null>;
  /**
   * Finishes what processes left that have died: dispatches callbacks that are due, goes on cancelling members, and
   * counts members again that workers of older versions have ended.
   */
  sweep(): Promise<void>;
  /** Called with each change that this process makes. */
  onChange: ((change: BatchChange) => void) | null;
}
