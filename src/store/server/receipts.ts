import { first, marks, type ServerDatabase, type Sql, type Statement, type Tables } from "../sql/database.ts";

/** Longer than any insert is sent again. */
const KEPT = 10 * 60_000;

/** So many are deleted at a time. */
const BATCH = 1000;

/**
 * A row for each insert, in its own transaction. It tells an insert that was committed, though the answer was lost, from
 * one that never arrived, also when the runs have come and gone. Its id is the first of theirs, which was reserved for
 * this insert alone.
 */
export class Receipts {
  readonly #db: ServerDatabase;
  readonly #t: Tables;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  statement(id: number, now: number): Statement {
    return { text: this.#insert("?", "?"), params: [id, now] };
  }

  /** Without parameters, to go along with `begin`. */
  literal(id: number, now: number): string {
    return this.#insert(id, now);
  }

  #insert(id: number | "?", now: number | "?"): string {
    return `insert into ${this.#t.receipts} (id, created_at) values (${id}, ${now})`;
  }

  /** Whether an earlier try was committed; if not, the receipt is written now. Waits for one that the server is not through with. */
  async find(tx: Sql, id: number, now: number): Promise<boolean> {
    await tx.run(
      this.#db.upsert(this.#t.receipts, ["id"], ["id", "created_at"], [{ column: "found", to: "1" }]),
      id,
      now,
    );
    const text = `select found from ${this.#t.receipts} where id = ?`;
    return (await first(tx.all<{ found: number }>(text, id)))?.found === 1;
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
