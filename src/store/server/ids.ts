import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";

const BLOCK = 100;

/**
 * Ids for new runs, reserved in blocks before they are used: an insert whose answer was lost can be sent again, because
 * it is known under which ids to look for its rows.
 */
export class Ids {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  #free: number[] = [];
  #reserving: Promise<void> = Promise.resolve();

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** `sql` is what more are asked for by, where there are not enough left. */
  take(count: number, sql: Sql): Promise<number[]> {
    const mine = this.#reserving.then(async () => {
      const missing = count - this.#free.length;
      if (missing > 0) {
        // A block for the small ones that come after this; but not in a transaction that may be rolled back with all it wrote.
        const isOwn = sql === this.#db;
        const more = await this.#db.newIds(sql, this.#t, isOwn && missing < BLOCK ? BLOCK : missing);
        this.#free.push(...(more as number[]));
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
