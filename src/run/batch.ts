import { PunctualError } from "../errors.ts";
import type {
  BatchCallbackRecord,
  BatchMoment,
  BatchRecord,
  BatchRefusal,
  BatchStatusRecord,
} from "../store/batches.ts";
import type { Duration } from "../time.ts";

/** A source of members: a job, a draft of one, or the drafts that `many()` returns. */
export interface BatchAddition {
  /** The name of the job. */
  readonly name: string;
  /** Carries types only; never set. */
  readonly "~types"?: unknown;
}

/** A batch in a list. */
export interface BatchInfo {
  id: number;
  name: string;
  /** `open`: members may be added. `running`: all were added, and some have not ended. */
  state: "open" | "running" | "finished";
  /** Whether the first failure cancels the other members. */
  failures: "continue" | "cancel";
  /** Number of members: the sum of the next five counts. */
  total: number;
  /** Members that have not ended. */
  unfinished: number;
  completed: number;
  failed: number;
  cancelled: number;
  skipped: number;
  createdAt: Date;
  /** When the adding of members ended. */
  sealedAt: Date | null;
  /** When the first failure of a member was noticed. */
  failedAt: Date | null;
  cancelledAt: Date | null;
  finishedAt: Date | null;
}

/** A batch with its counts of this moment. */
export interface BatchStatus extends BatchInfo {
  /** Members whose handlers run. */
  running: number;
  /** Members that have not ended and do not run. */
  waiting: number;
  /** The runs that the batch dispatches when its members have ended, and those that it has dispatched. */
  callbacks: BatchCallbackInfo[];
}

/** A callback of a batch. */
export type BatchCallbackInfo = BatchCallbackRecord;

/** Methods of an instance that the handle of a batch calls. */
export interface BatchControl {
  addToBatch(id: number, additions: BatchAddition[]): Promise<number>;
  batchStatus(id: number): Promise<BatchStatus>;
  sealBatch(id: number): Promise<boolean>;
  cancelBatch(id: number): Promise<void>;
  retryBatch(id: number): Promise<number>;
  waitForBatch(id: number, options?: { timeout?: Duration | undefined }): Promise<BatchStatus>;
}

/** Handle of a batch. */
export class Batch {
  readonly id: number;
  /** Number of members that were added when the batch was made. A run whose unique key is held is not added. */
  readonly added: number;
  readonly #control: BatchControl;

  constructor(id: number, added: number, control: BatchControl) {
    this.id = id;
    this.added = added;
    this.#control = control;
  }

  /**
   * Adds members to an open batch, and returns their number. A run whose unique key is held is not added. A member may
   * add to its own batch until it has ended, also if the batch is sealed.
   */
  add(...additions: BatchAddition[]): Promise<number> {
    return this.#control.addToBatch(this.id, additions);
  }

  /** Ends the adding of members: the batch finishes when all have ended. Returns false if it was sealed before. */
  seal(): Promise<boolean> {
    return this.#control.sealBatch(this.id);
  }

  /** Returns the batch with its counts of this moment. */
  status(): Promise<BatchStatus> {
    return this.#control.batchStatus(this.id);
  }

  /** Cancels the waiting members and asks the running ones to end. The batch takes no more members. */
  cancel(): Promise<void> {
    return this.#control.cancelBatch(this.id);
  }

  /**
   * Runs the members again that failed or were cancelled, and returns their number. When all of them have ended, the
   * callbacks are dispatched again.
   */
  retry(): Promise<number> {
    return this.#control.retryBatch(this.id);
  }

  /** Returns the counts once all members have ended. A timeout ends the wait, an outage of the database does not. */
  wait(options?: { timeout?: Duration | undefined }): Promise<BatchStatus> {
    return this.#control.waitForBatch(this.id, options);
  }
}

/** The batch of a run: it is a member, or a callback. */
export interface BatchLink {
  batch: number;
  isMember: boolean;
  /** When the batch dispatches it; null: it is a member. */
  on: BatchMoment | null;
}

/** Reads the `batchId` of a run: the id of its batch, with a suffix if the run is a callback. Null: it has no batch. */
export function toBatchLink(batchId: string | null): BatchLink | null {
  const found = /^([1-9]\d{0,14})(?:\/(\w+))?$/.exec(batchId ?? "");
  if (!found) return null;
  const on = (found[2] as BatchMoment | undefined) ?? null;
  return { batch: Number(found[1]), isMember: on === null, on };
}

const toDate = (time: number | null) => (time === null ? null : new Date(time));

/** Converts a batch as the store returns it. */
export function toBatchInfo(record: BatchRecord): BatchInfo {
  const { id, name, added, completed, failed, cancelled, skipped } = record;
  return {
    id,
    name,
    state: record.finishedAt !== null ? "finished" : record.sealedAt !== null ? "running" : "open",
    failures: record.cancels ? "cancel" : "continue",
    total: added,
    unfinished: added - completed - failed - cancelled - skipped,
    completed,
    failed,
    cancelled,
    skipped,
    createdAt: new Date(record.createdAt),
    sealedAt: toDate(record.sealedAt),
    failedAt: toDate(record.failedAt),
    cancelledAt: toDate(record.cancelledAt),
    finishedAt: toDate(record.finishedAt),
  };
}

export function toBatchStatus(record: BatchStatusRecord): BatchStatus {
  const info = toBatchInfo(record);
  const { running, callbacks } = record;
  return { ...info, running, waiting: Math.max(0, info.unfinished - running), callbacks };
}

/** Returns the error for an operation that the batch does not allow. */
export function batchRefused(operation: string, id: number, refusal: BatchRefusal): PunctualError {
  switch (refusal) {
    case null:
      return new PunctualError(
        "BATCH_NOT_FOUND",
        `Cannot ${operation} batch ${id}: it does not exist. Batches are deleted some days after they have finished.`,
      );
    case "finished":
      return new PunctualError(
        "BATCH_FINISHED",
        `Cannot ${operation} batch ${id}: it has finished. Make a new batch, or run its failed members again with retry().`,
      );
    case "cancelled":
      return new PunctualError("BATCH_SEALED", `Cannot ${operation} batch ${id}: it was cancelled.`);
    case "sealed":
      return new PunctualError(
        "BATCH_SEALED",
        `Cannot ${operation} batch ${id}: it is sealed. Make the batch with open() and seal it after the last member; members themselves may add until they end.`,
      );
  }
}
