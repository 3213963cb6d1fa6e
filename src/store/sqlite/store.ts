import { type Clock, elapsedSince, readClock } from "../../time.ts";
import type { NextOpening } from "../chooser.ts";
import { isQuiet, NO_OPENING, nextClaim, QuietLooks } from "../quiet-looks.ts";
import type { Membership } from "../sql/batch-membership.ts";
import { SqlBatches } from "../sql/batches.ts";
import { type Param, type Tables, type Transaction, tablesWith } from "../sql/database.ts";
import { readCancelled } from "../sql/settle.ts";
import { SqlStore } from "../sql/store.ts";
import type {
  ExchangeRequest,
  ExchangeResult,
  InsertResult,
  NewRun,
  PausedNames,
  Settlement,
} from "../store.ts";
import { ChangeWatch } from "./change-watch.ts";
import { Claimer } from "./claim.ts";
import type { SqliteDatabase } from "./database.ts";
import { type CallerHandle, checkHandle, checkNotAsync, lendHandle } from "./handle.ts";
import { insertMembers, insertRuns, type SyncSql } from "./insert.ts";
import { schema } from "./schema.ts";

/**
 * Most times that an exchange continues a search which has found no run yet. Bounded, because the search of one queue
 * may start over while that of another ends.
 */
const ROUNDS = 50;

/** Longer transactions extend the leases, in milliseconds. Shorter ones delay renewals by less than leases allow. */
const LONG_TRANSACTION = 100;

const SAVEPOINT = "punctual_work";

interface ExchangeStep extends ExchangeResult {
  /** Whether the search for runs stopped early and should be continued. */
  isUnfinished: boolean;
  /** When rates admit runs that the claim has left ready. */
  opening: NextOpening;
  /** Batches whose members the exchange ended. */
  batches: ReadonlySet<number>;
  /** See `QuietLooks`. */
  news: string | null;
}

/** A store in a SQLite file, which all processes of one host may share, or in memory. */
export class SqliteStore extends SqlStore {
  readonly #db: SqliteDatabase;
  readonly #clock: Clock;
  readonly #t: Tables;
  readonly #claimer: Claimer;
  protected readonly quiet: QuietLooks;
  readonly #path: string | null;
  readonly #closesHandle: boolean;
  /** One: all exchanges use one connection. */
  readonly streams = 1;
  readonly isWatched = false;
  readonly batches: SqlBatches;

  constructor(options: {
    db: SqliteDatabase;
    clock: Clock;
    prefix: string;
    /** Null: in memory. */
    path: string | null;
    /** False: the handle is the caller's and stays open. */
    closesHandle: boolean;
  }) {
    const tables = tablesWith(options.prefix);
    super(options.db, schema, tables);
    this.#db = options.db;
    this.#clock = options.clock;
    this.#t = tables;
    this.#path = options.path;
    this.#closesHandle = options.closesHandle;
    this.#claimer = new Claimer(options.db, tables);
    this.quiet = new QuietLooks(
      () => options.clock.monotonic(),
      () => true,
    );
    this.batches = new SqlBatches({
      sql: this.sql,
      clock: options.clock,
      now: () => this.now(),
      insert: (members, membership, tx) => this.#insertMembers(members, membership, tx),
      announce: async () => this.quiet.clear(),
    });
  }

  async close(): Promise<void> {
    await this.batches.finishLooks();
    // By read(), so that earlier transactions and statements are finished first.
    await this.#db.read(() => {
      if (this.#closesHandle) this.#db.handle.close();
    });
  }

  /** The clock of this host is the database's: every process that opens the file is on this host. */
  async now(): Promise<number> {
    return this.#clock.now();
  }

  async insert(runs: NewRun[], tx?: unknown): Promise<InsertResult[]> {
    if (tx === undefined) {
      return this.#db.write(() => insertRuns({ sql: this.#db, t: this.#t, now: this.#clock.now() }, runs));
    }
    const handle = checkHandle(tx, { db: this.#db.handle, path: this.#path }, this.#t);
    return insertRuns({ sql: syncSqlOn(handle), t: this.#t, now: this.#clock.now() }, runs);
  }

  async #insertMembers(
    members: NewRun[],
    membership: Membership,
    tx: unknown,
  ): Promise<{ batch: number; inserted: InsertResult[] }> {
    const insert = (sql: SyncSql) => {
      const context = { sql, db: this.#db, t: this.#t, now: this.#clock.now() };
      return insertMembers(context, members, membership, this.batches.who);
    };
    if (tx === undefined) return this.#db.write(() => insert(this.#db));
    return insert(syncSqlOn(checkHandle(tx, { db: this.#db.handle, path: this.#path }, this.#t)));
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const first = await this.#exchangeOnce(request);
    let { isUnfinished, batches, opening, news: _, ...result } = first;
    for (let rounds = 0; request.claim && result.claimed.length === 0 && rounds < ROUNDS; rounds++) {
      const hasCallbacks = await this.batches.lookAfterExchange(batches, true);
      if (!hasCallbacks && !isUnfinished) {
        return { ...result, settled: first.settled, nextDue: nextClaim(result.nextDue, opening) };
      }
      const claimOnly = { ...request, settle: [], started: [] };
      ({ isUnfinished, batches, opening, news: _, ...result } = await this.#exchangeOnce(claimOnly));
    }
    await this.batches.lookAfterExchange(batches, false);
    const cancelled = [...result.cancelled, ...(await this.batches.withdrawClaimed(result.claimed))];
    return { ...result, cancelled, settled: first.settled, nextDue: nextClaim(result.nextDue, opening) };
  }

  async #exchangeOnce(request: ExchangeRequest): Promise<ExchangeStep> {
    const { worker, claim } = request;
    const settles = request.settle.length > 0 || request.started.length > 0;
    if (!settles && !request.again) {
      // Searches without the write lock first: an idle worker must not block the others.
      const idle = await this.#db.read(() => {
        const now = this.#clock.now();
        const nextDue = this.#claimer.nextDue();
        let paused: PausedNames | null = null;
        const readPaused = () => (paused ??= this.#claimer.readPaused(now));
        const readNews = () => this.#claimer.readNews({ nextDue, paused: readPaused() });
        const closed = claim?.limited ? this.quiet.until(worker, claim, null, { now, readNews }) : null;
        const isDue = nextDue !== null && nextDue <= now;
        if (claim && (this.#claimer.hasReady(claim, closed !== null) || isDue)) return null;
        const cancelled = this.#claimer.cancelledOf(worker);
        const opening = { at: closed ?? Number.POSITIVE_INFINITY, isAll: false };
        const nothing = { settled: [], claimed: [], isUnfinished: false, news: null };
        return { ...nothing, batches: new Set<number>(), opening, nextDue, cancelled, paused: readPaused() };
      });
      if (idle) return idle;
    }
    const step = await this.#db.transaction(async (tx) => {
      const now = this.#clock.now();
      const { written: settled, batches } = await this.settleOnce(tx, request, now);
      let claimed: ExchangeResult["claimed"] = [];
      let isUnfinished = false;
      let opening = NO_OPENING;
      const paused = this.#claimer.readPaused(now);
      if (claim) {
        if (request.again) claimed = this.#claimer.recall(claim, worker, now);
        if (claimed.length === 0) {
          this.#claimer.promote(now);
          ({ claimed, isUnfinished, opening } = this.#claimer.claim(claim, worker, now, paused));
        }
      }
      const nextDue = this.#claimer.nextDue();
      // Before the commit: a run that another process inserts after it is news.
      const news = isQuiet({ claimed, opening, isUnfinished })
        ? this.#claimer.readNews({ nextDue, paused })
        : null;
      return {
        settled,
        claimed,
        isUnfinished,
        opening,
        batches,
        news,
        nextDue,
        cancelled: await readCancelled(this.sql.on(tx), worker),
        paused,
      };
    });
    if (claim && claim.limited > 0) this.quiet.record(worker, claim, null, step);
    return step;
  }

  override async transaction(
    settlement: Settlement,
    work: (tx: unknown) => unknown,
    extended?: (ms: number) => void,
  ): Promise<boolean> {
    checkNotAsync(work);
    return super.transaction(settlement, work, extended);
  }

  /**
   * Rolls failed work back to a savepoint instead of ending the transaction, so that the leases are extended before
   * another process can write: a reaper may be waiting for the lock.
   */
  protected override async transactOnce(
    inside: (tx: Transaction) => Promise<void>,
    extended: (ms: number) => void,
  ): Promise<void> {
    let failure: { error: unknown } | null = null;
    let took = 0;
    try {
      await this.#db.transaction(async (tx) => {
        const since = readClock(this.#clock);
        this.#db.handle.exec(`savepoint ${SAVEPOINT}`);
        try {
          await inside(tx);
        } catch (error) {
          failure = { error };
          this.#db.handle.exec(`rollback to ${SAVEPOINT}`);
        }
        took = elapsedSince(since, this.#clock);
        if (took >= LONG_TRANSACTION) extendLeases(this.#db, this.#t, took);
      });
    } catch (error) {
      // Work that failed and has ended the transaction itself has left no savepoint.
      failure ??= { error };
      took = 0;
    }
    if (took >= LONG_TRANSACTION) extended(took);
    if (failure !== null) throw (failure as { error: unknown }).error;
  }

  protected override async callInside(work: (tx: unknown) => unknown): Promise<void> {
    lendHandle(this.#db.handle, work);
  }

  watch(onChange: () => void): () => void {
    if (this.#path === null || this.#clock.manual) return () => {};
    const watch = new ChangeWatch({
      path: this.#path,
      // Does not wait for its turn on the connection: the pragma reads one number.
      readVersion: () => this.#db.row<{ data_version: number }>("pragma data_version")?.data_version,
      clock: this.#clock,
      onChange,
    });
    return () => watch.stop();
  }
}

/** Adds the time in which no process could renew a lease or send a heartbeat, as if it had not passed. */
function extendLeases(db: SqliteDatabase, t: Tables, ms: number): void {
  db.change(`update ${t.runs} set locked_until = locked_until + ? where state = 2`, Math.ceil(ms));
  db.change(`update ${t.workers} set seen_at = seen_at + ?`, Math.floor(ms));
}

function syncSqlOn(db: CallerHandle): SyncSql {
  return {
    select: <Row>(text: string, ...params: Param[]) => db.prepare(text).all(...params) as Row[],
    row: <Row>(text: string, ...params: Param[]) => db.prepare(text).get(...params) as Row | undefined,
  };
}
