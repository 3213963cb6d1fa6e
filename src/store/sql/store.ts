import type { FinishedState, RunState } from "../../run/states.ts";
import { backOff } from "../../time.ts";
import type {
  AttemptRecord,
  JobRow,
  RunFilter,
  RunRecord,
  ScheduleRow,
  Status,
  WaitFacts,
  WorkerRow,
} from "../records.ts";
import {
  type DatabaseName,
  type ExchangeRequest,
  type ExchangeResult,
  type Inserted,
  type InstallReport,
  type JobSync,
  type Lease,
  type NewRun,
  type PruneReport,
  type PruneRequest,
  type ReapedRun,
  type Renewal,
  type Settlement,
  type Store,
  type Tally,
  type TickRequest,
  type TickResult,
  WORKER_DEAD_AFTER,
} from "../store.ts";
import * as control from "./control.ts";
import { type Database, first, type Param, type Tables, type Transaction } from "./database.ts";
import * as jobs from "./jobs.ts";
import { install, type Schema, verify } from "./migrate.ts";
import * as prune from "./prune.ts";
import * as reads from "./reads.ts";
import { endWaiting, reap } from "./reap.ts";
import * as schedules from "./schedules.ts";
import { Settler } from "./settle.ts";
import * as status from "./status.ts";
import { syncJobs } from "./sync.ts";
import { tick } from "./ticks.ts";
import * as workers from "./workers.ts";

/** How often a renewal asks for a run that somebody has locked. */
const RENEWALS = 10;

/** What every SQL database does with the same statements. A database adds how it inserts, claims and wakes. */
export abstract class SqlStore implements Store {
  readonly #db: Database;
  readonly #schema: Schema;
  readonly #t: Tables;
  protected readonly settler: Settler;

  constructor(database: Database, schema: Schema, tables: Tables) {
    this.#db = database;
    this.#schema = schema;
    this.#t = tables;
    this.settler = new Settler(database, tables);
  }

  get database(): DatabaseName {
    return this.#db.name;
  }

  abstract close(): Promise<void>;
  abstract now(): Promise<number>;
  abstract insert(runs: NewRun[], tx?: unknown): Promise<Inserted[]>;
  abstract exchange(request: ExchangeRequest): Promise<ExchangeResult>;
  abstract watch(onChange: () => void): () => void;

  async renew(worker: string, renewals: Renewal[]): Promise<{ held: Set<number>; cancelled: number[] }> {
    const held = new Set<number>();
    let left = renewals;
    for (let tries = 1; left.length > 0; tries++) {
      const now = await this.now();
      const renewed = await this.#db.transaction((tx) => this.settler.renew(tx, left, now));
      for (const id of renewed.held) held.add(id);
      left = renewed.locked;
      if (left.length > 0 && tries === RENEWALS) break;
      if (left.length > 0) await backOff(tries * Math.random() * 10);
    }
    // Still locked, and still under its token: its turn is the next renewal.
    for (const { id } of left) held.add(id);
    return { held, cancelled: await this.settler.cancelledOf(this.#db, worker) };
  }

  async start(lease: Lease): Promise<boolean> {
    const now = await this.now();
    return this.#db.transaction((tx) => this.settler.write(tx, lease, "started_at", now));
  }

  progress(lease: Lease, progress: string): Promise<boolean> {
    return this.#db.transaction((tx) => this.settler.write(tx, lease, "progress", progress));
  }

  /** Once only: `work` is the handler's, and may do more than write here. If the answer is lost, the fence decides. */
  async transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean> {
    const now = await this.now();
    return this.#db.transaction(
      async (tx) => {
        if (!(await this.settler.write(tx, settlement, "started_at", now))) return false;
        await this.callInside(work, tx);
        const [settled] = await this.settler.settleAll(tx, [settlement], await this.now());
        return settled!;
      },
      { retry: false },
    );
  }

  protected async callInside(work: (tx: unknown) => unknown, tx: Transaction): Promise<void> {
    await work(tx.handle);
  }

  async reap(limit: number, crashCap: number, error: string, keep: number | null): Promise<ReapedRun[]> {
    const now = await this.now();
    const request = { limit, crashCap, error, keep };
    return this.#db.transaction((tx) => reap(tx, this.#db, this.#t, this.settler, request, now));
  }

  async reapOwnerless(error: string, keep: number | null): Promise<number[]> {
    const now = await this.now();
    const where = `owner is not null and owner not in (select id from ${this.#t.workers} where seen_at > ?)`;
    return this.#endWaiting(where, [now - WORKER_DEAD_AFTER], { state: "failed", error, keep, now });
  }

  async disown(owner: string, error: string, keep: number | null): Promise<number[]> {
    const end = { state: "failed", error, keep, now: await this.now() } as const;
    return this.#endWaiting("owner is not null and owner = ?", [owner], end);
  }

  async cancel(id: number, keep: number | null): Promise<"cancelled" | "requested" | FinishedState | null> {
    const now = await this.now();
    const end = { state: "cancelled", error: null, keep, now } as const;
    return this.#db.transaction(async (tx) => {
      const one = { where: "id = ?", params: [id] };
      const ended = await endWaiting(tx, this.#db, this.#t, this.settler, one, end);
      if (ended.length > 0) return "cancelled";
      const state = await control.stateOf(tx, this.#db, this.#t, id);
      if (state !== "running") return state as FinishedState | null;
      await tx.run(`update ${this.#t.runs} set cancelled_at = ? where id = ?`, now, id);
      return "requested";
    });
  }

  #endWaiting(where: string, params: Param[], end: Parameters<typeof endWaiting>[5]): Promise<number[]> {
    return this.#db.transaction((tx) =>
      endWaiting(tx, this.#db, this.#t, this.settler, { where, params }, end),
    );
  }

  /** The number tells a group that was written, though its answer was lost, from one that never arrived. */
  protected async settleOnce(
    tx: Transaction,
    { worker, seq, again, settle, started }: ExchangeRequest,
    now: number,
  ): Promise<boolean[]> {
    let settled: boolean[] = [];
    if (settle.length > 0) {
      if (again || tx.again) {
        const known = await first(
          tx.all<{ settle_seq: number }>(`select settle_seq from ${this.#t.workers} where id = ?`, worker),
        );
        if (known && known.settle_seq >= seq) return settle.map(() => true);
      }
      await tx.run(`update ${this.#t.workers} set settle_seq = ? where id = ?`, seq, worker);
      settled = await this.settler.settleAll(tx, settle, now);
    }
    await this.settler.startAll(tx, started, now);
    return settled;
  }

  async install(options?: { dryRun?: boolean }): Promise<InstallReport> {
    return install(this.#db, this.#schema, this.#t, await this.now(), options?.dryRun ?? false);
  }

  verify(): Promise<void> {
    return verify(this.#db, this.#schema, this.#t);
  }

  async move(id: number, runAt: number): Promise<"moved" | RunState | null> {
    return control.move(this.#db, this.#t, id, runAt, await this.now());
  }

  async revive(id: number): Promise<"revived" | RunState | null> {
    return control.revive(this.#db, this.#t, id, await this.now());
  }

  remove(id: number): Promise<"removed" | RunState | null> {
    return control.remove(this.#db, this.#t, id);
  }

  async syncJobs(sync: JobSync): Promise<void> {
    return syncJobs(this.#db, this.#t, sync, await this.now());
  }

  async declareJobs(names: string[], queue: string, priority: number): Promise<void> {
    return jobs.declare(this.#db, this.#t, names, queue, priority, await this.now());
  }

  job(name: string): Promise<JobRow | null> {
    return jobs.find(this.#db, this.#t, name);
  }

  jobNames(): Promise<string[]> {
    return jobs.names(this.#db, this.#t);
  }

  async pauseJob(name: string, paused: boolean): Promise<boolean> {
    return jobs.pause(this.#db, this.#t, name, paused, await this.now());
  }

  async pauseQueue(name: string, paused: boolean, until: number | null): Promise<void> {
    return jobs.pauseQueue(this.#db, this.#t, name, paused, until, await this.now());
  }

  async tick(request: TickRequest): Promise<TickResult> {
    return tick(this.#db, this.#t, request, await this.now());
  }

  schedules(): Promise<ScheduleRow[]> {
    return schedules.list(this.#db, this.#t);
  }

  async pauseSchedule(id: number, paused: boolean): Promise<boolean> {
    return schedules.pause(this.#db, this.#t, id, paused, await this.now());
  }

  flush(tallies: Tally[]): Promise<void> {
    return jobs.flush(this.#db, this.#t, tallies);
  }

  async beat(worker: Omit<WorkerRow, "seenAt">): Promise<void> {
    return workers.beat(this.#db, this.#t, worker, await this.now());
  }

  leave(worker: string): Promise<void> {
    return workers.leave(this.#db, this.#t, worker);
  }

  find(id: number): Promise<RunRecord | null> {
    return reads.find(this.#db, this.#t, id);
  }

  attempts(id: number): Promise<AttemptRecord[]> {
    return reads.attempts(this.#db, this.#t, id);
  }

  list(filter: RunFilter): Promise<RunRecord[]> {
    return reads.list(this.#db, this.#t, filter);
  }

  async status(): Promise<Status> {
    return status.status(this.#db, this.#t, await this.now());
  }

  async waitFacts(id: number): Promise<WaitFacts | null> {
    return status.waitFacts(this.#db, this.#t, id, await this.now());
  }

  async prune(request: PruneRequest): Promise<PruneReport> {
    const now = await this.now();
    const report = await prune.prune(this.#db, this.#t, request, now);
    if (request.orphansOlderThan === null) return report;
    const before = now - request.orphansOlderThan;
    const orphans = await this.#endWaiting(
      `owner is null and created_at < ? and name not in (select name from ${this.#t.jobs} where seen_at >= ?)`,
      [before, before],
      { state: "cancelled", error: null, keep: 0, now },
    );
    return { ...report, orphans: orphans.length };
  }
}
