import { realRandom } from "../../random.ts";
import { type Clock, sleepReal, systemClock, yieldToEventLoop } from "../../time.ts";
import type { Inspection, InstallReport, PruneReport, PruneRequest } from "../maintenance.ts";
import type { CancelAnswer } from "../records.ts";
import type { ServerDatabase, Sql, Statement, Tables, Transaction } from "../sql/database.ts";
import { underCurrentName } from "../sql/former-names.ts";
import type { Schema } from "../sql/migrate.ts";
import { isOneStatement } from "../sql/settle.ts";
import { SqlStore } from "../sql/store.ts";
import {
  EXCHANGE_STREAMS,
  type ExchangeRequest,
  type ExchangeResult,
  type InsertResult,
  type NewRun,
  type Settlement,
} from "../store.ts";
import { Claimer, type ClaimResult } from "./claim.ts";
import { type ClaimFacts, isIdle } from "./claim-facts.ts";
import { DeclaredJobs } from "./declared-jobs.ts";
import { Delivery, type DeliveryParts, Receipts } from "./delivery.ts";
import { FormerNamesCache } from "./former-names-cache.ts";
import { Ids } from "./ids.ts";
import { Inserter } from "./insert.ts";
import { engineUnsafe, probeEngine } from "./install.ts";
import { Loans, Semaphore } from "./loans.ts";
import { DatabaseTime } from "./time.ts";

/** Fewest connections with which a worker has a second stream: some must be left for renewals and for handlers. */
const CONNECTIONS_FOR_TWO = 5;

/** Longest that an exchange which is sent again waits for its earlier try to end, in milliseconds. */
const EARLIER_TRY = 10_000;

/** Tries of a claim that found only runs whose gates other claims held. */
const GATE_TRIES = 5;

/**
 * Claims in a row that continue an unfinished lane walk. Without this bound they could repeat for ever: of several queues,
 * one may start over while another one ends.
 */
const ROUNDS = 50;

/** The parts of a store that the folder of a database server provides. */
export interface ServerParts {
  db: ServerDatabase;
  schema: Schema;
  tables: Tables;
  clock: Clock;
  /** Most connections that can be open at a time. */
  connections: number;
  /** Returns an Sql on the caller's transaction. Throws if `tx` is none, or is one on another database. */
  enter(tx: unknown): Promise<Sql>;
  /** Returns a statement that tells other processes of new runs, to be sent right behind their insert; null: none. */
  announcement(): Statement | null;
  /** Tells other processes of new runs: within the caller's transaction if there is one. */
  announce(caller: Sql | null): Promise<void>;
  /** See `Store`. */
  isWatched(): boolean;
  watch(onChange: () => void): () => void;
  /** Notifies the wake-up that an exchange is under way. Absent if the wake-up does not need to know. */
  exchanging?(work: Promise<unknown>): void;
  close(): Promise<void>;
}

interface ExchangeStep extends ExchangeResult, Pick<ClaimResult, "isGateHeld" | "isUnfinished"> {}

/** The store on PostgreSQL, MySQL and MariaDB. */
export class ServerStore extends SqlStore {
  readonly #parts: ServerParts;
  readonly #time: DatabaseTime;
  readonly #formerNames: FormerNamesCache;
  readonly #declared: DeclaredJobs;
  readonly #delivery: DeliveryParts;
  readonly #claimer: Claimer;
  readonly #loans = new Loans();
  readonly #handlerTransactions: Semaphore;
  readonly streams: number;

  constructor(parts: ServerParts) {
    const { db, schema, tables, clock } = parts;
    super(db, schema, tables);
    this.#parts = parts;
    this.#time = new DatabaseTime(clock, db.clock);
    this.#formerNames = new FormerNamesCache(this.sql, clock);
    this.#declared = new DeclaredJobs(this.sql, clock);
    this.#delivery = {
      db,
      ids: new Ids(db, tables, clock),
      inserter: new Inserter(db, tables),
      receipts: new Receipts(db, tables),
      announcement: () => parts.announcement(),
    };
    this.#claimer = new Claimer(db, tables, this.#time, clock);
    this.streams = parts.connections < CONNECTIONS_FOR_TWO ? 1 : EXCHANGE_STREAMS;
    // Transactions of handlers leave one connection to each stream of exchanges, and one to renewals.
    this.#handlerTransactions = new Semaphore(Math.max(1, parts.connections - this.streams - 1));
  }

  close(): Promise<void> {
    return this.#parts.close();
  }

  now(sql: Sql = this.#parts.db): Promise<number> {
    return this.#time.now(sql);
  }

  protected override readTime(sql: Sql): Promise<number> {
    return this.#time.read(sql);
  }

  /** Refuses an engine on which runs could execute twice, even if the tables exist: its settings may have changed. */
  override async install(options?: { dryRun?: boolean }): Promise<InstallReport> {
    const report = await super.install(options);
    const unsafe = options?.dryRun ? null : await this.#probe();
    if (unsafe === null) return report;
    throw engineUnsafe((await this.#parts.db.about()).version, unsafe);
  }

  override async inspect(): Promise<Inspection> {
    const found = await super.inspect();
    return found.schema.usable ? { ...found, unsafe: await this.#probe() } : found;
  }

  /** Returns null if the probe fails: a missing privilege or a lost server does not make the engine unsafe. */
  async #probe(): Promise<string | null> {
    const { db, tables, connections } = this.#parts;
    return probeEngine(db, tables, { connections, now: await this.now() }).catch(() => null);
  }

  async insert(runs: NewRun[], caller?: unknown): Promise<InsertResult[]> {
    const { db, enter, announce } = this.#parts;
    const lent = caller === undefined ? null : this.#loans.transactionOf(caller);
    const tx = caller === undefined ? null : (lent ?? (await enter(caller)));
    if (runs.length === 0) return [];
    // On the caller's connection, if there is one: it may be the last one of the pool.
    const now = await this.#time.now(tx ?? db);
    const formerNames = await this.#formerNames.read(tx ?? db);
    const named = runs.map((run) => underCurrentName(run, formerNames));
    const declaring = await this.#declareJobs(named, now, tx !== null);
    const delivery = new Delivery(this.#delivery, named, now);
    const inserted = await (tx ? this.#insertWithin(tx, named, now, lent ?? db.beside(tx)) : delivery.send());
    await declaring?.done;
    if (!delivery.isAnnounced && inserted.some((one) => one.inserted)) await announce(tx);
    return inserted;
  }

  /**
   * Gives the jobs of these runs rows, if they have none. Returns what to wait for after the insert. Inside a caller's
   * transaction there is nothing to wait for: it may hold the only connection, and must not depend on another one.
   */
  async #declareJobs(
    runs: NewRun[],
    now: number,
    isCallers: boolean,
  ): Promise<{ done: Promise<void> } | null> {
    const jobs = this.#declared.unsure(runs);
    if (!jobs) return null;
    const isKnown = isCallers || this.#declared.areKnown(jobs);
    // Sends the insert first, unless a row may be missing.
    const declared = (isKnown ? yieldToEventLoop() : Promise.resolve()).then(() =>
      this.#declared.declare(jobs, now),
    );
    if (!isKnown) await declared;
    // The next insert looks again.
    const done = declared.catch(() => {});
    return isCallers ? null : { done };
  }

  /** Inserts once: only the caller can send its transaction again. */
  async #insertWithin(tx: Sql, runs: NewRun[], now: number, committed: Sql): Promise<InsertResult[]> {
    const { ids, inserter } = this.#delivery;
    const reserved = await ids.take(runs.length, tx);
    const numbered = runs.map((run, index) => ({ run, id: reserved.ids[index]! }));
    try {
      return await inserter.insert(tx, numbered, now, committed);
    } catch (error) {
      if (this.#parts.db.isIdTaken(error)) ids.drop();
      throw error;
    }
  }

  /** Leaves connections for renewals: without them, handlers that hold all connections would lose their leases. */
  override transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean> {
    return this.#handlerTransactions.run(() => super.transaction(settlement, work));
  }

  protected override callInside(work: (tx: unknown) => unknown, tx: Transaction): Promise<void> {
    return this.#loans.lend(tx, work);
  }

  /**
   * Settles, then claims. Claims again at once while the lane walk is unfinished, and after a short wait if other claims
   * held the gates.
   */
  exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const exchanged = this.#exchange(request);
    this.#parts.exchanging?.(exchanged);
    return exchanged;
  }

  async #exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const { immediate } = this.#claimer;
    if (immediate.suits(request)) {
      const found = await immediate.claim(request);
      if (found === null) return this.#exchange({ ...request, again: true });
      if (found.claimed.length > 0) return { ...found, settled: [], nextDue: null, isPartial: true };
    }
    const first = await this.#exchangeOnce(request);
    const { settled } = first;
    let { isGateHeld, isUnfinished, ...result } = first;
    let rounds = 0;
    let tries = 1;
    while (result.claimed.length === 0) {
      if (isUnfinished && rounds < ROUNDS) rounds++;
      else if (isGateHeld && tries < GATE_TRIES) {
        await sleepReal(1 + realRandom() * 4);
        tries++;
      } else break;
      const claimOnly = { ...request, settle: [], started: [] };
      ({ isGateHeld, isUnfinished, ...result } = await this.#exchangeOnce(claimOnly));
    }
    return { ...result, settled };
  }

  /** Settles and claims in one transaction, which is not opened if there is nothing to settle and nothing to claim. */
  async #exchangeOnce(request: ExchangeRequest): Promise<ExchangeStep> {
    const { db } = this.#parts;
    const { worker, claim } = request;
    const owner = claim?.owner ?? "";
    const settles = request.settle.length > 0 || request.started.length > 0;
    const nothing = { settled: [], claimed: [], isGateHeld: false, isUnfinished: false };
    let facts: ClaimFacts | null = null;
    if (!settles && !request.again) {
      // An idle worker sends one statement and opens no transaction.
      const now = await this.now();
      // A poll is one statement. For a worker that was woken it is prepared, which saves the time to plan it.
      const sql: Pick<Sql, "all"> = claim?.immediate ? { all: (...read) => db.read(...read) } : db;
      facts = await this.#claimer.readFacts(sql, { worker, owner }, now);
      if (!claim || isIdle(facts, now)) {
        return { ...nothing, nextDue: facts.nextDue, cancelled: facts.cancelled, paused: facts.paused };
      }
    }
    return db.transaction(async (tx) => {
      // Each try of the transaction reads the time: leases counted from the first try could have ended already.
      const now = await this.now(tx);
      const isAgain = request.again || tx.again;
      if (isAgain) await this.#waitForEarlierTry(tx, request);
      // From here on, an immediate claim of an earlier try takes nothing if the server executes it late.
      if (isAgain && request.settle.length === 0) await tx.run(...this.#closeStream(request));
      // Locks the stream's row until the commit, for `#waitForEarlierTry`. A settle writes to that row anyway.
      else if (claim && request.settle.length === 0)
        await tx.run(...this.#selectStream(request, db.forUpdate));
      const settling = this.settleOnce(tx, request, now);
      const known = facts;
      // A retry of the transaction must read the facts again.
      facts = null;
      if (!claim || isAgain) {
        const { written: settled } = await settling;
        const { nextDue, cancelled, paused } =
          known ?? (await this.#claimer.readFacts(tx, { worker, owner }, now));
        const claimed = claim ? await this.#claimer.recall(tx, { request: claim, worker, now }) : [];
        if (!claim || claimed.length > 0) return { ...nothing, settled, claimed, nextDue, cancelled, paused };
      }
      // A settle of one statement is only sent before the claim's statements, not awaited (note 22).
      if (!isOneStatement(db, request.settle)) await settling;
      const freed = settling.then((result) => result.freed);
      const claimed = await this.#claimer.claim(tx, { request: claim, worker, now, facts: known, freed });
      return { ...claimed, settled: (await settling).written };
    });
  }

  /**
   * Waits until an earlier try of this exchange has ended: the server may still be committing it, and its claims and
   * settlements are not visible before. The wait is bounded, because a server may take hours to notice a lost connection.
   */
  async #waitForEarlierTry(tx: Sql, request: ExchangeRequest): Promise<void> {
    const { db } = this.#parts;
    const since = systemClock.monotonic();
    while (systemClock.monotonic() - since < EARLIER_TRY) {
      if ((await tx.all(...this.#selectStream(request, db.skipLocked))).length > 0) return;
      if ((await tx.all(...this.#selectStream(request, ""))).length === 0) return;
      await sleepReal(20 + realRandom() * 30);
    }
  }

  /** Returns the statement that reads the row of the exchange's stream, and its parameters. */
  #selectStream({ worker, stream }: ExchangeRequest, lock: string): [string, string, number] {
    const { exchanges } = this.#parts.tables;
    return [`select seq from ${exchanges} where worker = ? and stream = ?${lock}`, worker, stream];
  }

  #closeStream({ worker, stream, seq }: ExchangeRequest): [string, number, string, number] {
    const { exchanges } = this.#parts.tables;
    return [`update ${exchanges} set seq = ? where worker = ? and stream = ?`, seq, worker, stream];
  }

  override async prune(request: PruneRequest): Promise<PruneReport> {
    const report = await super.prune(request);
    this.#declared.forget();
    await this.#delivery.receipts.prune(await this.now());
    return report;
  }

  // Workers of other processes learn of these changes by the notification, not by their next poll.

  override async cancel(...args: Parameters<SqlStore["cancel"]>): Promise<CancelAnswer> {
    return this.#announced(super.cancel(...args));
  }

  override async revive(...args: Parameters<SqlStore["revive"]>): ReturnType<SqlStore["revive"]> {
    return this.#announced(super.revive(...args));
  }

  override async move(...args: Parameters<SqlStore["move"]>): ReturnType<SqlStore["move"]> {
    return this.#announced(super.move(...args));
  }

  override async pauseJob(...args: Parameters<SqlStore["pauseJob"]>): Promise<boolean> {
    return this.#announced(super.pauseJob(...args));
  }

  override async pauseQueue(...args: Parameters<SqlStore["pauseQueue"]>): Promise<void> {
    return this.#announced(super.pauseQueue(...args));
  }

  async #announced<Result>(change: Promise<Result>): Promise<Result> {
    const result = await change;
    await this.#parts.announce(null);
    return result;
  }

  get isWatched(): boolean {
    return !this.#parts.clock.manual && this.#parts.isWatched();
  }

  watch(onChange: () => void): () => void {
    if (this.#parts.clock.manual) return () => {};
    return this.#parts.watch(() => {
      this.#claimer.restart();
      onChange();
    });
  }
}
