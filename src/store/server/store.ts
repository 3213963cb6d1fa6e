import { backOff } from "../../time.ts";
import type { Transaction } from "../sql/database.ts";
import { SqlStore } from "../sql/store.ts";
import type { ExchangeRequest, ExchangeResult, Inserted, NewRun, Settlement } from "../store.ts";
import { Claimer } from "./claim.ts";
import { isIdle, readFacts } from "./facts.ts";
import { Ids } from "./ids.ts";
import { Inserter } from "./insert.ts";
import { Lent } from "./lent.ts";
import type { ServerParts } from "./parts.ts";
import { DatabaseTime } from "./time.ts";
import { Turns } from "./turns.ts";

/** Connections that are kept from handlers' transactions. */
const SPARE = 2;

/** How often a claim looks again whose gates others held. */
const TRIES = 5;

/** What PostgreSQL, MySQL and MariaDB do alike. */
export class ServerStore extends SqlStore {
  readonly #parts: ServerParts;
  readonly #time: DatabaseTime;
  readonly #ids: Ids;
  readonly #inserter: Inserter;
  readonly #claimer: Claimer;
  readonly #lent = new Lent();
  readonly #turns: Turns;

  constructor(parts: ServerParts) {
    const { db, schema, tables, clock } = parts;
    super(db, schema, tables);
    this.#parts = parts;
    this.#time = new DatabaseTime(clock, db.clock);
    this.#ids = new Ids(db, tables, clock);
    this.#inserter = new Inserter(db, tables);
    this.#claimer = new Claimer(db, tables);
    this.#turns = new Turns(Math.max(1, parts.connections - SPARE));
  }

  close(): Promise<void> {
    return this.#parts.close();
  }

  now(): Promise<number> {
    return this.#time.now(this.#parts.db);
  }

  async insert(runs: NewRun[], caller?: unknown): Promise<Inserted[]> {
    const { db, enter, announce } = this.#parts;
    const tx = caller === undefined ? null : (this.#lent.transactionOf(caller) ?? (await enter(caller)));
    if (runs.length === 0) return [];
    // By the caller's connection, if there is one: theirs may be the last one free.
    const now = await this.#time.now(tx ?? db);
    const ids = await this.#ids.take(runs.length, tx ?? db);
    const numbered = runs.map((run, index) => ({ run, id: ids[index]! }));
    const inserted = tx
      ? await this.#inserter.insert(tx, numbered, now, false)
      : await db.transaction((own) => this.#inserter.insert(own, numbered, now, own.again));
    if (inserted.some((one) => one.inserted)) await announce(tx);
    return inserted;
  }

  /** Handlers that write in a transaction must not hold all connections: their leases are renewed by others. */
  override transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean> {
    return this.#turns.run(() => super.transaction(settlement, work));
  }

  protected override callInside(work: (tx: unknown) => unknown, tx: Transaction): Promise<void> {
    return this.#lent.during(tx, work);
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const first = await this.#exchangeOnce(request);
    let { lost, ...result } = first;
    for (let tries = 1; lost && result.claimed.length === 0 && tries < TRIES; tries++) {
      await backOff(1 + Math.random() * 4);
      ({ lost, ...result } = await this.#exchangeOnce({ ...request, settle: [], started: [] }));
    }
    return { ...result, settled: first.settled };
  }

  async #exchangeOnce(request: ExchangeRequest): Promise<ExchangeResult & { lost: boolean }> {
    const { db, tables } = this.#parts;
    const { worker, claim } = request;
    const owner = claim?.owner ?? "";
    const now = await this.now();
    const settles = request.settle.length > 0 || request.started.length > 0;
    const idle = { settled: [], claimed: [], lost: false };
    // An idle worker looks, and opens no transaction.
    let looked = settles || request.again ? null : await readFacts(db, db, tables, { worker, owner }, now);
    if (looked && (!claim || isIdle(looked, now))) {
      return { ...idle, nextDue: looked.nextDue, cancelled: looked.cancelled };
    }
    return db.transaction(async (tx) => {
      const settled = await this.settleOnce(tx, request, now);
      let facts = looked ?? (await readFacts(tx, db, tables, { worker, owner }, now));
      // Begun anew, it may be some time later.
      looked = null;
      if (!claim) return { ...idle, settled, nextDue: facts.nextDue, cancelled: facts.cancelled };
      if (request.again || tx.again) {
        const claimed = await this.#claimer.claimedUnder(tx, claim.token, worker, now);
        if (claimed.length > 0) {
          return { ...idle, settled, claimed, nextDue: facts.nextDue, cancelled: facts.cancelled };
        }
      }
      if (facts.nextDue !== null && facts.nextDue <= now) {
        await this.#claimer.promote(tx, now);
        facts = await readFacts(tx, db, tables, { worker, owner }, now);
      }
      const { claimed, cancelled, lost } = await this.#claimer.claim(tx, claim, facts, worker, now);
      return {
        settled,
        claimed,
        lost,
        nextDue: facts.nextDue,
        cancelled: [...facts.cancelled, ...cancelled],
      };
    });
  }

  watch(onChange: () => void): () => void {
    return this.#parts.clock.manual ? () => {} : this.#parts.watch(onChange);
  }
}
