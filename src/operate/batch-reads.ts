import { type BatchInfo, type BatchStatus, toBatchInfo, toBatchStatus } from "../run/batch.ts";
import type { StoreReads } from "../store/reads.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import { checkId } from "./run-query.ts";

/** Options of `batches()`. */
export interface BatchesOptions {
  /** At most 1,000. Default: 50. */
  limit?: number | undefined;
  /** `next` of the previous page. */
  before?: number | undefined;
  /** Only batches with a larger id. */
  after?: number | undefined;
  /** Only these, at most 1,000. */
  ids?: readonly number[] | undefined;
  /** Only batches that have not finished. Default: all. */
  unfinished?: boolean | undefined;
}

/** One page of batches. */
export interface BatchesPage {
  batches: BatchInfo[];
  /** Value of `before` for the next page; null on the last one. */
  next: number | null;
}

/** The reads of batches. */
export abstract class BatchReads {
  protected abstract openReads(): Promise<StoreReads>;

  /** Returns a page of batches, the newest first. Batches are kept as long as their members, and at least 7 days. */
  async batches(options: BatchesOptions = {}): Promise<BatchesPage> {
    const known = { limit: true, before: true, after: true, ids: true, unfinished: true } as const;
    checkKeys(options, known, "batches()");
    const limit = checkInteger(options.limit ?? 50, "batches() limit", 1, 1000);
    const before = options.before === undefined ? null : checkId(options.before, "batches() before");
    const after = options.after === undefined ? null : checkId(options.after, "batches() after");
    const ids = options.ids?.map(checkBatchId) ?? null;
    checkInteger(ids?.length ?? 0, "batches() number of ids", 0, 1000);
    const unfinished = options.unfinished === true;
    const found = await (await this.openReads()).listBatches({ limit, before, after, ids, unfinished });
    return { batches: found.map(toBatchInfo), next: found.length < limit ? null : found.at(-1)!.id };
  }

  /** Returns a batch with its counts of this moment; null if it does not exist. */
  async findBatch(id: number): Promise<BatchStatus | null> {
    const record = await (await this.openReads()).batch(checkBatchId(id));
    return record && toBatchStatus(record);
  }
}

export function checkBatchId(id: number): number {
  return checkId(id, "the id of a batch");
}
