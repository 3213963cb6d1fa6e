import { type FinishedState, finishedStates } from "../../run/states.ts";
import type { SqlContext } from "./context.ts";
import { inGroups } from "./database.ts";

/** Returns the batch that a run is a member of, from its column `batch_id`; null: none. */
export function batchOf(batchId: string | null | undefined): number | null {
  // The members of one `dispatchMany()` share a UUID, and a callback has the id of its batch with a suffix.
  return typeof batchId === "string" && /^[1-9]\d{0,14}$/.test(batchId) ? Number(batchId) : null;
}

/** The columns of `batch_counts` that count members. */
export const MEMBER_COUNTS: readonly ("added" | FinishedState)[] = ["added", ...finishedStates];

/** Rows that one statement writes. */
const ROWS_AT_ONCE = 100;

/** Rows that transactions outside of exchanges share: enough that they seldom wait for one another. */
const SHARED_ROWS = 32;

/** Counts the members of batches that one transaction ends, and writes the counts with it. */
export class BatchTally {
  readonly #counts = new Map<number, Map<FinishedState, number>>();
  readonly #touched: Set<number>;

  /** The tally adds each batch to `touched`, so that the caller can look at it after the commit. */
  constructor(touched: Set<number>) {
    this.#touched = touched;
  }

  /** Counts a run that has ended, or with `by` -1 one that waits again. */
  count(batchId: string | null | undefined, state: FinishedState, by = 1): void {
    const batch = batchOf(batchId);
    if (batch === null) return;
    const counts = this.#counts.get(batch) ?? new Map<FinishedState, number>();
    this.#counts.set(batch, counts);
    counts.set(state, (counts.get(state) ?? 0) + by);
    this.#touched.add(batch);
  }

  /**
   * Adds the counts to the rows of `who`, one for each batch. No other transaction that is under way at the same time
   * should have the same `who`: one row for all workers would make them wait for each other (note 8).
   */
  async write(tx: SqlContext, who: string): Promise<void> {
    if (this.#counts.size === 0) return;
    const sorted = [...this.#counts].sort(([a], [b]) => a - b);
    for (const group of inGroups(sorted, ROWS_AT_ONCE)) {
      await tx.run(
        addCounts(tx, group.length),
        ...group.flatMap(([batch, counts]) => [
          batch,
          who,
          0,
          ...finishedStates.map((state) => counts.get(state) ?? 0),
        ]),
      );
    }
  }
}

/** Returns the `who` of a transaction that is no exchange. It depends on the first run that the transaction ends. */
export function countRowOf(runs: readonly { id: number }[]): string {
  return `t${(runs[0]?.id ?? 0) % SHARED_ROWS}`;
}

/** Returns a statement that adds to the counts of `rows` rows. */
export function addCounts({ db, t }: Pick<SqlContext, "db" | "t">, rows = 1): string {
  return db.upsert({
    table: t.batch_counts,
    key: ["batch", "who"],
    columns: ["batch", "who", ...MEMBER_COUNTS],
    update: MEMBER_COUNTS.map((column) => ({
      column,
      to: `${t.batch_counts}.${column} + excluded.${column}`,
    })),
    rows,
  });
}
