import type { BatchRecord, BatchSearch, BatchStatusRecord } from "../batches.ts";
import type { InvariantReport } from "../invariants.ts";
import type { RateSearch, StoreReads, TickRecords } from "../reads.ts";
import type {
  AttemptRecord,
  AuditRecord,
  FailureCounts,
  LogRecord,
  MuteRecord,
  RateRecord,
  RunRecord,
  ScheduleRecord,
  Status,
  ValueField,
  WaitFacts,
  WorkerRecord,
  WorkerRun,
} from "../records.ts";
import type { NamedRollupRow, RollupRequest, RollupRow, RollupSurvey } from "../rollups.ts";
import type { RunCondition, RunCount, RunPage, RunSearch } from "../search.ts";
import * as audit from "./audit.ts";
import { findBatch, listBatches } from "./batch-rows.ts";
import type { SqlContext } from "./context.ts";
import { errorsOf, failures } from "./failures.ts";
import { checkInvariants } from "./invariants.ts";
import * as logs from "./logs.ts";
import { mutes } from "./mutes.ts";
import { listRates } from "./rate-records.ts";
import { recentTicks } from "./recent-ticks.ts";
import { readRollups, surveyRollups } from "./rollups.ts";
import * as runRecords from "./run-records.ts";
import * as schedules from "./schedules.ts";
import { count, search } from "./search.ts";
import * as status from "./status.ts";
import { values } from "./values.ts";
import { waitFacts } from "./wait-facts.ts";
import { liveWorkers, workerRuns } from "./workers.ts";

/** The reads of a store, on any connection. */
export abstract class SqlReads implements StoreReads {
  protected readonly sql: SqlContext;

  constructor(sql: SqlContext) {
    this.sql = sql;
  }

  abstract now(): Promise<number>;

  find(id: number): Promise<RunRecord | null> {
    return runRecords.find(this.sql, id);
  }

  attempts(id: number): Promise<AttemptRecord[]> {
    return runRecords.attempts(this.sql, id);
  }

  logs(id: number, after: number, limit: number): Promise<LogRecord[]> {
    return logs.read(this.sql, id, after, limit);
  }

  countLogs(id: number): Promise<number> {
    return logs.count(this.sql, id);
  }

  async search(request: RunSearch): Promise<RunPage> {
    return search(this.sql, request, await this.now());
  }

  async count(where: RunCondition[], cap: number): Promise<RunCount> {
    return count(this.sql, where, cap, await this.now());
  }

  async status(): Promise<Status> {
    return status.status(this.sql, await this.now());
  }

  async waitFacts(id: number): Promise<WaitFacts | null> {
    return waitFacts(this.sql, id, await this.now());
  }

  rollups(request: RollupRequest): Promise<RollupRow[]> {
    return readRollups(this.sql, request);
  }

  surveyRollups(survey: RollupSurvey): Promise<NamedRollupRow[]> {
    return surveyRollups(this.sql, survey);
  }

  schedules(): Promise<ScheduleRecord[]> {
    return schedules.list(this.sql);
  }

  async liveWorkers(): Promise<WorkerRecord[]> {
    return liveWorkers(this.sql, await this.now());
  }

  workerRuns(most: number): Promise<WorkerRun[]> {
    return workerRuns(this.sql, most);
  }

  recentTicks(ids: number[], each: number): Promise<TickRecords> {
    return recentTicks(this.sql, ids, each);
  }

  failures(request: Parameters<StoreReads["failures"]>[0]): Promise<FailureCounts> {
    return failures(this.sql, request);
  }

  errorsOf(ids: number[]): Promise<Map<number, string | null>> {
    return errorsOf(this.sql, ids);
  }

  values(field: ValueField): Promise<string[]> {
    return values(this.sql, field);
  }

  checkInvariants(most: number): Promise<InvariantReport> {
    return checkInvariants(this.sql, most, () => this.now());
  }

  async rates(search: RateSearch): Promise<RateRecord[]> {
    return listRates(this.sql, search, await this.now());
  }

  batch(id: number): Promise<BatchStatusRecord | null> {
    return findBatch(this.sql, id);
  }

  listBatches(search: BatchSearch): Promise<BatchRecord[]> {
    return listBatches(this.sql, search);
  }

  async mutes(): Promise<MuteRecord[]> {
    return mutes(this.sql, await this.now());
  }

  audit(limit: number, before: number | null): Promise<AuditRecord[]> {
    return audit.read(this.sql, limit, before);
  }
}

/** Reads under limits. */
export class LimitedReads extends SqlReads {
  readonly now: () => Promise<number>;

  constructor(sql: SqlContext, now: () => Promise<number>) {
    super(sql);
    this.now = now;
  }
}
