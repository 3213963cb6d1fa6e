import type { Clock } from "../../time.ts";
import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";

/** Most ids that are reserved at a time for an insert that needs fewer. */
const MAX_BLOCK = 100;

/** Each block that is used up makes the next one this many times as large. */
const GROWTH = 4;

/** Milliseconds for which a block is used. A run with an older id would sort before those of other processes. */
const MAX_AGE = 1000;

/**
 * Ids that are skipped when another server has become the primary: more than runs can have been lost with the old one,
 * at 30,000 dispatches a second for half a minute (note 54).
 */
export const ID_GAP = 1_000_000;

export interface ReservedIds {
  ids: number[];
  /** How many connections had been lost when the ids were reserved. */
  losses: number;
}

/**
 * Reserves ids for new runs before they are inserted. An insert whose answer was lost can then be sent again: its ids
 * tell where to look for its rows. A lost connection discards the reserved ids: it may mean a failover, and a new
 * primary that lagged hands out the same ids again.
 */
export class Ids {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #clock: Clock;
  #reservedAt = 0;
  /** Ids in the next block. It begins at 1 and grows with use: a process that dispatches rarely leaves no gaps. */
  #block = 1;
  #free: ReservedIds = { ids: [], losses: -1 };
  #reserving: Promise<void> = Promise.resolve();
  /** How many connections had been lost when new ids were last compared with those of existing runs. */
  #compared = -1;
  /** The highest id that this process has reserved. A new primary may not have reached it. */
  #highestReserved = 0;

  constructor(db: ServerDatabase, tables: Tables, clock: Clock) {
    this.#db = db;
    this.#t = tables;
    this.#clock = clock;
  }

  /** Returns ids from the block; if there are too few, reserves more through `sql`. */
  take(count: number, sql: Sql): Promise<ReservedIds> {
    const mine = this.#reserving.then(async () => {
      if (this.#age > MAX_AGE || !this.isCurrent(this.#free)) this.drop();
      const missing = count - this.#free.ids.length;
      if (missing > 0) {
        // Later inserts use the rest of the block. A transaction may be rolled back, so it reserves only what is
        // missing.
        const isOwn = sql === this.#db;
        const { losses } = this.#db;
        const more = await this.#reserve(sql, isOwn ? Math.max(missing, this.#block) : missing, losses);
        if (isOwn) this.#block = Math.min(MAX_BLOCK, this.#block * GROWTH);
        this.#free = { ids: this.#free.ids.concat(more), losses };
        this.#reservedAt = this.#clock.monotonic();
      }
      return { ids: this.#free.ids.splice(0, count), losses: this.#free.losses };
    });
    this.#reserving = mine.then(() => (sql === this.#db ? this.#reserveAhead() : undefined)).catch(() => {});
    return mine;
  }

  /**
   * Reserves the next block of a process that inserts often, before an insert has to wait for it: the round trip would
   * double the time from a dispatch to its handler (note 38).
   */
  async #reserveAhead(): Promise<void> {
    const isUsedUp = this.#free.ids.length === 0;
    if (this.#block <= GROWTH || !(isUsedUp || this.#age > MAX_AGE / 2)) return;
    const { losses } = this.#db;
    const ids = await this.#reserve(this.#db, isUsedUp ? this.#block : this.#block / GROWTH, losses);
    if (isUsedUp) this.#block = Math.min(MAX_BLOCK, this.#block * GROWTH);
    this.#free = { ids, losses };
    this.#reservedAt = this.#clock.monotonic();
  }

  get #age(): number {
    return this.#clock.monotonic() - this.#reservedAt;
  }

  /** Whether no connection was lost since these ids were reserved. */
  isCurrent({ losses }: Pick<ReservedIds, "losses">): boolean {
    return losses === this.#db.losses;
  }

  /** Discards the rest of the block. */
  drop(): void {
    this.#free = { ids: [], losses: -1 };
    this.#block = 1;
  }

  /**
   * Reserves ids above those of all runs, and above those that this process has reserved. The first reservation
   * compares them, and so does the first one after a lost connection: before a failover is noticed, a process may
   * insert runs under ids that the new primary has not reached.
   */
  async #reserve(sql: Sql, count: number, losses: number): Promise<number[]> {
    const isCompared = losses === this.#compared;
    const above = isCompared ? 0 : Math.max(this.#highestReserved, await this.#highest(sql));
    const ids = (await this.#db.newIds(sql, this.#t, count, above)) as number[];
    this.#compared = losses;
    this.#highestReserved = Math.max(this.#highestReserved, ids.at(-1)!);
    return ids;
  }

  async #highest(sql: Sql): Promise<number> {
    const [row] = await sql.all<{ id: number | null }>(
      `select max(id) as id from (select max(id) as id from ${this.#t.runs} union all select max(id) from ${this.#t.history}) as both_tables`,
    );
    return row?.id ?? 0;
  }
}
