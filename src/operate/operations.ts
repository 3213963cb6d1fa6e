import type { Emitter } from "../events/events.ts";
import type { JsonValue } from "../run/payload.ts";
import { defaultRetention } from "../run/retention.ts";
import { type RunControl, wrongState } from "../run/run.ts";
import { isFinished, type RunState } from "../run/states.ts";
import type { PruneForecast, PruneReport } from "../store/maintenance.ts";
import type { Store } from "../store/store.ts";
import { type Duration, type Instant, toInstant, toOffset } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkKeys } from "../validate/options.ts";
import { type OperatorAction, toAuditEntry } from "./audit.ts";
import { type BulkOptions, type BulkReport, type BulkTarget, forEachRun } from "./bulk.ts";
import { checkFingerprint, checkKnownGroup, type MuteOptions, toMute } from "./failures.ts";
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
import { type RateChoice, toRateSubject } from "./rate-search.ts";
import { Reading, type ReadingOptions } from "./reading.ts";
import { Reports } from "./reports.ts";
import { checkId, checkStates } from "./run-query.ts";
import { waitForRun } from "./wait.ts";
import { askWorker } from "./worker-requests.ts";

/**
 * The part of an instance that operates runs, jobs, queues and schedules. The command line and the dashboard use the
 * same methods.
 */
export abstract class Operations extends Reports implements RunControl {
  protected abstract readonly events: Emitter;
  protected abstract openStore(): Promise<Store>;
  /** The error after which statements are being retried, as the driver threw it; null: the database answers. */
  protected abstract databaseFault(): unknown;
  protected abstract wakeWorker(): void;
  /** Ends these runs in the worker of this process: a run that it has not started does not start any more. */
  protected abstract cancelInWorker(ids: number[]): void;

  protected override openReads(): Promise<Store> {
    return this.openStore();
  }

  /** Returns the result of a run once it has completed; rejects if it ends otherwise, or not within the timeout. */
  async wait(id: number, options: { timeout?: Duration | undefined } = {}): Promise<JsonValue | undefined> {
    checkKeys(options, { timeout: true }, "wait()");
    const { clock, events } = this;
    return waitForRun(id, options.timeout, { clock, events, find: () => this.find(id) });
  }

  /**
   * Returns the same reads with a time limit for each call, for pages that people wait for. A call that takes longer
   * rejects with QUERY_TIMED_OUT, and the server cancels its statement.
   */
  reading(options: ReadingOptions = {}): Reading {
    return new Reading(
      {
        clock: this.clock,
        valueCache: this.valueCache,
        openStore: () => this.openStore(),
        databaseFault: () => this.databaseFault(),
        writeCounts: () => this.writeCounts(),
        definitions: () => this.definitions(),
      },
      options,
    );
  }

  // -- operating runs ----------------------------------------------------------------------------------------------

  /**
   * Cancels a waiting run; asks a running one to end, by aborting its handler's signal. With `force`, a running run
   * ends at once and loses its lease, so that nothing more is written about it. Its handler may still run for a
   * while, but no limit counts it. With `only`, a run in another state is left as it is, and the call rejects.
   */
  async cancel(
    id: number,
    options: { force?: boolean | undefined; only?: readonly RunState[] | undefined } = {},
  ): Promise<"cancelled" | "requested"> {
    checkKeys(options, { force: true, only: true }, "cancel()");
    const store = await this.openStore();
    const { force = false } = options;
    const only = checkStates(options.only, "cancel() only");
    const answer = await store.cancel(checkId(id), defaultRetention.cancelled, force, only);
    if (answer === "requested") {
      this.cancelInWorker([id]);
      return answer;
    }
    if (answer === "ended") await this.#emitCancelled(id);
    // A run that was cancelled before is what the caller wants, unless `only` excludes it.
    else if (answer !== "cancelled" || only !== null) throw wrongState("cancel", id, answer);
    return "cancelled";
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
    const runAt = options.at === undefined ? null : await toStoreTime(store, options.at);
    const answer = await store.revive(checkId(id), { runAt });
    if (answer !== "revived") throw wrongState("retry", id, answer);
    this.wakeWorker();
  }

  /** Deletes a run that is not running, with its attempts and log lines; with `only`, if its state is listed. */
  async remove(id: number, options: { only?: readonly RunState[] | undefined } = {}): Promise<void> {
    checkKeys(options, { only: true }, "remove()");
    const only = checkStates(options.only, "remove() only");
    const answer = await (await this.openStore()).remove(checkId(id), only);
    if (answer !== "removed") throw wrongState("delete", id, answer);
  }

  /**
   * Retries every finished run that matches a query or has one of the ids. A run that another call retries meanwhile is
   * skipped.
   */
  async retryAll(target: BulkTarget, options: BulkOptions = {}): Promise<BulkReport> {
    const store = await this.openStore();
    const report = await forEachRun(store, { action: "retry", target, options }, async (id, seen) => {
      const wasFinished = seen !== null && isFinished(seen.state);
      const answer = await store.revive(id, wasFinished ? { seen } : {});
      if (answer === "revived") return "done";
      return answer === null ? "gone" : wasFinished ? "retried" : answer;
    });
    this.wakeWorker();
    return report;
  }

  /** Cancels every waiting run that matches a query or has one of the ids, and asks the running ones to end. */
  async cancelAll(target: BulkTarget, options: BulkOptions = {}): Promise<BulkReport> {
    const store = await this.openStore();
    const requested: number[] = [];
    const report = await forEachRun(store, { action: "cancel", target, options }, async (id, seen) => {
      if (seen && isFinished(seen.state)) return seen.state;
      const answer = await store.cancel(id, defaultRetention.cancelled, false, seen?.allowed);
      if (answer === "ended") await this.#emitCancelled(id);
      if (answer === "requested") requested.push(id);
      return answer === "ended" ? "done" : (answer ?? "gone");
    });
    this.cancelInWorker(requested);
    return report;
  }

  /** Deletes runs that match a query or have one of the ids, with attempts and log lines; running ones stay. */
  async removeAll(target: BulkTarget, options: BulkOptions = {}): Promise<BulkReport> {
    const store = await this.openStore();
    return forEachRun(store, { action: "delete", target, options }, async (id, seen) => {
      const answer = await store.remove(id, seen?.allowed);
      if (answer === "removed") return "done";
      if (answer === null) return "gone";
      return seen && isFinished(seen.state) && !isFinished(answer) ? "retried" : answer;
    });
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

  /** Appends an entry to the audit trail, which `audit()` returns, and emits `operator.acted`. Kept for 90 days. */
  async recordAction(action: OperatorAction): Promise<void> {
    const entry = toAuditEntry(action);
    const at = await (await this.openStore()).recordAction(entry);
    const details = action.details === undefined ? null : action.details;
    this.events.emit("operator.acted", { ...entry, details, at: new Date(at) });
  }

  /**
   * Mutes a group of failures: a job no longer counts as failing in `health()` and on the dashboard if all its attempts
   * since the last success failed with muted errors. The runs stay visible.
   */
  async mute(fingerprint: string, options: MuteOptions = {}): Promise<void> {
    const store = await this.openStore();
    const mute = toMute(fingerprint, options, await store.now());
    await checkKnownGroup(this, mute.fingerprint);
    await store.mute(mute);
  }

  /**
   * Reopens rates that `run.slowDown()` has closed: of a job with all its keys, of one key, of a queue or of a named
   * limit. Starts still count. Returns the number of rates that were closed.
   */
  async reopenRate(which: RateChoice): Promise<number> {
    const reopened = await (await this.openStore()).reopenRates(toRateSubject(which));
    this.wakeWorker();
    return reopened;
  }

  /** Ends the mute of a group of failures. Returns false if it is not muted. */
  async unmute(fingerprint: string): Promise<boolean> {
    return (await this.openStore()).unmute(checkFingerprint(fingerprint, "unmute"));
  }

  // -- workers -----------------------------------------------------------------------------------------------------

  /**
   * Asks a worker of any process to claim nothing more until it is resumed. Its current runs continue. It obeys at its
   * next heartbeat, within about 6 seconds.
   */
  pauseWorker(id: string, options: PauseOptions = {}): Promise<void> {
    return askWorker(() => this.openStore(), { id, verb: "pause", options });
  }

  /** Lets a paused worker claim again, from its next heartbeat on. */
  resumeWorker(id: string): Promise<void> {
    return askWorker(() => this.openStore(), { id, verb: "resume", options: {} });
  }

  /**
   * Asks a worker of any process to stop, as SIGTERM does: it claims nothing more, waits for its runs, and its
   * `forever()` or `supervise()` returns. It obeys at its next heartbeat, within about 6 seconds. Cannot be undone.
   */
  stopWorker(id: string, options: PauseOptions = {}): Promise<void> {
    return askWorker(() => this.openStore(), { id, verb: "stop", options });
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
