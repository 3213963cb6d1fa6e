import { PunctualError, show } from "../errors.ts";
import type { Emitter, Events } from "../observe/events.ts";
import type { JobStatus, QueueStatus, RunFilter, ScheduleRow, WorkerRow } from "../store/records.ts";
import type { PruneReport, Store } from "../store/store.ts";
import { type Clock, DAY, type Duration, type Instant, sleep, toInstant, toMilliseconds } from "../time.ts";
import { readFailure } from "./failure.ts";
import { type AttemptInfo, type RunInfo, readable, toAttempt, toDate, toInfo } from "./info.ts";
import { checkName } from "./names.ts";
import { checkInteger, checkKeys } from "./options.ts";
import type { JsonValue } from "./payload.ts";
import { defaultRetention } from "./retention.ts";
import { notPossible, type RunControl } from "./run.ts";
import { isFinished, type RunState, stateCodes } from "./states.ts";
import { explain } from "./why.ts";

export interface RunsFilter {
  state?: RunState | RunState[];
  job?: string;
  queue?: string;
  key?: string;
  tag?: string;
  batch?: string;
  parent?: number;
  /** `next` of the page before. */
  before?: number;
  /** At most 1,000. Default: 50. */
  limit?: number;
}

export interface StatusReport {
  now: Date;
  /** Jobs known, jobs with a run under way, the rest. */
  defined: number;
  running: number;
  idle: number;
  jobs: (Omit<JobStatus, "lastRun" | "lastError" | "seenAt" | "leasedUntil" | "nextRun" | "fingerprint"> & {
    lastRun: Date | null;
    lastError: string | null;
    seenAt: Date | null;
    leasedUntil: Date | null;
    nextRun: Date | null;
  })[];
  queues: (Omit<QueueStatus, "pausedUntil"> & { pausedUntil: Date | null })[];
  workers: (Omit<WorkerRow, "startedAt" | "seenAt"> & { startedAt: Date; seenAt: Date })[];
}

export interface ScheduleInfo extends Omit<ScheduleRow, "args" | "lastTick" | "nextTick"> {
  args: JsonValue | undefined;
  lastTick: Date | null;
  nextTick: Date | null;
}

export interface PruneOptions {
  /** Finished runs older than this go too, whatever their retention. */
  finished?: Duration;
  /** Jobs that no worker has defined for this long. Default: 30 days. */
  jobs?: Duration;
  /** Runs that wait this long for a job nobody defines. Default: 30 days. */
  orphans?: Duration;
}

/** How often a run of another process is looked at while somebody waits for it. */
const LOOK_EVERY = 50;

/** Looking at runs, jobs and queues, and operating them: what the CLI and the dashboard use too. */
export abstract class Control implements RunControl {
  protected abstract store(): Promise<Store>;
  protected abstract readonly clock: Clock;
  protected abstract readonly events: Emitter;
  /** What was counted in memory is written, so that the answer is up to date. */
  protected abstract writeCounts(): Promise<void>;
  protected abstract wakeWorker(): void;

  /** Null when the run is not there: deleted, pruned or not kept. */
  async find(id: number): Promise<RunInfo | null> {
    const record = await (await this.store()).find(checkId(id));
    return record && toInfo(record);
  }

  async state(id: number): Promise<RunState | null> {
    return (await this.find(id))?.state ?? null;
  }

  /** Newest first; `next` leads to the page after. */
  async runs(filter: RunsFilter = {}): Promise<{ runs: RunInfo[]; next: number | null }> {
    const found = await (await this.store()).list(toFilter(filter));
    const limit = filter.limit ?? 50;
    return { runs: found.map(toInfo), next: found.length < limit ? null : found.at(-1)!.id };
  }

  /** Tries that failed or were lost with their process. */
  async attempts(id: number): Promise<AttemptInfo[]> {
    return (await (await this.store()).attempts(checkId(id))).map(toAttempt);
  }

  /** Why a run is not running, or what became of it, in words. */
  async why(id: number): Promise<string> {
    const facts = await (await this.store()).waitFacts(checkId(id));
    if (!facts) throw notPossible("explain", id, null);
    return explain(facts).join(" ");
  }

  async status(): Promise<StatusReport> {
    await this.writeCounts();
    const { now, jobs, queues, workers } = await (await this.store()).status();
    const running = jobs.filter((job) => job.running > 0).length;
    return {
      now: new Date(now),
      defined: jobs.length,
      running,
      idle: jobs.length - running,
      jobs: jobs.map(({ fingerprint: _, ...job }) => ({
        ...job,
        lastRun: toDate(job.lastRun),
        lastError: readFailure(job.lastError)?.message ?? null,
        seenAt: toDate(job.seenAt),
        leasedUntil: toDate(job.leasedUntil),
        nextRun: toDate(job.nextRun),
      })),
      queues: queues.map((queue) => ({ ...queue, pausedUntil: toDate(queue.pausedUntil) })),
      workers: workers.map((worker) => ({
        ...worker,
        startedAt: new Date(worker.startedAt),
        seenAt: new Date(worker.seenAt),
      })),
    };
  }

  /** Deletes what is no longer kept. A number: finished runs older than so many seconds go as well. */
  async prune(options: number | PruneOptions = {}): Promise<PruneReport> {
    const chosen = typeof options === "number" ? { finished: options } : options;
    checkKeys(chosen, ["finished", "jobs", "orphans"], "prune()");
    const ms = (duration: Duration | undefined, otherwise: number | null) =>
      duration === undefined ? otherwise : toMilliseconds(duration, "prune()");
    return (await this.store()).prune({
      finishedFor: ms(chosen.finished, null),
      jobsUnseenFor: ms(chosen.jobs, 30 * DAY),
      orphansOlderThan: ms(chosen.orphans, 30 * DAY),
      batch: 1000,
    });
  }

  /** Withdraws a waiting run; asks a running one to end, whose handler's signal then aborts. */
  async cancel(id: number): Promise<"cancelled" | "requested"> {
    const answer = await (await this.store()).cancel(checkId(id), defaultRetention.cancelled);
    if (answer === "requested") this.wakeWorker();
    else if (answer === "cancelled") await this.#tellCancelled(id);
    else throw notPossible("cancel", id, answer);
    return answer;
  }

  async #tellCancelled(id: number): Promise<void> {
    const run = this.events.hears("run.cancelled") ? await this.find(id) : null;
    if (!run) return;
    const { name, queue, attempts: attempt } = run;
    this.events.emit("run.cancelled", { id, name, queue, attempt, duration: 0, reason: null });
  }

  async move(id: number, at: Instant): Promise<void> {
    const answer = await (await this.store()).move(checkId(id), toInstant(at));
    if (answer !== "moved") throw notPossible("move", id, answer);
    this.wakeWorker();
  }

  /** Runs a finished run once more, under the same id. */
  async retry(id: number): Promise<void> {
    const answer = await (await this.store()).revive(checkId(id));
    if (answer !== "revived") throw notPossible("retry", id, answer);
    this.wakeWorker();
  }

  /** Deletes a run that is not running, with all its attempts. */
  async remove(id: number): Promise<void> {
    const answer = await (await this.store()).remove(checkId(id));
    if (answer !== "removed") throw notPossible("delete", id, answer);
  }

  /** Claims nothing more from a queue, until it is resumed or for a while. What runs goes on. */
  async pauseQueue(name: string, options: { for?: Duration } = {}): Promise<void> {
    checkKeys(options, ["for"], "pauseQueue()");
    const store = await this.store();
    const until =
      options.for === undefined ? null : (await store.now()) + toMilliseconds(options.for, "pauseQueue for");
    await store.pauseQueue(checkName(name, "a queue name"), true, until);
  }

  async resumeQueue(name: string): Promise<void> {
    await (await this.store()).pauseQueue(checkName(name, "a queue name"), false, null);
    this.wakeWorker();
  }

  /** Claims no more runs of a job until it is resumed. */
  pauseJob(name: string): Promise<void> {
    return this.#pauseJob(name, true);
  }

  async resumeJob(name: string): Promise<void> {
    await this.#pauseJob(name, false);
    this.wakeWorker();
  }

  async #pauseJob(name: string, paused: boolean): Promise<void> {
    if (await (await this.store()).pauseJob(checkName(name, "a job name"), paused)) return;
    throw new PunctualError(
      "UNKNOWN_JOB",
      `Cannot ${paused ? "pause" : "resume"} job "${name}": the database does not know it. A worker that defines it has to run once.`,
    );
  }

  /** Every schedule there is, with its last and next tick and how many it missed. */
  async schedules(): Promise<ScheduleInfo[]> {
    const rows = await (await this.store()).schedules();
    return rows.map((row) => ({
      ...row,
      args: readable(row.args),
      lastTick: toDate(row.lastTick),
      nextTick: toDate(row.nextTick),
    }));
  }

  /** A schedule that is paused does not tick; what it would have ticked meanwhile is not made up. */
  async pauseSchedule(id: number): Promise<void> {
    await this.#pauseSchedule(id, true);
  }

  async resumeSchedule(id: number): Promise<void> {
    await this.#pauseSchedule(id, false);
    this.wakeWorker();
  }

  async #pauseSchedule(id: number, paused: boolean): Promise<void> {
    if (await (await this.store()).pauseSchedule(checkId(id, "the id of a schedule"), paused)) return;
    throw new PunctualError(
      "UNKNOWN_SCHEDULE",
      `Cannot ${paused ? "pause" : "resume"} schedule ${id}: there is none with this id. schedules() lists them.`,
    );
  }

  /** The result of a run once it has completed; rejects if it ends otherwise, or not in time. */
  async wait(id: number, options: { timeout?: Duration } = {}): Promise<JsonValue | undefined> {
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

function checkId(id: unknown, what = "the id of a run"): number {
  if (typeof id === "number" && Number.isSafeInteger(id) && id > 0) return id;
  throw new PunctualError("INVALID_OPTION", `Expected ${what}, a whole number, got ${show(id)}.`);
}

function toFilter(filter: RunsFilter): RunFilter {
  checkKeys(filter, ["state", "job", "queue", "key", "tag", "batch", "parent", "before", "limit"], "runs()");
  const states = filter.state === undefined ? undefined : [filter.state].flat();
  for (const state of states ?? []) {
    if (Object.hasOwn(stateCodes, state)) continue;
    throw new PunctualError(
      "INVALID_OPTION",
      `runs() knows no state ${show(state)}. Known: ${Object.keys(stateCodes).join(", ")}.`,
    );
  }
  return {
    limit: checkInteger(filter.limit ?? 50, "runs() limit", 1, 1000),
    ...(states && { states }),
    ...(filter.job !== undefined && { name: checkName(filter.job, "runs() job") }),
    ...(filter.queue !== undefined && { queue: checkName(filter.queue, "runs() queue") }),
    ...(filter.key !== undefined && { key: checkName(filter.key, "runs() key") }),
    ...(filter.tag !== undefined && { tag: checkName(filter.tag, "runs() tag") }),
    ...(filter.batch !== undefined && { batchId: checkName(filter.batch, "runs() batch") }),
    ...(filter.parent !== undefined && { parentId: checkId(filter.parent, "runs() parent") }),
    ...(filter.before !== undefined && { before: checkId(filter.before, "runs() before") }),
  };
}
