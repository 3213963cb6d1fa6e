import type { RunState } from "../../run/states.ts";
import type { TickRequest, TickResult } from "../definitions.ts";
import type {
  Inspection,
  InstallReport,
  MissingObject,
  PruneForecast,
  PruneReport,
  PruneRequest,
} from "../maintenance.ts";
import type { QuietLooks } from "../quiet-looks.ts";
import type { ReadLimits, StoreReads } from "../reads.ts";
import type {
  BusyWorker,
  CancelAnswer,
  Heartbeat,
  JobRecord,
  RateSubject,
  WorkerRequest,
} from "../records.ts";
import {
  type CrashCap,
  type DatabaseName,
  type ExchangeRequest,
  type ExchangeResult,
  type InsertResult,
  type Lease,
  type NewLogLine,
  type NewRun,
  type ReapedRun,
  type Renewal,
  type RenewalResult,
  type Revival,
  type Store,
  type SyncRequest,
  WORKER_DEAD_AFTER,
} from "../store.ts";
import { countRowOf } from "./batch-tally.ts";
import type { SqlBatches } from "./batches.ts";
import { SqlContext } from "./context.ts";
import * as control from "./control.ts";
import type { Database, Sql, Statement, Tables, Transaction } from "./database.ts";
import { adopt } from "./former-names.ts";
import { inspect } from "./inspect.ts";
import * as jobs from "./jobs.ts";
import * as logs from "./logs.ts";
import { checkSchema, install, type Schema } from "./migrate.ts";
import { OperatorStore } from "./operator-store.ts";
import * as prune from "./prune.ts";
import { raise } from "./queue-orders.ts";
import { LimitedReads } from "./reads.ts";
import { hasExpired, reap, reapGone, takeBack } from "./reap.ts";
import { reopenRates } from "./reopen.ts";
import { revive } from "./revive.ts";
import {
  holdsLease,
  readCancelled,
  renew,
  type SettleResult,
  settleAll,
  settleOnce,
  updateHeld,
} from "./settle.ts";
import { slowDown } from "./slow-down.ts";
import { syncJobs } from "./sync.ts";
import { tick } from "./ticks.ts";
import { TimeLimitedSql } from "./time-limit.ts";
import { writeSlowHook } from "./wait-facts.ts";
import * as workers from "./workers.ts";

/**
 * The part of a store that is the same on every database. Subclasses add how to insert, exchange, watch and tell the
 * time.
 */
export abstract class SqlStore extends OperatorStore implements Store {
  readonly #schema: Schema;
  readonly #sweeper: logs.LogSweeper;
  readonly #heartbeats: workers.Heartbeats;

  constructor(database: Database, schema: Schema, tables: Tables) {
    super(new SqlContext(database, tables));
    this.#schema = schema;
    this.#sweeper = new logs.LogSweeper(this.sql);
    this.#heartbeats = new workers.Heartbeats(this.sql);
  }

  get database(): DatabaseName {
    return this.sql.db.name;
  }

  abstract readonly streams: number;
  abstract readonly batches: SqlBatches;
  protected abstract readonly quiet: QuietLooks;
  abstract close(): Promise<void>;
  /** Asks on the connection of `sql`: while it has a transaction open, no second connection may be free. */
  abstract override now(sql?: Sql): Promise<number>;
  /** Reads the time from the database, also where `now()` computes it from an earlier reading. */
  protected readTime(sql: Sql): Promise<number> {
    return this.now(sql);
  }
  abstract insert(runs: NewRun[], tx?: unknown): Promise<InsertResult[]>;
  abstract exchange(request: ExchangeRequest): Promise<ExchangeResult>;
  abstract readonly isWatched: boolean;
  abstract watch(onChange: () => void): () => void;

  renew(worker: string, renewals: Renewal[]): Promise<RenewalResult> {
    return this.sql.transaction(async (tx) => {
      const [cancelled, renewed] = await Promise.all([
        readCancelled(tx, worker),
        // Sent in the same round trip: a lease counted from an older time would end before the worker expects it to.
        renew(tx, renewals, this.readTime(tx)),
      ]);
      return { ...renewed, cancelled };
    });
  }

  async start(lease: Lease, isolated: boolean): Promise<boolean> {
    const now = await this.now();
    const started = { started_at: now, isolated: isolated ? 1 : 0 };
    return this.sql.transaction((tx) => updateHeld(tx, lease, started));
  }

  progress(lease: Lease, progress: string): Promise<boolean> {
    return this.sql.transaction((tx) => updateHeld(tx, lease, { progress }));
  }

  async slowHook(
    lease: Lease,
    slow: { name: string; elapsed: number; limit: number } | null,
  ): Promise<boolean> {
    const hook = slow && writeSlowHook({ ...slow, since: (await this.now()) - slow.elapsed });
    return this.sql.transaction((tx) => updateHeld(tx, lease, { hook }));
  }

  log(lines: NewLogLine[]): Promise<void> {
    return logs.write(this.sql, lines);
  }

  /**
   * Never repeats `work`, which belongs to the handler and may have other effects. The run's row is not locked while
   * `work` runs, so that renewals can prolong its lease: otherwise the lease could end before a
   * rollback.
   */
  async transaction(...[settlement, work, extended]: Parameters<Store["transaction"]>): Promise<boolean> {
    const lost = new Error("the lease was lost");
    let ended: ReadonlySet<number> = new Set();
    const inside = async (transaction: Transaction) => {
      const tx = this.sql.on(transaction);
      if (!(await holdsLease(tx, settlement))) throw lost;
      await this.callInside(work, transaction);
      const { written, batches } = await settleAll(
        tx,
        [settlement],
        await this.now(tx),
        countRowOf([settlement]),
      );
      if (!written[0]) throw lost;
      ended = batches;
    };
    try {
      await this.transactOnce(inside, extended ?? (() => {}));
      await this.batches.lookAfterCommit(ended);
      return true;
    } catch (error) {
      if (error === lost) return false;
      throw error;
    }
  }

  protected transactOnce(
    inside: (tx: Transaction) => Promise<void>,
    _extended: (ms: number) => void,
  ): Promise<void> {
    return this.sql.db.transaction(inside, { retry: false });
  }

  protected async callInside(work: (tx: unknown) => unknown, tx: Transaction): Promise<void> {
    await work(tx.handle);
  }

  async reap(limit: number, cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]> {
    const now = await this.now();
    if (!(await hasExpired(this.sql, now))) return [];
    return this.#ending((batches) =>
      this.sql.transaction((tx) => reap(tx, { limit, cap, error, keep, batches }, now)),
    );
  }

  async reapGone(names: string[], cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]> {
    const now = await this.now();
    return this.#ending((batches) =>
      this.sql.transaction((tx) => reapGone(tx, { workers: names, cap, error, keep, batches }, now)),
    );
  }

  async takeBack(leases: Lease[], cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]> {
    const now = await this.now();
    return this.#ending((batches) =>
      this.sql.transaction((tx) => takeBack(tx, { leases, cap, error, keep, batches }, now)),
    );
  }

  /** Looks at the batches whose members `work` has ended, after it has committed. */
  async #ending<Result>(work: (batches: Set<number>) => Promise<Result>): Promise<Result> {
    const batches = new Set<number>();
    const result = await work(batches);
    await this.batches.lookAfterCommit(batches);
    return result;
  }

  async reapOwnerless(self: string, error: string, keep: number | null): Promise<number[]> {
    const now = await this.now();
    const text = `owner is not null and owner <> ? and owner not in (select id from ${this.sql.t.workers} where seen_at > ?)`;
    return this.#failWaiting({ text, params: [self, now - WORKER_DEAD_AFTER] }, error, keep, now);
  }

  async disown(owner: string, error: string, keep: number | null): Promise<number[]> {
    const which = { text: "owner is not null and owner = ?", params: [owner] };
    return this.#failWaiting(which, error, keep, await this.now());
  }

  async cancel(
    id: number,
    keep: number | null,
    force = false,
    only: readonly RunState[] | null = null,
  ): Promise<CancelAnswer> {
    const now = await this.now();
    return this.#ending((batches) => control.cancel(this.sql, id, { keep, force, only, batches }, now));
  }

  #failWaiting(which: Statement, error: string, keep: number | null, now: number): Promise<number[]> {
    return this.#ending((batches) =>
      control.endWaiting(this.sql, which, { state: "failed", error, keep, now, batches }),
    );
  }

  protected async settleOnce(tx: Transaction, request: ExchangeRequest, now: number): Promise<SettleResult> {
    const sql = this.sql.on(tx);
    const settled = await settleOnce(sql, request, now, request.again || tx.again);
    await slowDown(sql, settled.slowed, () => this.readTime(tx));
    return settled;
  }

  async install(options?: { dryRun?: boolean }): Promise<InstallReport> {
    return install(this.sql, this.#schema, await this.now(), options?.dryRun ?? false);
  }

  inspect(): Promise<Inspection> {
    return inspect(this.sql, this.#schema, () => this.now());
  }

  restore(missing: MissingObject): Promise<void> {
    return this.sql.db.restore(this.sql.t, missing);
  }

  async forgetWorkers(): Promise<number> {
    return workers.forgetDead(this.sql, await this.now());
  }

  checkSchema(sql: SqlContext = this.sql): Promise<void> {
    return checkSchema(sql, this.#schema);
  }

  async move(id: number, runAt: number): Promise<"moved" | RunState | null> {
    const answer = await control.move(this.sql, id, runAt, await this.now());
    this.quiet.clear();
    return answer;
  }

  async revive(id: number, revival: Revival = {}): Promise<"revived" | RunState | null> {
    const answer = await revive(this.sql, id, revival, await this.now());
    this.quiet.clear();
    return answer;
  }

  remove(id: number, only: readonly RunState[] | null = null): Promise<"removed" | RunState | null> {
    return this.#ending((batches) => control.remove(this.sql, id, { only, batches }));
  }

  async syncJobs(sync: SyncRequest): ReturnType<Store["syncJobs"]> {
    const result = await syncJobs(this.sql, sync, await this.now());
    if (!result.isUnchanged) this.quiet.clear();
    return result;
  }

  async raise(queue: string, patience: number, limit: number): Promise<number> {
    return raise(this.sql, queue, (await this.now()) - patience, limit);
  }

  async reopenRates(subject: RateSubject): Promise<number> {
    const reopened = await reopenRates(this.sql, subject, (tx) => this.readTime(tx));
    this.quiet.clear();
    return reopened;
  }

  adopt(id: number): Promise<boolean> {
    return adopt(this.sql, id);
  }

  job(name: string): Promise<JobRecord | null> {
    return jobs.find(this.sql, name);
  }

  jobNames(): Promise<string[]> {
    return jobs.names(this.sql);
  }

  async tick(request: TickRequest): Promise<TickResult> {
    return tick(this.sql, request, await this.now());
  }

  flush(...counts: Parameters<Store["flush"]>): Promise<void> {
    return jobs.flush(this.sql, ...counts);
  }

  async beat(worker: Heartbeat): Promise<WorkerRequest | null> {
    return this.#heartbeats.beat(worker, await this.now());
  }

  async releaseJobs(worker: string): Promise<void> {
    this.quiet.forget(worker);
    return this.#heartbeats.release(worker, await this.now());
  }

  async leave(worker: string): Promise<void> {
    this.quiet.forget(worker);
    await this.batches.finishLooks();
    return this.#heartbeats.leave(worker, await this.now());
  }

  async busyWorkersOf(host: string): Promise<BusyWorker[]> {
    return workers.busyWorkersOf(this.sql, host, await this.now());
  }

  limited(limits: ReadLimits): StoreReads {
    const sql = this.sql.on(new TimeLimitedSql(this.sql.db, limits));
    return new LimitedReads(sql, () => this.now());
  }

  async prune(request: PruneRequest): Promise<PruneReport> {
    const now = await this.now();
    return this.#ending((batches) => prune.prune(this.sql, this.#sweeper, { ...request, batches }, now));
  }

  async countPrunable(request: PruneRequest): Promise<PruneForecast> {
    return prune.forecast(this.sql, request, await this.now());
  }
}
