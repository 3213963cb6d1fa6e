import type { ServerDatabase, Tables } from "../sql/database.ts";

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

  take(count: number): Promise<number[]> {
    const mine = this.#reserving.then(async () => {
      const missing = count - this.#free.length;
      if (missing > 0) {
        // What a bulk insert needs is reserved exactly; small ones share a block.
        const more = await this.#db.newIds(this.#db, this.#t, Math.max(missing, count < BLOCK ? BLOCK : 0));
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
