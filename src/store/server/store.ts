import { sleepReal, systemClock } from "../../time.ts";
import type { Inspection, InstallReport, PruneReport, PruneRequest } from "../maintenance.ts";
import type { Sql, Transaction } from "../sql/database.ts";
import { renamed } from "../sql/former-names.ts";
import { isOneStatement } from "../sql/settle.ts";
import { SqlStore } from "../sql/store.ts";
import type { ExchangeRequest, ExchangeResult, InsertResult, NewRun, Settlement } from "../store.ts";
import { Claimer } from "./claim.ts";
import { Delivery, type DeliveryParts } from "./delivery.ts";
import { engineUnsafe, probeEngine } from "./engine-probe.ts";
import { type Facts, isIdle, readFacts } from "./facts.ts";
import { Ids } from "./ids.ts";
import { Inserter } from "./insert.ts";
import { Lent } from "./lent.ts";
import type { ServerParts } from "./parts.ts";
import { Receipts } from "./receipts.ts";
import { RememberedNames } from "./remembered-names.ts";
import { DatabaseTime } from "./time.ts";
import { Turns } from "./turns.ts";

/** Connections that are kept from handlers' transactions. */
const SPARE = 2;

/** How long an exchange that is sent again waits for its earlier try to end. */
const EARLIER_TRY = 10_000;

/** How often a claim looks again whose gates others held. */
const TRIES = 5;

/** Claims in a row that go on with a look that found nothing. Of several queues one may begin again while another ends. */
const ROUNDS = 50;

/** What PostgreSQL, MySQL and MariaDB do alike. */
export class ServerStore extends SqlStore {
  readonly #parts: ServerParts;
  readonly #time: DatabaseTime;
  readonly #former: RememberedNames;
  readonly #delivery: DeliveryParts;
  readonly #claimer: Claimer;
  readonly #lent = new Lent();
  readonly #turns: Turns;

  constructor(parts: ServerParts) {
    const { db, schema, tables, clock } = parts;
    super(db, schema, tables);
    this.#parts = parts;
    this.#time = new DatabaseTime(clock, db.clock);
    this.#former = new RememberedNames(this.sql, clock);
    this.#delivery = {
      db,
      ids: new Ids(db, tables, clock),
      inserter: new Inserter(db, tables),
      receipts: new Receipts(db, tables),
    };
    this.#claimer = new Claimer(db, tables);
    this.#turns = new Turns(Math.max(1, parts.connections - SPARE));
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

  /** Refuses an engine that would run things twice, also where the tables are there already: its settings may have changed. */
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

  /** A user who may not write, or a server that is away, does not make the engine unsafe: others report that. */
  async #probe(): Promise<string | null> {
    const { db, tables, connections } = this.#parts;
    return probeEngine(db, tables, { connections, now: await this.now() }).catch(() => null);
  }

  async insert(runs: NewRun[], caller?: unknown): Promise<InsertResult[]> {
    const { db, enter, announce } = this.#parts;
    const lent = caller === undefined ? null : this.#lent.transactionOf(caller);
    const tx = caller === undefined ? null : (lent ?? (await enter(caller)));
    if (runs.length === 0) return [];
    // By the caller's connection, if there is one: theirs may be the last one free.
    const now = await this.#time.now(tx ?? db);
    const former = await this.#former.read(tx ?? db);
    const named = runs.map((run) => renamed(run, former));
    const inserted = await (tx
      ? this.#insertWithin(tx, named, now, lent ?? db.beside(tx))
      : new Delivery(this.#delivery, named, now).send());
    if (inserted.some((one) => one.inserted)) await announce(tx);
    return inserted;
  }

  /** The transaction is the caller's to send again. */
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

  /** Handlers that write in a transaction must not hold all connections: their leases are renewed by others. */
  override transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean> {
    return this.#turns.run(() => super.transaction(settlement, work));
  }

  protected override callInside(work: (tx: unknown) => unknown, tx: Transaction): Promise<void> {
    return this.#lent.during(tx, work);
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const first = await this.#exchangeOnce(request);
    let { lost, more, ...result } = first;
    let rounds = 0;
    let tries = 1;
    while (result.claimed.length === 0 && ((more && rounds < ROUNDS) || (lost && tries < TRIES))) {
      if (more && rounds < ROUNDS) rounds++;
      else {
        await sleepReal(1 + Math.random() * 4);
        tries++;
      }
      ({ lost, more, ...result } = await this.#exchangeOnce({ ...request, settle: [], started: [] }));
    }
    return { ...result, settled: first.settled };
  }

  async #exchangeOnce(request: ExchangeRequest): Promise<ExchangeResult & { lost: boolean; more: boolean }> {
    const { db, tables } = this.#parts;
    const { worker, claim } = request;
    const owner = claim?.owner ?? "";
    const settles = request.settle.length > 0 || request.started.length > 0;
    const idle = { settled: [], claimed: [], lost: false, more: false };
    let looked: Facts | null = null;
    if (!settles && !request.again) {
      // An idle worker looks, and opens no transaction.
      const now = await this.now();
      looked = await readFacts(db, db, tables, { worker, owner }, now);
      if (!claim || isIdle(looked, now)) {
        return { ...idle, nextDue: looked.nextDue, cancelled: looked.cancelled };
      }
    }
    return db.transaction(async (tx) => {
      // Read by each try: after an outage, leases counted from the first one would be born expired.
      const now = await this.now(tx);
      const isAgain = request.again || tx.again;
      if (isAgain) await this.#untilEnded(tx, worker);
      // Held until the commit: who sends this exchange again waits for it. A settle writes to the row anyway.
      else if (claim && request.settle.length === 0) await tx.run(this.#locking(db.forUpdate), worker);
      const settling = this.settleOnce(tx, request, now);
      const known = looked;
      // Begun anew, it may be some time later.
      looked = null;
      const read = () => readFacts(tx, db, tables, { worker, owner }, now);
      if (!claim || isAgain) {
        const { written: settled } = await settling;
        const { nextDue, cancelled } = known ?? (await read());
        const claimed = claim ? await this.#claimer.claimedUnder(tx, claim, worker, now) : [];
        if (!claim || claimed.length > 0) return { ...idle, settled, claimed, nextDue, cancelled };
      }
      if (!isOneStatement(db, request.settle)) await settling;
      const [{ written: settled, freed }, { facts, found }] = await Promise.all([
        settling,
        this.#claimer.search(tx, claim, known, read, now),
      ]);
      const { claimed, cancelled, lost, more } = await this.#claimer.claim(
        tx,
        claim,
        found,
        freed,
        worker,
        this.#time.heard(facts.now),
      );
      return {
        settled,
        claimed,
        lost,
        more,
        nextDue: facts.nextDue,
        cancelled: [...facts.cancelled, ...cancelled],
      };
    });
  }

  /**
   * Waits for an earlier try of an exchange that the server may still be committing: what it claims and settles is not
   * visible before. Bounded, for the server may not notice for hours that the connection is gone.
   */
  async #untilEnded(tx: Sql, worker: string): Promise<void> {
    const { db } = this.#parts;
    const since = systemClock.monotonic();
    while (systemClock.monotonic() - since < EARLIER_TRY) {
      if ((await tx.all(this.#locking(db.skipLocked), worker)).length > 0) return;
      if ((await tx.all(this.#locking(""), worker)).length === 0) return;
      await sleepReal(20 + Math.random() * 30);
    }
  }

  #locking(lock: string): string {
    return `select id from ${this.#parts.tables.workers} where id = ?${lock}`;
  }

  override async prune(request: PruneRequest): Promise<PruneReport> {
    const report = await super.prune(request);
    await this.#delivery.receipts.prune(await this.now());
    return report;
  }

  watch(onChange: () => void): () => void {
    return this.#parts.clock.manual ? () => {} : this.#parts.watch(onChange);
  }
}
