import { realRandom } from "../../random.ts";
import { sleepReal, systemClock } from "../../time.ts";
import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";
import type { ExchangeRequest } from "../store.ts";

/** Longest that an exchange which is sent again waits for its earlier try to end, in milliseconds. */
const EARLIER_TRY = 10_000;

/** The rows of `exchanges`, one for each stream. Every exchange holds the row of its stream until it commits. */
export class StreamRows {
  readonly #db: ServerDatabase;
  readonly #t: Tables;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** Locks the row. On a cluster, two tries on two nodes both get the lock, but only one can write to the row. */
  hold(tx: Sql, request: ExchangeRequest): Promise<void> {
    if (this.#db.isMultiWriter) return this.close(tx, request);
    return tx.run(...this.#select(request, this.#db.forUpdate));
  }

  /** Writes the number of the exchange to the row: earlier ones of the stream take nothing from then on. */
  close(tx: Sql, { worker, stream, seq }: ExchangeRequest): Promise<void> {
    const text = `update ${this.#t.exchanges} set seq = ? where worker = ? and stream = ?`;
    return tx.run(text, seq, worker, stream);
  }

  /**
   * Waits until an earlier try of this exchange has ended: the server may still be committing it, and its claims and
   * settlements are not visible before. The wait is bounded, because a server may take hours to notice a lost
   * connection.
   */
  async waitForEarlierTry(tx: Sql, request: ExchangeRequest): Promise<void> {
    const since = systemClock.monotonic();
    while (systemClock.monotonic() - since < EARLIER_TRY) {
      if ((await tx.all(...this.#select(request, this.#db.skipLocked))).length > 0) return;
      if ((await tx.all(...this.#select(request, ""))).length === 0) return;
      await sleepReal(20 + realRandom() * 30);
    }
  }

  /** Returns the statement that reads the row, and its parameters. */
  #select({ worker, stream }: ExchangeRequest, lock: string): [string, string, number] {
    const text = `select seq from ${this.#t.exchanges} where worker = ? and stream = ?${lock}`;
    return [text, worker, stream];
  }
}
