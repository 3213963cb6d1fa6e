import { type BatchAddition, type BatchControl, type BatchStatus, batchRefused } from "../run/batch.ts";
import type { Duration } from "../time.ts";
import { checkKeys } from "../validate/options.ts";
import { checkBatchId } from "./batch-reads.ts";
import { Operations } from "./operations.ts";
import { waitUntil } from "./wait.ts";

/** Interval between two reads of a batch that other processes may finish. */
const READ_EVERY = 100;

/** Options of `cancelBatch()` and `retryBatch()`. */
export interface BatchActionOptions {
  /** Called repeatedly with the number of members that were changed, and of running members that were asked to end. */
  progress?: ((done: number, requested: number) => void) | undefined;
  /** Stops before the next members when it aborts. */
  signal?: AbortSignal | undefined;
}

const ACTION_OPTIONS = { progress: true, signal: true } as const;

/** The part of an instance that operates batches. */
export abstract class BatchOperations extends Operations implements BatchControl {
  abstract addToBatch(id: number, additions: BatchAddition[]): Promise<number>;

  /** Returns a batch with its counts of this moment. Throws BATCH_NOT_FOUND. */
  async batchStatus(id: number): Promise<BatchStatus> {
    const status = await this.findBatch(id);
    if (!status) throw batchRefused("read", id, null);
    return status;
  }

  /**
   * Ends the adding of members to a batch: it finishes when all of them have ended. Returns false if it was sealed
   * before.
   */
  async sealBatch(id: number): Promise<boolean> {
    const { batches } = await this.openStore();
    const wasOpen = await batches.seal(checkBatchId(id));
    if (wasOpen === null) throw batchRefused("seal", id, null);
    return wasOpen;
  }

  /**
   * Cancels the waiting members of a batch and asks the running ones to end. If `signal` aborts meanwhile, the batch
   * stays cancelled: workers cancel the rest of its members.
   */
  async cancelBatch(id: number, options: BatchActionOptions = {}): Promise<void> {
    checkKeys(options, ACTION_OPTIONS, "cancelBatch()");
    const { batches } = await this.openStore();
    const answer = await batches.cancel(checkBatchId(id), options);
    if (answer === null || answer === "finished") throw batchRefused("cancel", id, answer);
    this.cancelInWorker(answer.requested);
  }

  /**
   * Runs the members of a batch again that failed or were cancelled, and returns their number. When all have ended, the
   * callbacks are dispatched again. If `signal` aborts meanwhile, the rest of the members stay as they are.
   */
  async retryBatch(id: number, options: BatchActionOptions = {}): Promise<number> {
    checkKeys(options, ACTION_OPTIONS, "retryBatch()");
    const { batches } = await this.openStore();
    const retried = await batches.retry(checkBatchId(id), options);
    if (retried === null) throw batchRefused("retry", id, null);
    this.wakeWorker();
    return retried;
  }

  /**
   * Returns the counts of a batch once all members have ended; rejects if that is not within the timeout. An outage of
   * the database does not end it.
   */
  async waitForBatch(id: number, options: { timeout?: Duration | undefined } = {}): Promise<BatchStatus> {
    checkKeys(options, { timeout: true }, "wait()");
    const { clock, events } = this;
    return waitUntil<BatchStatus, BatchStatus>({
      clock,
      timeout: options.timeout,
      readEvery: READ_EVERY,
      what: `Batch ${id}`,
      read: () => this.batchStatus(id),
      resultOf: (status) => (status.finishedAt === null ? null : { result: status }),
      listen: (callback) =>
        events.on("batch.finished", (event) => {
          if (event.id === id) callback();
        }),
      state: ({ unfinished, total, sealedAt }) =>
        `: ${unfinished} of ${total} members have not ended${sealedAt === null ? ", and it is not sealed" : ""}.`,
    });
  }
}
