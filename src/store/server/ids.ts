import type { Clock } from "../../time.ts";
import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";

/** The most that is reserved beyond what is asked for. */
const LARGEST_BLOCK = 100;
const GROWTH = 4;

/** What is left of a block is given up by then: a run that comes later would seem to be older than those of others. */
const KEPT = 1000;

/**
 * Ids for new runs, reserved in blocks before they are used: an insert whose answer was lost can be sent again, because
 * it is known under which ids to look for its rows.
 */
export class Ids {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #clock: Clock;
  #reservedAt = 0;
  /** Grows while blocks are used up: who dispatches now and then leaves no gaps between the ids of his runs. */
  #block = 1;
  #free: number[] = [];
  #reserving: Promise<void> = Promise.resolve();

  constructor(db: ServerDatabase, tables: Tables, clock: Clock) {
    this.#db = db;
    this.#t = tables;
    this.#clock = clock;
  }

  /** `sql` is what more are asked for by, where there are not enough left. */
  take(count: number, sql: Sql): Promise<number[]> {
    const mine = this.#reserving.then(async () => {
      if (this.#clock.monotonic() - this.#reservedAt > KEPT) {
        this.#free = [];
        this.#block = 1;
      }
      const missing = count - this.#free.length;
      if (missing > 0) {
        // A block for the small ones that come after this; but not in a transaction that may be rolled back with all it wrote.
        const isOwn = sql === this.#db;
        const more = await this.#db.newIds(sql, this.#t, isOwn ? Math.max(missing, this.#block) : missing);
        if (isOwn) this.#block = Math.min(LARGEST_BLOCK, this.#block * GROWTH);
        this.#free = this.#free.concat(more as number[]);
        this.#reservedAt = this.#clock.monotonic();
      }
      return this.#free.splice(0, count);
    });
    this.#reserving = mine.then(
      () => {},
      () => {},
    );
    return mine;
  }
}
