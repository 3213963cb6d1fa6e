import { PunctualError, show } from "../errors.ts";
import type { Emitter, Events } from "../events/events.ts";
import { type AttemptInfo, type LogLine, type RunInfo, toAttempt, toInfo, toLine } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import { defaultRetention } from "../run/retention.ts";
import { notPossible, type RunControl } from "../run/run.ts";
import { isFinished, type RunState } from "../run/states.ts";
import { type Health, healthOf } from "../status/health.ts";
import { type DefinedJob, type StatusReport, toReport } from "../status/report.ts";
import { explain } from "../status/why.ts";
import type { PruneForecast, PruneReport } from "../store/maintenance.ts";
import type { RunRecord } from "../store/records.ts";
import type { RunCount } from "../store/search.ts";
import type { Store } from "../store/store.ts";
import {
  type Clock,
  type Duration,
  type Instant,
  sleep,
  toInstant,
  toMilliseconds,
  toOffset,
} from "../time.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import { type Act, type BulkOptions, type BulkReport, MOST_COUNTED, toEach, toReason } from "./bulk.ts";
import { checkId, type RunsFilter, type RunsQuery, toQuery } from "./filter.ts";
import { Pausing } from "./pausing.ts";
import { type PruneOptions, toPruneRequest } from "./pruning.ts";

export type { ScheduleInfo, StatusReport } from "../status/report.ts";

/** What `runs()` gives. */
export interface RunsPage {
  runs: RunInfo[];
  /** Null: nothing is left. */
  next: number | null;
  /** Finished runs were looked for within the last seven days only, because the query does not say how far back. */
  bounded: boolean;
}

/** Which lines `logs()` gives. */
export interface LogsOptions {
  /** The `position` of the last line one has. */
  after?: number | undefined;
  limit?: number | undefined;
}

/** So many lines come at once. */
const MOST_LINES_READ = 1000;

/** How often a run of another process is looked at while somebody waits for it. */
const LOOK_EVERY = 50;

/** Looking at runs, jobs and queues, and operating them: what the CLI and the dashboard use too. */
export abstract class Control extends Pausing implements RunControl {
  protected abstract readonly clock: Clock;
  protected abstract readonly events: Emitter;
  /** What was counted in memory is written, so that the answer is up to date. */
  protected abstract writeCounts(): Promise<void>;

  abstract definitions(): readonly DefinedJob[];

  /** Null when the run is not there: deleted, pruned or not kept. */
  async find(id: number): Promise<RunInfo | null> {
    const record = await (await this.store()).find(checkId(id));
    return record && toInfo(record);
  }

  /** Null when the run is not there. */
  async state(id: number): Promise<RunState | null> {
    return (await this.find(id))?.state ?? null;
  }

  /**
   * Newest first; `next` leads to the page after. With a query a page may be short and not the last: one search reads a
   * bounded number of rows. `bounded`: the query does not say how far back, so finished runs are those of seven days.
   */
  async runs(filter: RunsFilter = {}): Promise<RunsPage> {
    const store = await this.store();
    const { where, bounded } = toQuery(filter, await store.now(), "runs()", ["before", "limit"]);
    const limit = checkInteger(filter.limit ?? 50, "runs() limit", 1, 1000);
    const before = filter.before === undefined ? {} : { before: checkId(filter.before, "runs() before") };
    const { runs, next } = await store.search({ where, limit, ...before });
    return { runs: runs.map(toInfo), next, bounded };
  }

  /** How many runs a query finds, up to 10,000. */
  async count(query: RunsQuery | string = {}): Promise<RunCount> {
    const store = await this.store();
    const { where } = toQuery(query, await store.now(), "count()");
    return store.count(where, MOST_COUNTED);
  }

  /** Tries that failed or were lost with their process. */
  async attempts(id: number): Promise<AttemptInfo[]> {
    return (await (await this.store()).attempts(checkId(id))).map(toAttempt);
  }

  /**
   * What its handler logged with `run.log()`, in order; at most `limit` lines (1,000 unless told otherwise), after a
   * `position`. A line is there about a second after it was logged, and all of them when the run has ended.
   */
  async logs(id: number, options: LogsOptions = {}): Promise<LogLine[]> {
    checkKeys(options, ["after", "limit"], "logs()");
    const after = checkInteger(options.after ?? 0, "logs() after", 0, Number.MAX_SAFE_INTEGER);
    const limit = checkInteger(options.limit ?? MOST_LINES_READ, "logs() limit", 1, MOST_LINES_READ);
    return (await (await this.store()).logs(checkId(id), after, limit)).map(toLine);
  }

  /** How many lines `logs()` has of a run. */
  async countLogs(id: number): Promise<number> {
    return (await this.store()).countLogs(checkId(id));
  }

  /** Why a run is not running, or what became of it, in words. */
  async why(id: number): Promise<string> {
    const facts = await (await this.store()).waitFacts(checkId(id));
    if (!facts) throw notPossible("explain", id, null);
    return explain(facts).join(" ");
  }

  /** Jobs, queues and workers as they are now. It costs the same however many runs wait. */
  async status(): Promise<StatusReport> {
    await this.writeCounts();
    return toReport(await (await this.store()).status(), this.definitions());
  }

  /** Whether all is well, in words: what `punctual status --check` and probes go by. */
  async health(): Promise<Health> {
    return healthOf(await this.status());
  }

  /** Deletes what is no longer kept. A number: finished runs older than so many seconds go as well. */
  async prune(options: number | PruneOptions = {}): Promise<PruneReport> {
    return (await this.store()).prune(toPruneRequest(options, "prune()"));
  }

  /** What `prune()` with the same options would delete. */
  async countPrunable(options: number | PruneOptions = {}): Promise<PruneForecast> {
    return (await this.store()).countPrunable(toPruneRequest(options, "countPrunable()"));
  }

  /**
   * Withdraws a waiting run; asks a running one to end, whose handler's signal then aborts. With `force` a running one
   * ends at once: its lease is gone, so nothing more is written about it. What its code does meanwhile nobody can stop,
   * and limits count it no longer.
   */
  async cancel(
    id: number,
    options: { force?: boolean | undefined } = {},
  ): Promise<"cancelled" | "requested"> {
    checkKeys(options, ["force"], "cancel()");
    const store = await this.store();
    const answer = await store.cancel(checkId(id), defaultRetention.cancelled, options.force === true);
    if (answer === "requested") this.wakeWorker();
    else if (answer === "cancelled") await this.#tellCancelled(id);
    else throw notPossible("cancel", id, answer);
    return answer;
  }

  async #tellCancelled(id: number): Promise<void> {
    const run = this.events.hasListeners("run.cancelled") ? await this.find(id) : null;
    if (!run) return;
    const { name, queue, attempts: attempt } = run;
    this.events.emit("run.cancelled", { id, name, queue, attempt, duration: 0, reason: null });
  }

  /** Gives a run another time, if nobody has claimed it. */
  async move(id: number, at: Instant): Promise<void> {
    const store = await this.store();
    const answer = await store.move(checkId(id), await instantIn(store, at));
    if (answer !== "moved") throw notPossible("move", id, answer);
    this.wakeWorker();
  }

  /** Runs a finished run once more, under the same id; now, or at a time. */
  async retry(id: number, options: { at?: Instant | undefined } = {}): Promise<void> {
    checkKeys(options, ["at"], "retry()");
    const at = options.at === undefined ? null : await instantIn(await this.store(), options.at);
    const answer = await (await this.store()).revive(checkId(id), at);
    if (answer !== "revived") throw notPossible("retry", id, answer);
    this.wakeWorker();
  }

  /** Deletes a run that is not running, with all its attempts and lines. */
  async remove(id: number): Promise<void> {
    const answer = await (await this.store()).remove(checkId(id));
    if (answer !== "removed") throw notPossible("delete", id, answer);
  }

  /** Runs every finished run that a query finds once more; one that moved on meanwhile is skipped and counted. */
  async retryAll(query: RunsQuery | string, options: BulkOptions = {}): Promise<BulkReport> {
    const revive =
      (store: Store) =>
      async ({ id }: RunRecord) =>
        toReason(await store.revive(id), "revived");
    const report = await this.#toEach(query, revive, options, "retryAll()");
    this.wakeWorker();
    return report;
  }

  /** Withdraws every waiting run that a query finds, and asks the running ones to end. */
  async cancelAll(query: RunsQuery | string, options: BulkOptions = {}): Promise<BulkReport> {
    const cancel =
      (store: Store) =>
      async ({ id, state }: RunRecord) => {
        // To the store, one that is cancelled already and one that it cancels are the same.
        if (isFinished(state)) return state;
        const answer = await store.cancel(id, defaultRetention.cancelled);
        if (answer === "cancelled") await this.#tellCancelled(id);
        return answer === "requested" ? null : toReason(answer, "cancelled");
      };
    const report = await this.#toEach(query, cancel, options, "cancelAll()");
    this.wakeWorker();
    return report;
  }

  /** Deletes every run that a query finds and that is not running, with all its attempts. */
  removeAll(query: RunsQuery | string, options: BulkOptions = {}): Promise<BulkReport> {
    const remove =
      (store: Store) =>
      async ({ id }: RunRecord) =>
        toReason(await store.remove(id), "removed");
    return this.#toEach(query, remove, options, "removeAll()");
  }

  async #toEach(
    query: RunsQuery | string,
    act: (store: Store) => Act,
    options: BulkOptions,
    what: string,
  ): Promise<BulkReport> {
    const store = await this.store();
    return toEach(store, toQuery(query, await store.now(), what), act(store), options, what);
  }

  /** The result of a run once it has completed; rejects if it ends otherwise, or not in time. */
  async wait(id: number, options: { timeout?: Duration | undefined } = {}): Promise<JsonValue | undefined> {
    checkKeys(options, ["timeout"], "wait()");
    const deadline =
      options.timeout === undefined
        ? null
        : this.clock.monotonic() + toMilliseconds(options.timeout, "wait timeout");
    for (let looked = false; ; looked = true) {
      const look = new AbortController();
      const forget = this.#onceSettled(id, () => look.abort());
      try {
        const run = await this.find(id);
        if (!run) throw gone(id, looked);
        if (isFinished(run.state)) return outcome(run);
        const left = deadline === null ? LOOK_EVERY : deadline - this.clock.monotonic();
        if (left <= 0) {
          throw new PunctualError(
            "WAIT_TIMED_OUT",
            `Run ${id} has not finished within ${show(options.timeout)}${typeof options.timeout === "number" ? " s" : ""}; it is ${run.state}. Wait longer, or ask why(${id}).`,
          );
        }
        await sleep(this.clock, Math.min(LOOK_EVERY, left), look.signal);
      } finally {
        forget();
      }
    }
  }

  #onceSettled(id: number, callback: () => void): () => void {
    const ends = ["run.completed", "run.failed", "run.cancelled", "run.skipped"] as const;
    const offs = ends.map((end) =>
      this.events.on(end, (event: Events[typeof end]) => {
        if (event.id === id) callback();
      }),
    );
    return () => {
      for (const off of offs) off();
    };
  }
}

function gone(id: number, looked: boolean): PunctualError {
  if (!looked) return notPossible("wait for", id, null);
  return new PunctualError(
    "RUN_NOT_FOUND",
    `Run ${id} has finished and was not kept, so its result is not known.`,
  );
}

function outcome(run: RunInfo): JsonValue | undefined {
  if (run.state === "completed") return run.result;
  const why = run.error ? `: ${run.error.message}` : ".";
  const codes = { failed: "RUN_FAILED", cancelled: "RUN_CANCELLED", skipped: "RUN_SKIPPED" } as const;
  const state = run.state as keyof typeof codes;
  const verb = { failed: "failed", cancelled: "was cancelled", skipped: "was skipped" }[state];
  throw new PunctualError(codes[state], `Run ${run.id} of "${run.name}" ${verb}${why}`, { cause: run.error });
}

/** A relative instant counts from the database's time. */
async function instantIn(store: Store, instant: Instant): Promise<number> {
  const offset = toOffset(instant);
  return offset === null ? toInstant(instant) : (await store.now()) + offset;
}
