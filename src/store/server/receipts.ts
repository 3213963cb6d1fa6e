import { randomInt } from "node:crypto";
import { first, marks, type ServerDatabase, type Sql, type Statement, type Tables } from "../sql/database.ts";

/** Longer than any insert is sent again. */
const KEPT = 10 * 60_000;

/** So many are deleted at a time. */
const BATCH = 1000;

/**
 * A row for each insert, in its own transaction. It tells an insert that was committed, though the answer was lost, from
 * one that never arrived, also when the runs have come and gone.
 */
export interface Receipt {
  /** The first of the ids that were reserved for the insert. */
  id: number;
  /** Random. After a failover to a replica that lags, others may be given the same id. */
  nonce: number;
}

export function newReceipt(id: number): Receipt {
  return { id, nonce: randomInt(2 ** 48 - 1) };
}

export class Receipts {
  readonly #db: ServerDatabase;
  readonly #t: Tables;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  statement({ id, nonce }: Receipt, now: number): Statement {
    return { text: this.#insert("?", "?", "?"), params: [id, now, nonce] };
  }

  /** Without parameters, to go along with `begin`. */
  literal({ id, nonce }: Receipt, now: number): string {
    return this.#insert(id, now, nonce);
  }

  #insert(...values: (number | "?")[]): string {
    return `insert into ${this.#t.receipts} (id, created_at, nonce) values (${values.join(", ")})`;
  }

  /**
   * Whether the insert with this receipt was committed. If not, it cannot be committed any more: a row without a nonce
   * takes its place. Waits for an insert that the server is not through with.
   */
  async find(tx: Sql, { id, nonce }: Receipt, now: number): Promise<boolean> {
    await tx.run(
      this.#db.upsert(this.#t.receipts, ["id"], ["id", "created_at"], [{ column: "found", to: "1" }]),
      id,
      now,
    );
    const text = `select nonce from ${this.#t.receipts} where id = ?`;
    return (await first(tx.all<{ nonce: number | null }>(text, id)))?.nonce === nonce;
  }

  /** In the order of their ids, which is nearly that of time: an index by time would cost every insert. */
  async prune(now: number): Promise<void> {
    for (;;) {
      const rows = await this.#db.all<{ id: number; created_at: number }>(
        `select id, created_at from ${this.#t.receipts} order by id limit ?`,
        BATCH,
      );
      const old = rows.filter(({ created_at }) => created_at < now - KEPT).map(({ id }) => id);
      if (old.length === 0) return;
      await this.#db.run(`delete from ${this.#t.receipts} where id in (${marks(old)})`, ...old);
      if (old.length < BATCH) return;
    }
  }
}
