import { randomNonce } from "../../random.ts";
import type { Transaction } from "../sql/database.ts";
import {
  first,
  placeholders,
  type ServerDatabase,
  type Sql,
  type Statement,
  type Tables,
} from "../sql/database.ts";
import type { InsertResult, NewRun } from "../store.ts";
import type { Ids } from "./ids.ts";
import type { Inserter, NumberedRun } from "./insert.ts";
import type { MemberInserter } from "./member-insert.ts";

/** Tries of an insert whose ids are taken, each with new ids. */
const ID_TRIES = 5;

export interface DeliveryParts {
  db: ServerDatabase;
  ids: Ids;
  inserter: Inserter;
  receipts: Receipts;
  /** See `ServerParts`. */
  announcement(runs: number): Statement | null;
}

/** One try of an insert. */
interface InsertTry {
  receipt: Receipt;
  runs: NumberedRun[];
  losses: number;
  /** The batch that the runs become members of; null: none. */
  batch: number | null;
}

/** Sends one insert until it is known to be committed exactly once (note 16). */
export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #runs: NewRun[];
  readonly #now: number;
  readonly #members: MemberInserter | null;
  /** Tries that may have been committed: their answers were lost. */
  readonly #doubtful: InsertTry[] = [];
  /** Whether the announcement was sent behind the insert. */
  isAnnounced = false;
  /** The batch of the runs, once they are inserted. */
  batch: number | null = null;

  /** `members` null: the runs become members of no batch. */
  constructor(parts: DeliveryParts, runs: NewRun[], now: number, members: MemberInserter | null) {
    this.#parts = parts;
    this.#runs = runs;
    this.#now = now;
    this.#members = members;
  }

  async send(): Promise<InsertResult[]> {
    const { db, ids } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#send();
      } catch (error) {
        if (!db.isIdTaken(error) || tries === ID_TRIES) throw error;
        // Nothing was written. The remaining ids of the block are probably taken as well.
        ids.drop();
      }
    }
  }

  /** Inserts once in a caller's transaction: only the caller can send it again. `committed`: see `Inserter`. */
  async within(tx: Sql, committed: Sql): Promise<InsertResult[]> {
    const { db, ids } = this.#parts;
    const only = await this.#newTry(tx);
    try {
      return await this.#insert(tx, only, committed);
    } catch (error) {
      if (db.isIdTaken(error)) ids.drop();
      throw error;
    }
  }

  async #send(): Promise<InsertResult[]> {
    const { db, inserter, receipts } = this.#parts;
    if (this.#doubtful.length > 0) return db.transaction((tx) => this.#sendAgain(tx));
    const firstTry = await this.#newTry(db);
    if (this.#members || this.#runs.some(({ unique }) => unique !== null)) return this.#sendKeyed(firstTry);
    let inserted = firstTry.runs.map(({ id }) => ({ id, inserted: true }));
    const announcement = this.#parts.announcement(this.#runs.length);
    this.isAnnounced = announcement !== null;
    await db.insertTogether(
      receipts.statement(firstTry.receipt, this.#now),
      inserter.statement(firstTry.runs, this.#now),
      async (tx) => {
        this.isAnnounced = false;
        if (!this.#doubtful.includes(firstTry)) this.#doubtful.push(firstTry);
        inserted = await this.#sendAgain(tx);
      },
      announcement,
    );
    return inserted;
  }

  #sendKeyed(firstTry: InsertTry): Promise<InsertResult[]> {
    const { db, ids, receipts } = this.#parts;
    let sent = firstTry;
    return db.transaction(
      async (tx) => {
        if (tx.again) {
          if (!this.#doubtful.includes(sent)) this.#doubtful.push(sent);
          return this.#sendAgain(tx);
        }
        // The receipt was sent with `begin`. It proves the commit of any ids that its transaction inserts.
        if (!ids.isCurrent(sent)) sent = { ...(await this.#newTry(tx)), receipt: firstTry.receipt };
        return this.#insert(tx, sent);
      },
      { first: receipts.literal(firstTry.receipt, this.#now) },
    );
  }

  /** Finds out which doubtful try was committed. If none was, inserts under new ids of the server that answers now. */
  async #sendAgain(tx: Transaction): Promise<InsertResult[]> {
    const { inserter, receipts } = this.#parts;
    for (const { receipt, runs, batch } of this.#doubtful) {
      if (!(await receipts.find(tx, receipt, this.#now))) continue;
      this.batch = batch;
      return inserter.recall(tx, runs, this.#now);
    }
    const nextTry = await this.#newTry(tx);
    const { text, params } = receipts.statement(nextTry.receipt, this.#now);
    await tx.run(text, ...params);
    const inserted = await this.#insert(tx, nextTry);
    this.#doubtful.push(nextTry);
    return inserted;
  }

  async #insert(tx: Sql, { runs, batch }: InsertTry, committed?: Sql): Promise<InsertResult[]> {
    this.batch = batch;
    const { inserter } = this.#parts;
    return this.#members
      ? this.#members.insert(tx, { runs, batch: batch! }, this.#now, committed)
      : inserter.insert(tx, runs, this.#now, committed);
  }

  async #newTry(sql: Sql): Promise<InsertTry> {
    const isNew = this.#members?.creates ?? false;
    const { ids, losses } = await this.#parts.ids.take(this.#runs.length + (isNew ? 1 : 0), sql);
    const receipt = newReceipt(ids[0]!);
    const batch = isNew ? ids.shift()! : (this.#members?.batch ?? null);
    const runs = this.#runs.map((run, index) => ({
      run: batch === null ? run : { ...run, batchId: String(batch) },
      id: ids[index]!,
    }));
    return { receipt, runs, losses, batch };
  }
}

/** How long a receipt is kept, in milliseconds: longer than any insert is tried again. */
const RECEIPT_RETENTION = 10 * 60_000;

/** Receipts that one statement deletes. */
const PRUNE_BATCH = 1000;

/**
 * A row that an insert writes in its transaction. If the answer is lost, the receipt tells whether the insert was
 * committed, even if its runs have finished and were deleted meanwhile.
 */
export interface Receipt {
  /** The first of the ids that were reserved for the insert. */
  id: number;
  /** Random: after a failover to a replica that lags, another insert may get the same id. */
  nonce: number;
}

function newReceipt(id: number): Receipt {
  return { id, nonce: randomNonce() };
}

export class Receipts {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #text: string;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
    this.#text = this.#insert("?", "?", "?");
  }

  statement({ id, nonce }: Receipt, now: number): Statement {
    return { text: this.#text, params: [id, now, nonce] };
  }

  /** Returns the same statement without parameters, to be sent along with `begin`. */
  literal({ id, nonce }: Receipt, now: number): string {
    return this.#insert(id, now, nonce);
  }

  #insert(...values: (number | "?")[]): string {
    return `insert into ${this.#t.receipts} (id, created_at, nonce) values (${values.join(", ")})`;
  }

  /**
   * Whether the insert with this receipt was committed. Waits for an insert that the server is still executing. If
   * there is no receipt, writes one without a nonce, so that the insert can no longer be committed.
   */
  async find(tx: Sql, { id, nonce }: Receipt, now: number): Promise<boolean> {
    await tx.run(
      this.#db.upsert({
        table: this.#t.receipts,
        key: ["id"],
        columns: ["id", "created_at"],
        update: [{ column: "found", to: "1" }],
      }),
      id,
      now,
    );
    const text = `select nonce from ${this.#t.receipts} where id = ?`;
    return (await first(tx.all<{ nonce: number | null }>(text, id)))?.nonce === nonce;
  }

  /** Deletes old receipts in order of id, which is nearly that of time: an index by time would slow every insert. */
  async prune(now: number): Promise<void> {
    for (;;) {
      const rows = await this.#db.all<{ id: number; created_at: number }>(
        `select id, created_at from ${this.#t.receipts} order by id limit ?`,
        PRUNE_BATCH,
      );
      const old = rows.filter(({ created_at }) => created_at < now - RECEIPT_RETENTION).map(({ id }) => id);
      if (old.length === 0) return;
      await this.#db.run(`delete from ${this.#t.receipts} where id in (${placeholders(old)})`, ...old);
      if (old.length < PRUNE_BATCH) return;
    }
  }
}
