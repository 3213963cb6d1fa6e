import type { FinishedState, RunState } from "../../run/states.ts";
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
import type {
  DatabaseName,
  ExchangeRequest,
  ExchangeResult,
  Inserted,
  InstallReport,
  JobSync,
  Lease,
  NewRun,
  PruneReport,
  PruneRequest,
  ReapedRun,
  Renewal,
  Settlement,
  Store,
  Tally,
  TickRequest,
  TickResult,
} from "../store.ts";
import * as control from "./control.ts";
import type { Database, Tables } from "./database.ts";
import * as jobs from "./jobs.ts";
import { install, type Schema, verify } from "./migrate.ts";
import * as prune from "./prune.ts";
import * as reads from "./reads.ts";
import * as schedules from "./schedules.ts";
import * as status from "./status.ts";
import { syncJobs } from "./sync.ts";
import * as workers from "./workers.ts";

/** What every SQL database does with the same statements. A database adds how it inserts, claims, settles and wakes. */
export abstract class SqlStore implements Store {
  abstract readonly database: DatabaseName;
  readonly #db: Database;
  readonly #schema: Schema;
  readonly #t: Tables;

  constructor(database: Database, schema: Schema, tables: Tables) {
    this.#db = database;
    this.#schema = schema;
    this.#t = tables;
  }

  abstract close(): Promise<void>;
  abstract now(): Promise<number>;
  abstract insert(runs: NewRun[], tx?: unknown): Promise<Inserted[]>;
  abstract exchange(request: ExchangeRequest): Promise<ExchangeResult>;
  abstract renew(worker: string, renewals: Renewal[]): Promise<{ held: Set<number>; cancelled: number[] }>;
  abstract start(lease: Lease): Promise<boolean>;
  abstract progress(lease: Lease, progress: string): Promise<boolean>;
  abstract transaction(settlement: Settlement, work: (tx: unknown) => unknown): Promise<boolean>;
  abstract reap(limit: number, crashCap: number, error: string, keep: number | null): Promise<ReapedRun[]>;
  abstract reapOwnerless(error: string, keep: number | null): Promise<number[]>;
  abstract disown(owner: string, error: string, keep: number | null): Promise<number[]>;
  abstract cancel(id: number, keep: number | null): Promise<"cancelled" | "requested" | FinishedState | null>;
  abstract watch(onChange: () => void): () => void;
  protected abstract cancelOrphans(seenBefore: number, olderThan: number, now: number): Promise<number[]>;

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
    return schedules.tick(this.#db, this.#t, request, await this.now());
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

  async beat(worker: WorkerRow): Promise<void> {
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
    const orphans = await this.cancelOrphans(before, before, now);
    return { ...report, orphans: orphans.length };
  }
}
