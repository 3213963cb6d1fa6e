import { PunctualError } from "../../errors.ts";
import { type FinishedState, stateName } from "../../run/states.ts";
import type { Clock } from "../../time.ts";
import { type Param, type Tables, tablesWith } from "../sql/database.ts";
import { SqlStore } from "../sql/store.ts";
import {
  type ExchangeRequest,
  type ExchangeResult,
  type Inserted,
  type Lease,
  type NewRun,
  type ReapedRun,
  type Renewal,
  type Settlement,
  WORKER_DEAD_AFTER,
} from "../store.ts";
import { Claimer } from "./claim.ts";
import type { Connection } from "./connection.ts";
import { type CallersHandle, checkHandle } from "./handle.ts";
import { type Handle, insertRuns } from "./insert.ts";
import { schema } from "./schema.ts";
import { Settler } from "./settle.ts";
import { watchDataVersion } from "./watch.ts";

export class SqliteStore extends SqlStore {
  readonly database = "sqlite";
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #t: Tables;
  readonly #claimer: Claimer;
  readonly #settler: Settler;
  readonly #path: string | null;
  readonly #closesHandle: boolean;

  constructor(options: {
    connection: Connection;
    clock: Clock;
    prefix: string;
    /** Null: in memory. */
    path: string | null;
    /** False: the handle is the caller's and stays open. */
    closesHandle: boolean;
  }) {
    const tables = tablesWith(options.prefix);
    super(options.connection, schema, tables);
    this.#connection = options.connection;
    this.#clock = options.clock;
    this.#t = tables;
    this.#path = options.path;
    this.#closesHandle = options.closesHandle;
    this.#claimer = new Claimer(options.connection, tables);
    this.#settler = new Settler(options.connection, tables);
  }

  async close(): Promise<void> {
    // A turn of its own: what was asked for before is done before.
    await this.#connection.read(() => {
      if (this.#closesHandle) this.#connection.db.close();
    });
  }

  /** Every process that can open the file is on this host: its clock is the database's. */
  async now(): Promise<number> {
    return this.#clock.now();
  }

  async insert(runs: NewRun[], tx?: unknown): Promise<Inserted[]> {
    if (tx === undefined) {
      return this.#connection.write(() => insertRuns(this.#connection, this.#t, runs, this.#clock.now()));
    }
    const handle = checkHandle(tx, { db: this.#connection.db, path: this.#path }, this.#t);
    return insertRuns(asHandle(handle), this.#t, runs, this.#clock.now());
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const { worker, claim } = request;
    const settles = request.settle.length > 0 || request.started.length > 0;
    if (!settles && !request.again) {
      // Looks without the write lock first: an idle worker must cost the others nothing.
      const idle = await this.#connection.read(() => {
        const nextDue = this.#claimer.nextDue();
        if (
          claim &&
          (this.#claimer.anyReady(claim.owner) || (nextDue !== null && nextDue <= this.#clock.now()))
        )
          return null;
        return { settled: [], claimed: [], nextDue, cancelled: this.#settler.cancelledOf(worker) };
      });
      if (idle) return idle;
    }
    return this.#connection.write(() => {
      const now = this.#clock.now();
      const settled = this.#settleOnce(request, now);
      for (const lease of request.started) this.#settler.start(lease, now);
      let claimed: ExchangeResult["claimed"] = [];
      if (claim) {
        if (request.again) claimed = this.#claimer.claimedUnder(claim.token, worker, now);
        if (claimed.length === 0) {
          this.#claimer.promote(now);
          claimed = this.#claimer.claim(claim, worker, now);
        }
      }
      return {
        settled,
        claimed,
        nextDue: this.#claimer.nextDue(),
        cancelled: this.#settler.cancelledOf(worker),
      };
    });
  }

  /** The number tells a group that was written, though its answer was lost, from one that never arrived. */
  #settleOnce({ worker, seq, again, settle }: ExchangeRequest, now: number): boolean[] {
    if (settle.length === 0) return [];
    if (again) {
      const known = this.#connection.row<{ settle_seq: number }>(
        `select settle_seq from ${this.#t.workers} where id = ?`,
        worker,
      );
      if (known && known.settle_seq >= seq) return settle.map(() => true);
    }
    this.#connection.change(`update ${this.#t.workers} set settle_seq = ? where id = ?`, seq, worker);
    return this.#settler.settleAll(settle, now);
  }

  renew(worker: string, renewals: Renewal[]): Promise<{ held: Set<number>; cancelled: number[] }> {
    return this.#connection.write(() => ({
      held: this.#settler.renew(renewals, this.#clock.now()),
      cancelled: this.#settler.cancelledOf(worker),
    }));
  }

  start(lease: Lease): Promise<boolean> {
    return this.#connection.write(() => this.#settler.start(lease, this.#clock.now()));
  }

  progress(lease: Lease, progress: string): Promise<boolean> {
    return this.#connection.write(() => this.#settler.progress(lease, progress));
  }

  transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean> {
    return this.#connection.write(() => {
      if (!this.#settler.start(settlement, this.#clock.now())) return false;
      const returned = work(this.#connection.db);
      if (typeof (returned as PromiseLike<unknown> | null)?.then === "function") {
        throw new PunctualError(
          "TRANSACTION_NOT_SYNC",
          "run.transaction(fn) on SQLite needs a function that is not async: nothing else may use the connection meanwhile. Nothing was written.",
        );
      }
      return this.#settler.settle(settlement, this.#clock.now());
    });
  }

  reap(limit: number, crashCap: number, error: string, keep: number | null): Promise<ReapedRun[]> {
    return this.#connection.write(() => this.#settler.reap(limit, crashCap, error, keep, this.#clock.now()));
  }

  reapOwnerless(error: string, keep: number | null): Promise<number[]> {
    return this.#connection.write(() =>
      this.#settler.endWaiting(
        `owner is not null and owner not in (select id from ${this.#t.workers} where seen_at > ?)`,
        [this.#clock.now() - WORKER_DEAD_AFTER],
        { state: "failed", error, keep, now: this.#clock.now() },
      ),
    );
  }

  disown(owner: string, error: string, keep: number | null): Promise<number[]> {
    return this.#connection.write(() =>
      this.#settler.endWaiting("owner is not null and owner = ?", [owner], {
        state: "failed",
        error,
        keep,
        now: this.#clock.now(),
      }),
    );
  }

  cancel(id: number, keep: number | null): Promise<"cancelled" | "requested" | FinishedState | null> {
    return this.#connection.write(() => {
      const now = this.#clock.now();
      const ended = this.#settler.endWaiting("id = ?", [id], { state: "cancelled", error: null, keep, now });
      if (ended.length > 0) return "cancelled";
      const asked = this.#connection.change(
        `update ${this.#t.runs} set cancelled_at = ? where id = ? and state = 2`,
        now,
        id,
      );
      return asked === 1 ? "requested" : this.#finishedState(id);
    });
  }

  #finishedState(id: number): FinishedState | null {
    const row = this.#connection.row<{ state: number }>(
      `select state from ${this.#t.history} where id = ?`,
      id,
    );
    return row ? (stateName(row.state) as FinishedState) : null;
  }

  protected override cancelOrphans(seenBefore: number, olderThan: number, now: number): Promise<number[]> {
    return this.#connection.write(() =>
      this.#settler.endWaiting(
        `owner is null and created_at < ?
           and name not in (select name from ${this.#t.jobs} where seen_at >= ?)`,
        [olderThan, seenBefore],
        { state: "cancelled", error: null, keep: 0, now },
      ),
    );
  }

  watch(onChange: () => void): () => void {
    if (this.#path === null || this.#clock.manual) return () => {};
    return watchDataVersion(this.#connection, this.#clock, onChange);
  }
}

function asHandle(db: CallersHandle): Handle {
  return {
    rows: <Row>(text: string, ...params: Param[]) => db.prepare(text).all(...params) as Row[],
    row: <Row>(text: string, ...params: Param[]) => db.prepare(text).get(...params) as Row | undefined,
  };
}
