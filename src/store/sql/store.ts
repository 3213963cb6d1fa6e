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
import type { ReadLimits, StoreReads } from "../reads.ts";
import type { CancelAnswer, JobRecord, NewAuditEntry, PauseNote, WorkerRecord } from "../records.ts";
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
  type Store,
  type SyncRequest,
  WORKER_DEAD_AFTER,
} from "../store.ts";
import { record } from "./audit.ts";
import { SqlContext } from "./context.ts";
import * as control from "./control.ts";
import type { Database, Sql, Statement, Tables, Transaction } from "./database.ts";
import { adopt } from "./former-names.ts";
import { inspect } from "./inspect.ts";
import * as jobs from "./jobs.ts";
import { LimitedSql } from "./limited.ts";
import * as logs from "./logs.ts";
import { install, type Schema, verify } from "./migrate.ts";
import { pauseJob, pauseQueue, pauseSchedule } from "./pause.ts";
import * as prune from "./prune.ts";
import { LimitedReads, SqlReads } from "./reads.ts";
import { reap, takeBack } from "./reap.ts";
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
import { syncJobs } from "./sync.ts";
import { tick } from "./ticks.ts";
import { writeSlowHook } from "./wait-facts.ts";
import * as workers from "./workers.ts";

/**
 * The part of a store that is the same on every database. Subclasses add how to insert, exchange, watch and tell the
 * time.
 */
export abstract class SqlStore extends SqlReads implements Store {
  readonly #schema: Schema;
  readonly #sweeper: logs.LogSweeper;

  constructor(database: Database, schema: Schema, tables: Tables) {
    super(new SqlContext(database, tables));
    this.#schema = schema;
    this.#sweeper = new logs.LogSweeper(this.sql);
  }

  get database(): DatabaseName {
    return this.sql.db.name;
  }

  abstract readonly streams: number;
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
    const inside = async (transaction: Transaction) => {
      const tx = this.sql.on(transaction);
      if (!(await holdsLease(tx, settlement))) throw lost;
      await this.callInside(work, transaction);
      const { written } = await settleAll(tx, [settlement], await this.now(tx));
      if (!written[0]) throw lost;
    };
    try {
      await this.transactOnce(inside, extended ?? (() => {}));
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
    const request = { limit, cap, error, keep };
    return this.sql.transaction((tx) => reap(tx, request, now));
  }

  async takeBack(leases: Lease[], cap: CrashCap, error: string, keep: number | null): Promise<ReapedRun[]> {
    const now = await this.now();
    const request = { leases, cap, error, keep };
    return this.sql.transaction((tx) => takeBack(tx, request, now));
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

  async cancel(id: number, keep: number | null, force = false): Promise<CancelAnswer> {
    return control.cancel(this.sql, id, { keep, force }, await this.now());
  }

  #failWaiting(which: Statement, error: string, keep: number | null, now: number): Promise<number[]> {
    return control.endWaiting(this.sql, which, { state: "failed", error, keep, now });
  }

  protected settleOnce(tx: Transaction, request: ExchangeRequest, now: number): Promise<SettleResult> {
    return settleOnce(this.sql.on(tx), request, now, request.again || tx.again);
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

  verify(): Promise<void> {
    return verify(this.sql, this.#schema);
  }

  async move(id: number, runAt: number): Promise<"moved" | RunState | null> {
    return control.move(this.sql, id, runAt, await this.now());
  }

  async revive(id: number, runAt: number | null = null): Promise<"revived" | RunState | null> {
    return revive(this.sql, id, runAt, await this.now());
  }

  remove(id: number): Promise<"removed" | RunState | null> {
    return control.remove(this.sql, id);
  }

  async syncJobs(sync: SyncRequest): Promise<void> {
    return syncJobs(this.sql, sync, await this.now());
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

  async pauseJob(name: string, paused: boolean, note?: PauseNote): Promise<boolean> {
    return pauseJob(this.sql, name, { paused, note }, await this.now());
  }

  async pauseQueue(name: string, paused: boolean, until: number | null, note?: PauseNote): Promise<void> {
    return pauseQueue(this.sql, name, { paused, until, note }, await this.now());
  }

  async tick(request: TickRequest): Promise<TickResult> {
    return tick(this.sql, request, await this.now());
  }

  async pauseSchedule(id: number, paused: boolean, note?: PauseNote): Promise<boolean> {
    return pauseSchedule(this.sql, id, { paused, note }, await this.now());
  }

  flush(...counts: Parameters<Store["flush"]>): Promise<void> {
    return jobs.flush(this.sql, ...counts);
  }

  async beat(worker: Omit<WorkerRecord, "seenAt">): Promise<void> {
    return workers.beat(this.sql, worker, await this.now());
  }

  leave(worker: string): Promise<void> {
    return workers.leave(this.sql, worker);
  }

  limited(limits: ReadLimits): StoreReads {
    const sql = this.sql.on(new LimitedSql(this.sql.db, limits));
    return new LimitedReads(sql, () => this.now());
  }

  async recordAction(entry: NewAuditEntry): Promise<number> {
    const now = await this.now();
    await record(this.sql, entry, now);
    return now;
  }

  async prune(request: PruneRequest): Promise<PruneReport> {
    return prune.prune(this.sql, this.#sweeper, request, await this.now());
  }

  async countPrunable(request: PruneRequest): Promise<PruneForecast> {
    return prune.forecast(this.sql, request, await this.now());
  }
}
