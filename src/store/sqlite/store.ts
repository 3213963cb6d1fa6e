import type { Clock } from "../../time.ts";
import { type Param, type Tables, tablesWith } from "../sql/database.ts";
import { readCancelled } from "../sql/settle.ts";
import { SqlStore } from "../sql/store.ts";
import type { ExchangeRequest, ExchangeResult, InsertResult, NewRun, Settlement } from "../store.ts";
import { Claimer } from "./claim.ts";
import type { Connection } from "./connection.ts";
import { type CallersHandle, callLent, checkHandle, refuseAsync } from "./handle.ts";
import { type Handle, insertRuns } from "./insert.ts";
import { schema } from "./schema.ts";

/** Claims in a row that go on with a look that found nothing. Of several queues one may begin again while another ends. */
const ROUNDS = 50;

/** How often the file is looked at. The look is one pragma, some microseconds; a run of another process waits half of this. */
const INTERVAL = 10;

export class SqliteStore extends SqlStore {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #t: Tables;
  readonly #claimer: Claimer;
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

  async insert(runs: NewRun[], tx?: unknown): Promise<InsertResult[]> {
    if (tx === undefined) {
      return this.#connection.write(() => insertRuns(this.#connection, this.#t, runs, this.#clock.now()));
    }
    const handle = checkHandle(tx, { db: this.#connection.db, path: this.#path }, this.#t);
    return insertRuns(asHandle(handle), this.#t, runs, this.#clock.now());
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const first = await this.#exchangeOnce(request);
    let { isUnfinished, ...result } = first;
    for (let rounds = 0; isUnfinished && result.claimed.length === 0 && rounds < ROUNDS; rounds++) {
      ({ isUnfinished, ...result } = await this.#exchangeOnce({ ...request, settle: [], started: [] }));
    }
    return { ...result, settled: first.settled };
  }

  async #exchangeOnce(request: ExchangeRequest): Promise<ExchangeResult & { isUnfinished: boolean }> {
    const { worker, claim } = request;
    const settles = request.settle.length > 0 || request.started.length > 0;
    if (!settles && !request.again) {
      // Looks without the write lock first: an idle worker must cost the others nothing.
      const idle = await this.#connection.read(() => {
        const nextDue = this.#claimer.nextDue();
        if (claim && (this.#claimer.hasReady(claim) || (nextDue !== null && nextDue <= this.#clock.now())))
          return null;
        const cancelled = this.#claimer.cancelledOf(worker);
        return { settled: [], claimed: [], isUnfinished: false, nextDue, cancelled };
      });
      if (idle) return idle;
    }
    return this.#connection.transaction(async (tx) => {
      const now = this.#clock.now();
      const { written: settled } = await this.settleOnce(tx, request, now);
      let claimed: ExchangeResult["claimed"] = [];
      let isUnfinished = false;
      if (claim) {
        if (request.again) claimed = this.#claimer.recall(claim, worker, now);
        if (claimed.length === 0) {
          this.#claimer.promote(now);
          ({ claimed, isUnfinished } = this.#claimer.claim(claim, worker, now));
        }
      }
      const nextDue = this.#claimer.nextDue();
      return {
        settled,
        claimed,
        isUnfinished,
        nextDue,
        cancelled: await readCancelled(this.sql.on(tx), worker),
      };
    });
  }

  override async transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean> {
    refuseAsync(work);
    return super.transaction(settlement, work);
  }

  protected override async callInside(work: (tx: unknown) => unknown): Promise<void> {
    callLent(this.#connection.db, work);
  }

  watch(onChange: () => void): () => void {
    if (this.#path === null || this.#clock.manual) return () => {};
    return watchDataVersion(this.#connection, this.#clock, onChange);
  }
}

function asHandle(db: CallersHandle): Handle {
  return {
    select: <Row>(text: string, ...params: Param[]) => db.prepare(text).all(...params) as Row[],
    row: <Row>(text: string, ...params: Param[]) => db.prepare(text).get(...params) as Row | undefined,
  };
}

/** SQLite cannot call; but `data_version` changes when another connection has committed. */
export function watchDataVersion(connection: Connection, clock: Clock, onChange: () => void): () => void {
  let stopped = false;
  let seen: unknown;
  let cancel = () => {};
  // Straight to the handle, not in its turn: the look reads one number, and an idle worker looks a hundred times a second.
  const look = () => {
    try {
      const version = connection.row<{ data_version: number }>("pragma data_version")?.data_version;
      if (seen !== undefined && version !== seen) onChange();
      seen = version;
    } catch {
      // The worker's next exchange meets the same fault and reports it.
    }
    if (!stopped) cancel = clock.after(INTERVAL, look, { background: true });
  };
  look();
  return () => {
    stopped = true;
    cancel();
  };
}
