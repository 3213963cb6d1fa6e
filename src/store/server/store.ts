import { randomText, realRandom } from "../../random.ts";
import { sleepReal } from "../../time.ts";
import type { Inspection, InstallReport, PruneReport, PruneRequest } from "../maintenance.ts";
import { NO_OPENING, nextClaim, QuietLooks } from "../quiet-looks.ts";
import type { CancelAnswer, RateSubject } from "../records.ts";
import type { Membership } from "../sql/batch-membership.ts";
import { SqlBatches } from "../sql/batches.ts";
import type { Sql, Transaction } from "../sql/database.ts";
import { underCurrentName } from "../sql/former-names.ts";
import { isOneStatement } from "../sql/settle.ts";
import { SqlStore } from "../sql/store.ts";
import {
  EXCHANGE_STREAMS,
  type ExchangeRequest,
  type ExchangeResult,
  type InsertResult,
  type NewRun,
  type Settlement,
  type SyncRequest,
  type SyncResult,
} from "../store.ts";
import { Claimer, type ClaimResult } from "./claim.ts";
import { type ClaimFacts, isIdle, lookBasis } from "./claim-facts.ts";
import { unsafeProduct } from "./database-products.ts";
import { DeclaredJobs } from "./declared-jobs.ts";
import { Delivery, type DeliveryParts, Receipts } from "./delivery.ts";
import { FormerNamesCache } from "./former-names-cache.ts";
import { Ids } from "./ids.ts";
import { Inserter } from "./insert.ts";
import { probeLocks } from "./install.ts";
import { Loans, Semaphore } from "./loans.ts";
import { MemberInserter } from "./member-insert.ts";
import type { ServerParts } from "./parts.ts";
import { StreamRows } from "./stream-rows.ts";
import { DatabaseTime } from "./time.ts";

/** Fewest connections with which a worker has a second stream: some must be left for renewals and for handlers. */
const CONNECTIONS_FOR_TWO = 5;

/** Tries of a claim that found only runs whose gates other claims held. */
const GATE_TRIES = 5;

/**
 * Claims in a row that continue an unfinished lane walk. Without this bound they could repeat for ever: of several
 * queues, one may start over while another one ends.
 */
const ROUNDS = 50;

interface ExchangeStep extends ExchangeResult, Pick<ClaimResult, "isGateHeld" | "isUnfinished" | "opening"> {
  /** Batches whose members the exchange ended. */
  batches: ReadonlySet<number>;
}

const NO_BATCHES: ReadonlySet<number> = new Set();

/** The store on PostgreSQL, MySQL and MariaDB. */
export class ServerStore extends SqlStore {
  readonly #parts: ServerParts;
  readonly #time: DatabaseTime;
  readonly #formerNames: FormerNamesCache;
  readonly #declared: DeclaredJobs;
  readonly #delivery: DeliveryParts;
  readonly #claimer: Claimer;
  readonly #streamRows: StreamRows;
  protected readonly quiet: QuietLooks;
  readonly #loans = new Loans();
  readonly #handlerTransactions: Semaphore;
  readonly streams: number;
  readonly batches: SqlBatches;

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
      announcement: (runs) => parts.announcement(runs),
    };
    this.batches = new SqlBatches({
      sql: this.sql,
      clock,
      now: (sql) => this.now(sql),
      insert: (members, membership, tx) => this.#insert(members, tx, membership),
      announce: () => parts.announce(null, 1),
    });
    this.#claimer = new Claimer(db, tables, this.#time, clock);
    this.#streamRows = new StreamRows(db, tables);
    this.quiet = new QuietLooks(
      () => clock.monotonic(),
      () => parts.isWatched(),
    );
    this.streams = parts.connections < CONNECTIONS_FOR_TWO ? 1 : EXCHANGE_STREAMS;
    // Transactions of handlers leave one connection to each stream of exchanges, and one to renewals.
    this.#handlerTransactions = new Semaphore(Math.max(1, parts.connections - this.streams - 1));
  }

  async close(): Promise<void> {
    await this.batches.finishLooks();
    await this.#parts.close();
  }

  now(sql: Sql = this.#parts.db): Promise<number> {
    return this.#time.now(sql);
  }

  protected override readTime(sql: Sql): Promise<number> {
    return this.#time.read(sql);
  }

  /** Refuses a product on which runs could execute twice, even if the tables exist: its settings may have changed. */
  override async install(options?: { dryRun?: boolean }): Promise<InstallReport> {
    const report = await super.install(options);
    const unsafe = options?.dryRun ? null : await this.#probe();
    if (unsafe === null) return report;
    throw unsafeProduct((await this.#parts.db.about()).version, unsafe);
  }

  /** On a cluster, another node may have installed the tables a moment ago. */
  override checkSchema(): Promise<void> {
    const { db } = this.#parts;
    if (!db.isMultiWriter) return super.checkSchema();
    return db.transaction((tx) => super.checkSchema(this.sql.on(tx)), { waitForNode: true });
  }

  override async inspect(): Promise<Inspection> {
    const found = { ...(await super.inspect()), hosts: (await this.#parts.hosts?.()) ?? [] };
    return found.schema.usable && !found.readOnly ? { ...found, unsafe: await this.#probe() } : found;
  }

  /** Returns null if the probe fails: a missing privilege or a lost server does not make the product unsafe. */
  async #probe(): Promise<string | null> {
    const { db, tables, connections } = this.#parts;
    // A proxy may connect each of the probe's two connections to another node.
    if (db.isMultiWriter) return null;
    return probeLocks(db, tables, { connections, now: await this.now() }).catch(() => null);
  }

  async insert(runs: NewRun[], caller?: unknown): Promise<InsertResult[]> {
    return runs.length === 0 && caller === undefined ? [] : (await this.#insert(runs, caller, null)).inserted;
  }

  async #insert(
    runs: NewRun[],
    caller: unknown,
    membership: Membership | null,
  ): Promise<{ batch: number; inserted: InsertResult[] }> {
    const { db, enter, announce } = this.#parts;
    const lent = caller === undefined ? null : this.#loans.transactionOf(caller);
    const tx = caller === undefined ? null : (lent ?? (await enter(caller)));
    if (runs.length === 0 && !membership) return { batch: 0, inserted: [] };
    // On the caller's connection, if there is one: it may be the last one of the pool.
    const now = await this.#time.now(tx ?? db);
    const formerNames = await this.#formerNames.read(tx ?? db);
    const named = runs.map((run) => underCurrentName(run, formerNames));
    const declaring = await this.#declared.ensure(named, now, tx !== null);
    const members = membership && this.#memberInserter(membership, tx !== null);
    const delivery = new Delivery(this.#delivery, named, now, members);
    const inserted = await (tx ? delivery.within(tx, lent ?? db.beside(tx)) : delivery.send());
    await declaring?.done;
    const count = inserted.filter((one) => one.inserted).length;
    if (!delivery.isAnnounced && count > 0) await announce(tx, count);
    return { batch: delivery.batch ?? 0, inserted };
  }

  #memberInserter(membership: Membership, isCallers: boolean): MemberInserter {
    const { db, tables: t } = this.#parts;
    // The row of this process would be locked until the caller commits.
    const who = isCallers ? `+${randomText().slice(0, 12)}` : this.batches.who;
    return new MemberInserter({ db, t, inserter: this.#delivery.inserter, who }, membership);
  }

  /** Leaves connections for renewals: without them, handlers that hold all connections would lose their leases. */
  override transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean> {
    return this.#handlerTransactions.run(() => super.transaction(settlement, work));
  }

  protected override callInside(work: (tx: unknown) => unknown, tx: Transaction): Promise<void> {
    return this.#loans.lend(tx, work);
  }

  /**
   * Settles, then claims. Claims again at once while the lane walk is unfinished, and after a short wait if other
   * claims held the gates.
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
      if (found.claimed.length > 0) {
        const cancelled = [...found.cancelled, ...(await this.batches.withdrawClaimed(found.claimed))];
        return { ...found, cancelled, settled: [], nextDue: null, isPartial: true };
      }
    }
    const first = await this.#exchangeOnce(request);
    const { settled } = first;
    let { isGateHeld, isUnfinished, batches, opening, ...result } = first;
    let rounds = 0;
    let tries = 1;
    // A stream that only settles is one of a busy worker.
    while (request.claim && result.claimed.length === 0) {
      const hasCallbacks = await this.batches.lookAfterExchange(batches, true);
      batches = NO_BATCHES;
      if (hasCallbacks) rounds++;
      else if (isUnfinished && rounds < ROUNDS) rounds++;
      else if (isGateHeld && tries < GATE_TRIES) {
        await sleepReal(1 + realRandom() * 4);
        tries++;
      } else break;
      const claimOnly = { ...request, settle: [], started: [] };
      ({ isGateHeld, isUnfinished, batches, opening, ...result } = await this.#exchangeOnce(claimOnly));
    }
    await this.batches.lookAfterExchange(batches, false);
    const cancelled = [...result.cancelled, ...(await this.batches.withdrawClaimed(result.claimed))];
    return { ...result, cancelled, settled, nextDue: nextClaim(result.nextDue, opening) };
  }

  /** Settles and claims in one transaction, which is not opened if there is nothing to settle and nothing to claim. */
  async #exchangeOnce(request: ExchangeRequest): Promise<ExchangeStep> {
    const { db } = this.#parts;
    const { worker, claim } = request;
    const owner = claim?.owner ?? "";
    const settles = request.settle.length > 0 || request.started.length > 0;
    const nothing = {
      ...{ settled: [], claimed: [], isGateHeld: false, isUnfinished: false },
      ...{ opening: NO_OPENING, batches: NO_BATCHES },
    };
    let facts: ClaimFacts | null = null;
    if (!settles && !request.again) {
      const now = await this.now();
      // A poll is one statement without a transaction. A woken worker's is prepared, which saves the planning.
      const sql: Sql = claim?.immediate
        ? { all: (...read) => db.read(...read), run: (...write) => db.run(...write) }
        : db;
      facts = await this.#claimer.readFacts(sql, { worker, owner }, now);
      const closed = claim?.limited ? this.quiet.until(worker, claim, lookBasis(facts), { now }) : null;
      if (!claim || isIdle(facts, now, closed !== null)) {
        const opening = { at: closed ?? Number.POSITIVE_INFINITY, isAll: false };
        return {
          ...nothing,
          opening,
          nextDue: facts.nextDue,
          cancelled: facts.cancelled,
          paused: facts.paused,
        };
      }
    }
    const looked = facts && lookBasis(facts);
    const step = await db.transaction(async (tx) => {
      // Each try of the transaction reads the time: leases counted from the first try could have ended already.
      const now = await this.now(tx);
      const isAgain = request.again || tx.again;
      if (isAgain) await this.#streamRows.waitForEarlierTry(tx, request);
      // From here on, an immediate claim of an earlier try takes nothing if the server executes it late.
      if (isAgain && request.settle.length === 0) await this.#streamRows.close(tx, request);
      // Held until the commit, for `waitForEarlierTry`. A settle writes to that row anyway.
      else if (claim && request.settle.length === 0) await this.#streamRows.hold(tx, request);
      const settling = this.settleOnce(tx, request, now);
      const known = facts;
      // A retry of the transaction must read the facts again.
      facts = null;
      if (!claim || isAgain) {
        const { written: settled, batches } = await settling;
        const { nextDue, cancelled, paused } =
          known ?? (await this.#claimer.readFacts(tx, { worker, owner }, now));
        const claimed = claim ? await this.#claimer.recall(tx, { request: claim, worker, now }) : [];
        if (!claim || claimed.length > 0)
          return { ...nothing, batches, settled, claimed, nextDue, cancelled, paused };
      }
      // A settle of one statement is only sent before the claim's statements, not awaited (note 22).
      if (!isOneStatement(db, request.settle)) await settling;
      const freed = settling.then((result) => result.freed);
      const claimed = await this.#claimer.claim(tx, { request: claim, worker, now, facts: known, freed });
      const { written: settled, batches } = await settling;
      return { ...claimed, settled, batches };
    });
    if (claim && claim.limited > 0) this.quiet.record(worker, claim, looked, step);
    return step;
  }

  override async syncJobs(sync: SyncRequest): Promise<SyncResult> {
    const result = await super.syncJobs(sync);
    this.#parts.crowd?.(result.workers);
    return result;
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

  override async reopenRates(subject: RateSubject): Promise<number> {
    return this.#announced(super.reopenRates(subject));
  }

  async #announced<Result>(change: Promise<Result>): Promise<Result> {
    const result = await change;
    await this.#parts.announce(null, null);
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
