import type { ServerDatabase, Sql, Transaction } from "../sql/database.ts";
import type { InsertResult, NewRun } from "../store.ts";
import type { Ids } from "./ids.ts";
import type { Inserter, Numbered } from "./insert.ts";
import { newReceipt, type Receipt, type Receipts } from "./receipts.ts";

/** How often an insert whose ids are taken is sent under others. */
const TRIES = 5;

export interface DeliveryParts {
  db: ServerDatabase;
  ids: Ids;
  inserter: Inserter;
  receipts: Receipts;
}

/** An insert as it is sent. */
interface Sending {
  receipt: Receipt;
  runs: Numbered[];
  losses: number;
}

/** One insert, sent until it is known that it was committed once. */
export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #runs: NewRun[];
  readonly #now: number;
  /** What may have been committed, though no answer came. */
  readonly #doubtful: Sending[] = [];

  constructor(parts: DeliveryParts, runs: NewRun[], now: number) {
    this.#parts = parts;
    this.#runs = runs;
    this.#now = now;
  }

  async send(): Promise<InsertResult[]> {
    const { db, ids } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#send();
      } catch (error) {
        if (!db.isIdTaken(error) || tries === TRIES) throw error;
        // Nothing was written. Those that are left of the block are most likely taken too.
        ids.drop();
      }
    }
  }

  async #send(): Promise<InsertResult[]> {
    const { db, inserter, receipts } = this.#parts;
    if (this.#doubtful.length > 0) return db.transaction((tx) => this.#sendAgain(tx));
    const first = await this.#number(db);
    if (this.#runs.some(({ unique }) => unique !== null)) return this.#sendKeyed(first);
    let inserted = first.runs.map(({ id }) => ({ id, inserted: true }));
    await db.both(
      receipts.statement(first.receipt, this.#now),
      inserter.statement(first.runs, this.#now),
      async (tx) => {
        if (!this.#doubtful.includes(first)) this.#doubtful.push(first);
        inserted = await this.#sendAgain(tx);
      },
    );
    return inserted;
  }

  #sendKeyed(first: Sending): Promise<InsertResult[]> {
    const { db, ids, inserter, receipts } = this.#parts;
    let sent = first;
    return db.transaction(
      async (tx) => {
        if (tx.again) {
          if (!this.#doubtful.includes(sent)) this.#doubtful.push(sent);
          return this.#sendAgain(tx);
        }
        // The receipt has left with `begin`; it holds for whichever ids its transaction inserts.
        if (!ids.isCurrent(sent)) sent = { ...(await this.#number(tx)), receipt: first.receipt };
        return inserter.insert(tx, sent.runs, this.#now);
      },
      { first: receipts.literal(first.receipt, this.#now) },
    );
  }

  /** Finds out which of the earlier tries was committed; if none, inserts under ids of the server that answers now. */
  async #sendAgain(tx: Transaction): Promise<InsertResult[]> {
    const { inserter, receipts } = this.#parts;
    for (const { receipt, runs } of this.#doubtful) {
      if (await receipts.find(tx, receipt, this.#now)) return inserter.recall(tx, runs, this.#now);
    }
    const sending = await this.#number(tx);
    const { text, params } = receipts.statement(sending.receipt, this.#now);
    await tx.run(text, ...params);
    const inserted = await inserter.insert(tx, sending.runs, this.#now);
    this.#doubtful.push(sending);
    return inserted;
  }

  async #number(sql: Sql): Promise<Sending> {
    const { ids, losses } = await this.#parts.ids.take(this.#runs.length, sql);
    const runs = this.#runs.map((run, index) => ({ run, id: ids[index]! }));
    return { receipt: newReceipt(ids[0]!), runs, losses };
  }
}
