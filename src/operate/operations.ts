import type { Emitter } from "../events/events.ts";
import { type AttemptInfo, type LogLine, type RunInfo, toAttempt, toInfo, toLine } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import { defaultRetention } from "../run/retention.ts";
import { type RunControl, wrongState } from "../run/run.ts";
import { isFinished, type RunState } from "../run/states.ts";
import { type Health, healthOf } from "../status/health.ts";
import {
  type DefinedJob,
  type ScheduleInfo,
  type StatusReport,
  toReport,
  toScheduleInfo,
} from "../status/report.ts";
import { type Trend, type TrendOptions, toTrend, toTrendRequest } from "../status/trend.ts";
import { explain } from "../status/why.ts";
import type { PruneForecast, PruneReport } from "../store/maintenance.ts";
import type { RunRecord } from "../store/records.ts";
import type { RunCount } from "../store/search.ts";
import type { Store } from "../store/store.ts";
import { type Clock, type Duration, type Instant, toInstant, toOffset } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import { type BulkOptions, type BulkReport, forEachRun, MOST_COUNTED, toSkipReason } from "./bulk.ts";
import {
  knownQueues,
  type PauseOptions,
  type PauseQueueOptions,
  pauseQueues,
  setJobPaused,
  setSchedulesPaused,
  toPauseNote,
} from "./pause.ts";
import { type PruneOptions, toPruneRequest } from "./prune-options.ts";
import { checkId, type RunsFilter, type RunsQuery, toQuery } from "./run-query.ts";
import { waitForRun } from "./wait.ts";

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

/** Options of `logs()`. */
export interface LogsOptions {
  /** Returns only lines after this `position`. */
  after?: number | undefined;
  /** Most lines returned. Default: 1,000, which is also the maximum. */
  limit?: number | undefined;
}

/** Most lines that `logs()` returns at once. */
const MOST_LINES_READ = 1000;

/**
 * The part of an instance that reads and operates runs, jobs, queues and schedules. The command line uses the same
 * methods.
 */
export abstract class Operations implements RunControl {
  protected abstract readonly clock: Clock;
  protected abstract readonly events: Emitter;
  protected abstract openStore(): Promise<Store>;
  protected abstract wakeWorker(): void;
  /** Writes the counts that are still in memory, so that a status is up to date. */
  protected abstract writeCounts(): Promise<void>;

  abstract definitions(): readonly DefinedJob[];

  // -- looking -----------------------------------------------------------------------------------------------------

  /** Returns a run; null if it does not exist: deleted, pruned or not kept. */
  async find(id: number): Promise<RunInfo | null> {
    const record = await (await this.openStore()).find(checkId(id));
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
    const store = await this.openStore();
    const { where, bounded } = toQuery(filter, await store.now(), "runs()", { before: true, limit: true });
    const limit = checkInteger(filter.limit ?? 50, "runs() limit", 1, 1000);
    const before = filter.before === undefined ? {} : { before: checkId(filter.before, "runs() before") };
    const { runs, next } = await store.search({ where, limit, ...before });
    return { runs: runs.map(toInfo), next, bounded };
  }

  /** Counts the runs that match a query, up to 10,000. */
  async count(query: RunsQuery | string = {}): Promise<RunCount> {
    const store = await this.openStore();
    const { where } = toQuery(query, await store.now(), "count()");
    return store.count(where, MOST_COUNTED);
  }

  /** Returns the attempts of a run that failed or crashed. */
  async attempts(id: number): Promise<AttemptInfo[]> {
    return (await (await this.openStore()).attempts(checkId(id))).map(toAttempt);
  }

  /**
   * Returns the lines that the handler of a run logged with `run.log()`, in order. A line can be read about a second
   * after it was logged, and at the latest when the run has finished.
   */
  async logs(id: number, options: LogsOptions = {}): Promise<LogLine[]> {
    checkKeys(options, { after: true, limit: true }, "logs()");
    const after = checkInteger(options.after ?? 0, "logs() after", 0, Number.MAX_SAFE_INTEGER);
    const limit = checkInteger(options.limit ?? MOST_LINES_READ, "logs() limit", 1, MOST_LINES_READ);
    return (await (await this.openStore()).logs(checkId(id), after, limit)).map(toLine);
  }

  /** Returns the number of stored lines of a run. */
  async countLogs(id: number): Promise<number> {
    return (await this.openStore()).countLogs(checkId(id));
  }

  /** Explains in words why a run is not running, or how it ended. */
  async why(id: number): Promise<string> {
    const facts = await (await this.openStore()).waitFacts(checkId(id));
    if (!facts) throw wrongState("explain", id, null);
    return explain(facts).join(" ");
  }

  /** Returns the current jobs, queues and workers. Its cost does not grow with the number of waiting runs. */
  async status(): Promise<StatusReport> {
    await this.writeCounts();
    return toReport(await (await this.openStore()).status(), this.definitions());
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
    const store = await this.openStore();
    const request = toTrendRequest(options, await store.now());
    return toTrend(await store.rollups(request), request);
  }

  /** Returns every schedule, with its last and next tick and the number of missed ticks. */
  async schedules(): Promise<ScheduleInfo[]> {
    return (await (await this.openStore()).schedules()).map(toScheduleInfo);
  }

  /** Returns the result of a run once it has completed; rejects if it ends otherwise, or not within the timeout. */
  async wait(id: number, options: { timeout?: Duration | undefined } = {}): Promise<JsonValue | undefined> {
    checkKeys(options, { timeout: true }, "wait()");
    const { clock, events } = this;
    return waitForRun(id, options.timeout, { clock, events, find: () => this.find(id) });
  }

  // -- operating runs ----------------------------------------------------------------------------------------------

  /**
   * Cancels a waiting run; asks a running one to end, by aborting its handler's signal. With `force`, a running run
   * ends at once and loses its lease, so that nothing more is written about it. Its handler may still run for a
   * while, but no limit counts it.
   */
  async cancel(
    id: number,
    options: { force?: boolean | undefined } = {},
  ): Promise<"cancelled" | "requested"> {
    checkKeys(options, { force: true }, "cancel()");
    const store = await this.openStore();
    const answer = await store.cancel(checkId(id), defaultRetention.cancelled, options.force === true);
    if (answer === "requested") this.wakeWorker();
    else if (answer === "cancelled") await this.#emitCancelled(id);
    else throw wrongState("cancel", id, answer);
    return answer;
  }

  async #emitCancelled(id: number): Promise<void> {
    const run = this.events.hasListeners("run.cancelled") ? await this.find(id) : null;
    if (!run) return;
    const { name, queue, attempts: attempt } = run;
    this.events.emit("run.cancelled", { id, name, queue, attempt, duration: 0, reason: null });
  }

  /** Changes when a waiting run is due. */
  async move(id: number, at: Instant): Promise<void> {
    const store = await this.openStore();
    const answer = await store.move(checkId(id), await toStoreTime(store, at));
    if (answer !== "moved") throw wrongState("move", id, answer);
    this.wakeWorker();
  }

  /** Runs a finished run once more, under the same id: now, or at an instant. */
  async retry(id: number, options: { at?: Instant | undefined } = {}): Promise<void> {
    checkKeys(options, { at: true }, "retry()");
    const store = await this.openStore();
    const at = options.at === undefined ? null : await toStoreTime(store, options.at);
    const answer = await store.revive(checkId(id), at);
    if (answer !== "revived") throw wrongState("retry", id, answer);
    this.wakeWorker();
  }

  /** Deletes a run that is not running, with its attempts and log lines. */
  async remove(id: number): Promise<void> {
    const answer = await (await this.openStore()).remove(checkId(id));
    if (answer !== "removed") throw wrongState("delete", id, answer);
  }

  /** Retries every finished run that matches a query; counts a run that is no longer finished as skipped. */
  async retryAll(query: RunsQuery | string, options: BulkOptions = {}): Promise<BulkReport> {
    const store = await this.openStore();
    const revive = async ({ id }: RunRecord) => toSkipReason(await store.revive(id), "revived");
    const report = await forEachRun(store, { query, options, method: "retryAll()" }, revive);
    this.wakeWorker();
    return report;
  }

  /** Cancels every waiting run that matches a query, and asks the running ones to end. */
  async cancelAll(query: RunsQuery | string, options: BulkOptions = {}): Promise<BulkReport> {
    const store = await this.openStore();
    const cancel = async ({ id, state }: RunRecord) => {
      // store.cancel() answers "cancelled" also for a run that was cancelled before.
      if (isFinished(state)) return state;
      const answer = await store.cancel(id, defaultRetention.cancelled);
      if (answer === "cancelled") await this.#emitCancelled(id);
      return answer === "requested" ? null : toSkipReason(answer, "cancelled");
    };
    const report = await forEachRun(store, { query, options, method: "cancelAll()" }, cancel);
    this.wakeWorker();
    return report;
  }

  /** Deletes every run that matches a query and is not running, with its attempts and log lines. */
  async removeAll(query: RunsQuery | string, options: BulkOptions = {}): Promise<BulkReport> {
    const store = await this.openStore();
    const remove = async ({ id }: RunRecord) => toSkipReason(await store.remove(id), "removed");
    return forEachRun(store, { query, options, method: "removeAll()" }, remove);
  }

  /**
   * Deletes expired runs, and jobs that no worker defines any more. A number n also deletes all runs that finished more
   * than n seconds ago.
   */
  async prune(options: number | PruneOptions = {}): Promise<PruneReport> {
    return (await this.openStore()).prune(toPruneRequest(options, "prune()"));
  }

  /** Counts what `prune()` with the same options would delete. */
  async countPrunable(options: number | PruneOptions = {}): Promise<PruneForecast> {
    return (await this.openStore()).countPrunable(toPruneRequest(options, "countPrunable()"));
  }

  // -- pausing -----------------------------------------------------------------------------------------------------

  /** Stops workers from starting runs of a queue, until it is resumed or for a duration. Current runs continue. */
  async pauseQueue(name: string, options: PauseQueueOptions = {}): Promise<void> {
    checkName(name, "a queue name");
    await this.#pauseQueues(() => [name], options, "pauseQueue");
  }

  async resumeQueue(name: string): Promise<void> {
    await (await this.openStore()).pauseQueue(checkName(name, "a queue name"), false, null);
    this.wakeWorker();
  }

  /** Pauses every known queue, and returns their names. */
  pauseAll(options: PauseQueueOptions = {}): Promise<string[]> {
    return this.#pauseQueues(knownQueues, options, "pauseAll");
  }

  async #pauseQueues(
    choose: (store: Store) => Promise<string[]> | string[],
    options: PauseQueueOptions,
    method: string,
  ): Promise<string[]> {
    const names = await pauseQueues(() => this.openStore(), choose, options, method);
    this.wakeWorker();
    return names;
  }

  /** Resumes every paused queue, and returns their names. */
  async resumeAll(): Promise<string[]> {
    const store = await this.openStore();
    const paused = (await store.status()).queues.filter((queue) => queue.paused).map(({ name }) => name);
    for (const name of paused) await store.pauseQueue(name, false, null);
    this.wakeWorker();
    return paused;
  }

  /** Stops workers from starting runs of a job until it is resumed. Current runs continue. */
  async pauseJob(name: string, options: PauseOptions = {}): Promise<void> {
    checkKeys(options, { reason: true, by: true }, "pauseJob()");
    const note = toPauseNote(options, "pauseJob");
    await setJobPaused(await this.openStore(), name, true, note);
    this.wakeWorker();
  }

  async resumeJob(name: string): Promise<void> {
    await setJobPaused(await this.openStore(), name, false);
    this.wakeWorker();
  }

  /** Pauses a schedule by its id, or all schedules of a job. Ticks during the pause are not made up. */
  async pauseSchedule(which: number | string, options: PauseOptions = {}): Promise<void> {
    checkKeys(options, { reason: true, by: true }, "pauseSchedule()");
    const note = toPauseNote(options, "pauseSchedule");
    await setSchedulesPaused(await this.openStore(), which, true, note);
  }

  async resumeSchedule(which: number | string): Promise<void> {
    await setSchedulesPaused(await this.openStore(), which, false);
    this.wakeWorker();
  }
}

/** Returns an instant in the database's time; a relative one counts from the database's now. */
async function toStoreTime(store: Store, instant: Instant): Promise<number> {
  const offset = toOffset(instant);
  return offset === null ? toInstant(instant) : (await store.now()) + offset;
}
