import { Batch, type BatchControl, batchRefused } from "../run/batch.ts";
import type { BatchCallback, NewBatch, NewMembers } from "../store/batches.ts";
import type { InsertResult, NewRun, Store } from "../store/store.ts";
import { InsertGroup } from "./insert-group.ts";

export interface BatchSenderParts {
  /** Opens the database on first use. */
  openStore(): Promise<Store>;
  control: BatchControl;
  /** Called after each insert, to emit events and wake the worker of this process. */
  sent(runs: NewRun[], inserted: InsertResult[]): void;
}

/** A batch that is to be made. */
export interface BatchPlan {
  name: string;
  cancels: boolean;
  /** Whether members may be added later. */
  isOpen: boolean;
  callbacks(): Promise<BatchCallback[]>;
  members: AsyncIterable<NewRun>;
}

/** Inserts batches and their members, in groups of rows. */
export class BatchSender {
  readonly #parts: BatchSenderParts;

  constructor(parts: BatchSenderParts) {
    this.#parts = parts;
  }

  /**
   * Makes a batch. It is sealed with its last group of members, so that it cannot finish before. If a later group
   * fails, the batch is cancelled.
   */
  async create({ name, cancels, isOpen, callbacks, members }: BatchPlan, tx: unknown): Promise<Batch> {
    const { control } = this.#parts;
    const batch: NewBatch = { name, cancels, callbacks: await callbacks() };
    const { batches } = await this.#parts.openStore();
    let id: number | null = null;
    let added = 0;
    try {
      for await (const { runs, isLast } of groupsOf(members)) {
        const seal = isLast && !isOpen;
        if (id === null) {
          const created = await batches.create(batch, runs, { seal }, tx);
          id = created.id;
          added += this.#sent(runs, created.inserted);
        } else added += await this.#insert(id, runs, { seal }, tx);
      }
    } catch (error) {
      // The caller gets the first error. A batch that could not be cancelled stays open, and the doctor names it.
      if (id !== null && tx === undefined) await batches.cancel(id).catch(() => {});
      throw error;
    }
    return new Batch(id!, added, control);
  }

  /** Adds members to a batch, and returns how many were added. */
  async add(id: number, members: AsyncIterable<NewRun>, byMember: boolean): Promise<number> {
    let added = 0;
    for await (const { runs } of groupsOf(members)) {
      if (runs.length > 0) added += await this.#insert(id, runs, { seal: false, byMember }, undefined);
    }
    return added;
  }

  async #insert(id: number, runs: NewRun[], options: NewMembers, tx: unknown): Promise<number> {
    const { batches } = await this.#parts.openStore();
    const inserted = await batches.add(id, runs, options, tx);
    if (!Array.isArray(inserted)) throw batchRefused("add to", id, inserted);
    return this.#sent(runs, inserted);
  }

  #sent(runs: NewRun[], inserted: InsertResult[]): number {
    this.#parts.sent(runs, inserted);
    return inserted.filter((one) => one.inserted).length;
  }
}

/** Yields the rows in groups for one insert each; without rows, one empty group. */
async function* groupsOf(rows: AsyncIterable<NewRun>): AsyncGenerator<{ runs: NewRun[]; isLast: boolean }> {
  const group = new InsertGroup();
  for await (const row of rows) {
    const full = group.add(row);
    if (full) yield { runs: full, isLast: false };
  }
  yield { runs: group.take(), isLast: true };
}
