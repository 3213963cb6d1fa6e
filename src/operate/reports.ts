import {
  type AttemptInfo,
  type LogLine,
  type RunInfo,
  type TickInfo,
  toAttempt,
  toInfo,
  toLine,
  toTick,
} from "../run/info.ts";
import { wrongState } from "../run/run.ts";
import type { RunState } from "../run/states.ts";
import { type Health, healthOf } from "../status/health.ts";
import { type RateInfo, toRateInfo } from "../status/rates.ts";
import {
  type DefinitionFacts,
  type MuteInfo,
  type ScheduleInfo,
  type StatusReport,
  toMuteInfo,
  toReport,
  toScheduleInfo,
} from "../status/report.ts";
import {
  type Trend,
  type TrendOptions,
  type TrendsOptions,
  toSurvey,
  toTrend,
  toTrendRequest,
  toTrends,
} from "../status/trend.ts";
import { explain } from "../status/why.ts";
import { MOST_RUNNING, toWorkers, type WorkerInfo } from "../status/workers.ts";
import type { LogRecord, RunRecord, ValueField } from "../store/records.ts";
import type { RunCondition, RunCount } from "../store/search.ts";
import type { Clock } from "../time.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import { type AuditOptions, type AuditPage, toAuditPage } from "./audit.ts";
import { BatchReads } from "./batch-reads.ts";
import { MOST_COUNTED } from "./bulk.ts";
import { type FailureReport, type FailuresOptions, groupFailures } from "./failures.ts";
import { type RatesOptions, toRateSearch } from "./rate-search.ts";
import { checkId, type RunsFilter, type RunsQuery, toQuery } from "./run-query.ts";
import { ValueCache } from "./values.ts";
import { type VerifyOptions, type VerifyReport, verify } from "./verify.ts";

/** One page of runs. */
export interface RunsPage {
  runs: RunInfo[];
  /** Value of `before` for the next page; null on the last one. */
  next: number | null;
  /**
   * Whether the search for finished runs was restricted to the last seven days, because the query sets no bound itself.
   */
  bounded: boolean;
}

/** A run as it is stored. */
export type StoredRun = RunRecord;

/** One page of runs as they are stored. */
export interface StoredRunsPage extends Omit<RunsPage, "runs"> {
  runs: StoredRun[];
}

/** A log line as it is stored: its data is JSON text. */
export type StoredLogLine = LogRecord;

/** Options of `logs()`. */
export interface LogsOptions {
  /** Returns only lines after this `position`. */
  after?: number | undefined;
  /** Most lines returned. Default: 1,000, which is also the maximum. */
  limit?: number | undefined;
}

/** Result of `recentTicks()`. */
export interface RecentTicks {
  /** The runs of the last ticks, by the id of the schedule, the oldest first. */
  ticks: Map<number, TickInfo[]>;
  /** Schedules with fewer ticks than asked for that may have older ones, which were not looked for. */
  partial: number[];
}

/** Options of methods that return a page of runs. */
export interface PageOptions {
  /** At most 1,000. Default: 50. */
  limit?: number | undefined;
  /** `next` of the previous page. */
  before?: number | undefined;
}

/** Most lines that `logs()` returns at once. */
const MOST_LINES_READ = 1000;

/** The part of an instance that people look at. Every method reads a bounded number of rows of any table. */
export abstract class Reports extends BatchReads {
  protected abstract readonly clock: Clock;
  /** Writes the counts that are still in memory, so that a status is up to date. */
  protected abstract writeCounts(): Promise<void>;

  abstract definitions(): readonly DefinitionFacts[];

  #values: ValueCache | null = null;

  protected get valueCache(): ValueCache {
    this.#values ??= new ValueCache(this.clock);
    return this.#values;
  }

  /** Returns the database's time, which decides what is due. */
  async now(): Promise<Date> {
    return new Date(await (await this.openReads()).now());
  }

  /** Returns a run; null if it does not exist: deleted, pruned or not kept. */
  async find(id: number): Promise<RunInfo | null> {
    const record = await (await this.openReads()).find(checkId(id));
    return record && toInfo(record);
  }

  /** Returns the state of a run; null if it does not exist. */
  async state(id: number): Promise<RunState | null> {
    return (await this.find(id))?.state ?? null;
  }

  /**
   * Returns a page of runs, the newest first. With a query a page may be short although `next` is not null: one search
   * reads a bounded number of rows.
   */
  async runs(filter: RunsFilter = {}): Promise<RunsPage> {
    const { runs, next, bounded } = await this.#search(filter, "runs()");
    return { runs: runs.map(toInfo), next, bounded };
  }

  /**
   * Returns a run as it is stored: arguments, result, progress and error as JSON text, in which integers beyond 2^53
   * are exact, and times in UTC milliseconds. Null if it does not exist.
   */
  async storedRun(id: number): Promise<StoredRun | null> {
    return (await this.openReads()).find(checkId(id));
  }

  /** Returns a page of runs as they are stored: see `runs()` and `storedRun()`. */
  storedRuns(filter: RunsFilter = {}): Promise<StoredRunsPage> {
    return this.#search(filter, "storedRuns()");
  }

  async #search(filter: RunsFilter, method: string): Promise<StoredRunsPage> {
    const store = await this.openReads();
    const { where, bounded } = toQuery(filter, await store.now(), method, { before: true, limit: true });
    const limit = checkInteger(filter.limit ?? 50, `${method} limit`, 1, 1000);
    const before = filter.before === undefined ? {} : { before: checkId(filter.before, `${method} before`) };
    return { ...(await store.search({ where, limit, ...before })), bounded };
  }

  /** Counts the runs that match a query, up to 10,000. */
  async count(query: RunsQuery | string = {}): Promise<RunCount> {
    const store = await this.openReads();
    const { where } = toQuery(query, await store.now(), "count()");
    return store.count(where, MOST_COUNTED);
  }

  /** Returns the attempts of a run that failed or crashed. */
  async attempts(id: number): Promise<AttemptInfo[]> {
    return (await (await this.openReads()).attempts(checkId(id))).map(toAttempt);
  }

  /**
   * Returns the lines that the handler of a run logged with `run.log()`, in order. A line can be read about a second
   * after it was logged, and at the latest when the run has finished.
   */
  async logs(id: number, options: LogsOptions = {}): Promise<LogLine[]> {
    return (await this.#readLogs(id, options, "logs()")).map(toLine);
  }

  /** Returns log lines as they are stored: see `logs()` and `storedRun()`. */
  storedLogs(id: number, options: LogsOptions = {}): Promise<StoredLogLine[]> {
    return this.#readLogs(id, options, "storedLogs()");
  }

  async #readLogs(id: number, options: LogsOptions, method: string): Promise<StoredLogLine[]> {
    checkKeys(options, { after: true, limit: true }, method);
    const after = checkInteger(options.after ?? 0, `${method} after`, 0, Number.MAX_SAFE_INTEGER);
    const limit = checkInteger(options.limit ?? MOST_LINES_READ, `${method} limit`, 1, MOST_LINES_READ);
    return (await this.openReads()).logs(checkId(id), after, limit);
  }

  /** Returns the number of stored lines of a run. */
  async countLogs(id: number): Promise<number> {
    return (await this.openReads()).countLogs(checkId(id));
  }

  /**
   * Lists the rates of jobs and queues, and of up to 100 keys of each job: how much is spent, and when each opens. Of
   * the first 1,000 keys by name that have started runs lately, closed ones come first.
   */
  async rates(options: RatesOptions = {}): Promise<RateInfo[]> {
    return (await (await this.openReads()).rates(toRateSearch(options))).map(toRateInfo);
  }

  /** Explains in words why a run is not running, or how it ended. */
  async why(id: number): Promise<string> {
    const facts = await (await this.openReads()).waitFacts(checkId(id));
    if (!facts) throw wrongState("explain", id, null);
    return explain(facts).join(" ");
  }

  /** Returns the current jobs, queues and workers. Its cost does not grow with the number of waiting runs. */
  async status(): Promise<StatusReport> {
    await this.writeCounts();
    return toReport(await (await this.openReads()).status(), this.definitions());
  }

  /** Returns the problems of jobs, queues and workers in words, as `punctual status --check` prints them. */
  async health(): Promise<Health> {
    return healthOf(await this.status());
  }

  /**
   * Returns how many attempts of one job, one queue or all ended in which way, how long they waited and how long they
   * took. It reads sums, which workers write every ten seconds, not runs.
   */
  async trend(options: TrendOptions = {}): Promise<Trend> {
    await this.writeCounts();
    const store = await this.openReads();
    const request = toTrendRequest(options, await store.now());
    return toTrend(await store.rollups(request), request);
  }

  /**
   * Returns the trends of all jobs or all queues that had attempts, by name. It costs one statement, however many there
   * are.
   */
  async trends(options: TrendsOptions): Promise<Map<string, Trend>> {
    await this.writeCounts();
    const store = await this.openReads();
    const survey = toSurvey(options, await store.now());
    return toTrends(await store.surveyRollups(survey), survey);
  }

  /** Returns every schedule, with its last and next tick and the number of missed ticks. */
  async schedules(): Promise<ScheduleInfo[]> {
    return (await (await this.openReads()).schedules()).map(toScheduleInfo);
  }

  /**
   * Returns a page of the runs that the handler of a run dispatched, the newest first. On MySQL and MariaDB one call
   * searches about 100,000 of the runs that were dispatched while it existed; `next` continues behind them.
   */
  async childRuns(id: number, options: PageOptions = {}): Promise<Omit<RunsPage, "bounded">> {
    return this.#linked("childRuns()", "parent", id, options);
  }

  /**
   * Returns a page of the runs that `rerun()` made of a run, the newest first. On MySQL and MariaDB one call searches
   * the newest 100,000 runs; `next` continues behind them.
   */
  async reruns(id: number, options: PageOptions = {}): Promise<Omit<RunsPage, "bounded">> {
    return this.#linked("reruns()", "rerun", id, options);
  }

  async #linked(
    method: string,
    field: "parent" | "rerun",
    id: number,
    options: PageOptions,
  ): Promise<Omit<RunsPage, "bounded">> {
    checkKeys(options, { limit: true, before: true }, method);
    const limit = checkInteger(options.limit ?? 50, `${method} limit`, 1, 1000);
    const before =
      options.before === undefined ? {} : { before: checkId(options.before, `${method} before`) };
    const where: RunCondition[] = [{ field, any: [{ op: "=", value: checkId(id) }] }];
    const { runs, next } = await (await this.openReads()).search({ where, limit, ...before });
    return { runs: runs.map(toInfo), next };
  }

  /** Returns the live workers, the runs that each executes, and figures of its process at its last heartbeat. */
  async workers(): Promise<WorkerInfo[]> {
    const reads = await this.openReads();
    return toWorkers(await reads.liveWorkers(), await reads.workerRuns(MOST_RUNNING));
  }

  /**
   * Returns the runs of the last ticks of schedules, by the id of the schedule, the oldest first: at most 200 schedules
   * and, of each, `limit` runs (default: 20, at most 100). Ticks that made no run are missing. On MySQL and MariaDB
   * ticks are looked for among the newest runs of the job: `partial` lists schedules that may have older ones.
   */
  async recentTicks(
    schedules: readonly number[],
    options: { limit?: number | undefined } = {},
  ): Promise<RecentTicks> {
    checkKeys(options, { limit: true }, "recentTicks()");
    const limit = checkInteger(options.limit ?? 20, "recentTicks() limit", 1, 100);
    checkInteger(schedules.length, "recentTicks() number of schedules", 0, 200);
    const ids = schedules.map((id) => checkId(id, "the id of a schedule"));
    if (ids.length === 0) return { ticks: new Map(), partial: [] };
    const { ticks, partial } = await (await this.openReads()).recentTicks(ids, limit);
    return { ticks: Map.groupBy(ticks.reverse().map(toTick), ({ scheduleId }) => scheduleId), partial };
  }

  /** Groups failed runs by their error. Reads the newest 10,000. `retryAll("fingerprint:…")` retries a group. */
  async failures(options: FailuresOptions = {}): Promise<FailureReport> {
    return groupFailures(await this.openReads(), options);
  }

  /** Returns the muted groups of failures, the latest mute first; also those without a failed run. */
  async mutes(): Promise<MuteInfo[]> {
    return (await (await this.openReads()).mutes()).map(toMuteInfo);
  }

  /**
   * Returns values of a field of the query language that begin with a prefix, for completion: at most 50, in order.
   * They are cached for 30 seconds. Tags and classes of errors come from the newest 10,000 runs.
   */
  async values(field: ValueField, prefix = ""): Promise<string[]> {
    return this.valueCache.find(field, prefix, async (one) => (await this.openReads()).values(one));
  }

  /**
   * Checks the invariants of the tables: that each run is in one place, that no limit is exceeded, that no lease was
   * forgotten. It reads only. A violation is reported if a second look, two seconds later, finds it again.
   */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    return verify(await this.openReads(), this.clock, options);
  }

  /** Returns a page of the actions of operators, the newest first. */
  async audit(options: AuditOptions = {}): Promise<AuditPage> {
    checkKeys(options, { limit: true, before: true }, "audit()");
    const limit = checkInteger(options.limit ?? 50, "audit() limit", 1, 1000);
    const before = options.before === undefined ? null : checkId(options.before, "audit() before");
    return toAuditPage(await (await this.openReads()).audit(limit, before), limit);
  }
}
