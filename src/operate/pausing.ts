import { PunctualError, show } from "../errors.ts";
import { type ScheduleInfo, toScheduleInfo } from "../status/report.ts";
import type { PauseNote } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkKeys } from "../validate/options.ts";
import { checkId } from "./filter.ts";

/** Said with a pause, and shown wherever the pause is. */
export interface PauseOptions {
  reason?: string | undefined;
  /** Who paused it. */
  by?: string | undefined;
}

/** The same of a queue. */
export interface PauseQueueOptions extends PauseOptions {
  /** It resumes by itself after so long. */
  for?: Duration | undefined;
}

/** Pausing and resuming queues, jobs and schedules. */
export abstract class Pausing {
  protected abstract store(): Promise<Store>;
  protected abstract wakeWorker(): void;

  /** Claims nothing more from a queue, until it is resumed or for a while. What runs goes on. */
  async pauseQueue(name: string, options: PauseQueueOptions = {}): Promise<void> {
    checkName(name, "a queue name");
    await this.#pauseQueues(() => [name], options, "pauseQueue");
  }

  async resumeQueue(name: string): Promise<void> {
    await (await this.store()).pauseQueue(checkName(name, "a queue name"), false, null);
    this.wakeWorker();
  }

  /** Pauses every queue that is known, and gives their names. */
  pauseAll(options: PauseQueueOptions = {}): Promise<string[]> {
    return this.#pauseQueues(queuesOf, options, "pauseAll");
  }

  /** Resumes every queue that is paused, and gives their names. */
  async resumeAll(): Promise<string[]> {
    const store = await this.store();
    const paused = (await store.status()).queues.filter((queue) => queue.paused).map(({ name }) => name);
    for (const name of paused) await store.pauseQueue(name, false, null);
    this.wakeWorker();
    return paused;
  }

  async #pauseQueues(
    which: (store: Store) => Promise<string[]> | string[],
    options: PauseQueueOptions,
    what: string,
  ): Promise<string[]> {
    checkKeys(options, ["for", "reason", "by"], `${what}()`);
    const note = toNote(options, what);
    const span = options.for === undefined ? null : toMilliseconds(options.for, `${what} for`);
    const store = await this.store();
    const until = span === null ? null : (await store.now()) + span;
    const names = await which(store);
    for (const name of names) await store.pauseQueue(name, true, until, note);
    return names;
  }

  /** Claims no more runs of a job until it is resumed. */
  pauseJob(name: string, options: PauseOptions = {}): Promise<void> {
    return this.#pauseJob(name, options);
  }

  async resumeJob(name: string): Promise<void> {
    await this.#pauseJob(name, null);
    this.wakeWorker();
  }

  async #pauseJob(name: string, options: PauseOptions | null): Promise<void> {
    if (options) checkKeys(options, ["reason", "by"], "pauseJob()");
    const note = options ? toNote(options, "pauseJob") : undefined;
    const paused = options !== null;
    if (await (await this.store()).pauseJob(checkName(name, "a job name"), paused, note)) return;
    throw new PunctualError(
      "UNKNOWN_JOB",
      `Cannot ${paused ? "pause" : "resume"} job "${name}": the database does not know it. A worker that defines it has to run once.`,
    );
  }

  /** Every schedule there is, with its last and next tick and how many it missed. */
  async schedules(): Promise<ScheduleInfo[]> {
    return (await (await this.store()).schedules()).map(toScheduleInfo);
  }

  /** A schedule, by its id, or every schedule of a job. One that is paused does not tick; what it would have ticked meanwhile is not made up. */
  async pauseSchedule(which: number | string, options: PauseOptions = {}): Promise<void> {
    checkKeys(options, ["reason", "by"], "pauseSchedule()");
    await this.#pauseSchedules(which, true, toNote(options, "pauseSchedule"));
  }

  async resumeSchedule(which: number | string): Promise<void> {
    await this.#pauseSchedules(which, false);
    this.wakeWorker();
  }

  async #pauseSchedules(which: number | string, paused: boolean, note?: PauseNote): Promise<void> {
    const store = await this.store();
    const ids =
      typeof which === "string"
        ? (await store.schedules()).filter(({ job }) => job === which).map(({ id }) => id)
        : [checkId(which, "the id of a schedule")];
    let found = 0;
    for (const id of ids) if (await store.pauseSchedule(id, paused, note)) found++;
    if (found > 0) return;
    const verb = paused ? "pause" : "resume";
    throw new PunctualError(
      "UNKNOWN_SCHEDULE",
      typeof which === "string"
        ? `Cannot ${verb} the schedules of job "${which}": it has none. schedules() lists them.`
        : `Cannot ${verb} schedule ${which}: there is none with this id. schedules() lists them.`,
    );
  }
}

const LONGEST_REASON = 1000;

function toNote({ reason, by }: PauseOptions, what: string): PauseNote {
  if (reason !== undefined && (typeof reason !== "string" || reason.length > LONGEST_REASON)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${what} reason expected a text of at most ${LONGEST_REASON} characters, got ${show(reason)}.`,
    );
  }
  return {
    by: by === undefined ? null : checkName(by, `${what} by`),
    reason: reason?.toWellFormed().replaceAll("\0", "") ?? null,
  };
}

/** Those with runs or settings, and those that jobs and schedules name. */
async function queuesOf(store: Store): Promise<string[]> {
  const { queues } = await store.status();
  const ofSchedules = (await store.schedules()).flatMap(({ queue }) => queue ?? []);
  return [...new Set([...queues.map(({ name }) => name), ...ofSchedules])].sort();
}
