import type { Clock } from "../../time.ts";
import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";

/** The most that is reserved beyond what is asked for. */
const LARGEST_BLOCK = 100;
const GROWTH = 4;

/** What is left of a block is given up by then: a run that comes later would seem to be older than those of others. */
const KEPT = 1000;

/** The most ids that one statement skips. */
const LARGEST_STEP = 10_000;

/** Ids, and how many connections had been lost when they were reserved. */
export interface Reserved {
  ids: number[];
  losses: number;
}

/**
 * Ids for new runs, reserved in blocks before they are used: an insert whose answer was lost can be sent again, because
 * it is known under which ids to look for its rows. A connection that is lost may have been lost to a failover, and the
 * new primary, if it lagged, hands out the reserved ids once more: they are given up.
 */
export class Ids {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #clock: Clock;
  #reservedAt = 0;
  /** Grows while blocks are used up: who dispatches now and then leaves no gaps between the ids of his runs. */
  #block = 1;
  #free: Reserved = { ids: [], losses: -1 };
  #reserving: Promise<void> = Promise.resolve();
  /** How many connections had been lost when new ids were last compared with those of the runs. */
  #compared = -1;

  constructor(db: ServerDatabase, tables: Tables, clock: Clock) {
    this.#db = db;
    this.#t = tables;
    this.#clock = clock;
  }

  /** `sql` is what more are asked for by, where there are not enough left. */
  take(count: number, sql: Sql): Promise<Reserved> {
    const mine = this.#reserving.then(async () => {
      const isOld = this.#clock.monotonic() - this.#reservedAt > KEPT;
      if (isOld || !this.isCurrent(this.#free)) this.drop();
      const missing = count - this.#free.ids.length;
      if (missing > 0) {
        // A block for the small ones that come after this; but not in a transaction that may be rolled back with all it wrote.
        const isOwn = sql === this.#db;
        const { losses } = this.#db;
        const more = await this.#reserve(sql, isOwn ? Math.max(missing, this.#block) : missing, losses);
        if (isOwn) this.#block = Math.min(LARGEST_BLOCK, this.#block * GROWTH);
        this.#free = { ids: this.#free.ids.concat(more), losses };
        this.#reservedAt = this.#clock.monotonic();
      }
      return { ids: this.#free.ids.splice(0, count), losses: this.#free.losses };
    });
    this.#reserving = mine.then(
      () => {},
      () => {},
    );
    return mine;
  }

  /** Whether no connection was lost since these were reserved. */
  isCurrent({ losses }: Pick<Reserved, "losses">): boolean {
    return losses === this.#db.losses;
  }

  /** Gives up what is left of the last block. */
  drop(): void {
    this.#free = { ids: [], losses: -1 };
    this.#block = 1;
  }

  /**
   * Ids above those of all runs. They are compared once, and again after a loss: before a failover was noticed, a process
   * may have inserted runs under ids that the new primary has not reached yet.
   */
  async #reserve(sql: Sql, count: number, losses: number): Promise<number[]> {
    let ids = await this.#newIds(sql, count);
    if (losses === this.#compared) return ids;
    const highest = await this.#highest(sql);
    while (ids[0]! <= highest) {
      const step = Math.min(LARGEST_STEP, highest - ids[0]! + count);
      ids = (await this.#newIds(sql, step)).slice(-count);
    }
    this.#compared = losses;
    return ids;
  }

  async #newIds(sql: Sql, count: number): Promise<number[]> {
    return (await this.#db.newIds(sql, this.#t, count)) as number[];
  }

  async #highest(sql: Sql): Promise<number> {
    const [row] = await sql.all<{ id: number | null }>(
      `select max(id) as id from (select max(id) as id from ${this.#t.runs} union all select max(id) from ${this.#t.history}) as both_tables`,
    );
    return row?.id ?? 0;
  }
}
