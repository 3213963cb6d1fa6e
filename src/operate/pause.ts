import { formatValue, PunctualError } from "../errors.ts";
import type { PauseNote } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkKeys } from "../validate/options.ts";
import { checkId } from "./run-query.ts";

/** A note that is stored with a pause and shown with it. */
export interface PauseOptions {
  /** Why it was paused. */
  reason?: string | undefined;
  /** Name of the person or program that paused it. */
  by?: string | undefined;
}

/** Options of a queue's pause. */
export interface PauseQueueOptions extends PauseOptions {
  /** The queue resumes by itself after this duration. */
  for?: Duration | undefined;
}

const LONGEST_REASON = 1000;

/** Pauses the queues that `choose` returns, and returns their names. `method` names the caller in errors. */
export async function pauseQueues(
  openStore: () => Promise<Store>,
  choose: (store: Store) => Promise<string[]> | string[],
  options: PauseQueueOptions,
  method: string,
): Promise<string[]> {
  checkKeys(options, { for: true, reason: true, by: true }, `${method}()`);
  const note = toPauseNote(options, method);
  const span = options.for === undefined ? null : toSpan(options.for, `${method} for`);
  const store = await openStore();
  const until = span === null ? null : (await store.now()) + span;
  const names = await choose(store);
  for (const name of names) await store.pauseQueue(name, true, until, note);
  return names;
}

/** Returns the time after which a pause or a mute ends by itself, in milliseconds. A time of 0 would end it at once. */
export function toSpan(duration: Duration, what: string): number {
  const span = toMilliseconds(duration, what);
  if (span > 0) return span;
  throw new PunctualError(
    "INVALID_DURATION",
    `Expected ${what} as a time longer than 0, such as "2h", got ${formatValue(duration)}.`,
  );
}

/** Returns the queues that have runs or settings, and those that jobs and schedules name. */
export async function knownQueues(store: Store): Promise<string[]> {
  const { queues } = await store.status();
  const ofSchedules = (await store.schedules()).flatMap(({ queue }) => queue ?? []);
  return [...new Set([...queues.map(({ name }) => name), ...ofSchedules])].sort();
}

/** Pauses or resumes a job. Throws UNKNOWN_JOB if the database does not have it. */
export async function setJobPaused(
  store: Store,
  name: string,
  paused: boolean,
  note?: PauseNote,
): Promise<void> {
  if (await store.pauseJob(checkName(name, "a job name"), paused, note)) return;
  throw new PunctualError(
    "UNKNOWN_JOB",
    `Cannot ${paused ? "pause" : "resume"} job "${name}": the database does not have it. Check the name, or start a worker that defines it.`,
  );
}

/** Pauses or resumes a schedule by its id, or all schedules of a job; throws UNKNOWN_SCHEDULE if none is found. */
export async function setSchedulesPaused(
  store: Store,
  which: number | string,
  paused: boolean,
  note?: PauseNote,
): Promise<void> {
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
      ? `Cannot ${verb} the schedules of job "${which}": it has none. schedules() lists all.`
      : `Cannot ${verb} schedule ${which}: no schedule has this id. schedules() lists all.`,
  );
}

/** Returns the note of a pause as it is stored. `method` names the caller in errors. */
export function toPauseNote({ reason, by }: PauseOptions, method: string): PauseNote {
  if (reason !== undefined && (typeof reason !== "string" || reason.length > LONGEST_REASON)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${method} reason expected a text of at most ${LONGEST_REASON} characters, got ${formatValue(reason)}.`,
    );
  }
  return {
    by: by === undefined ? null : checkName(by, `${method} by`),
    reason: reason?.toWellFormed().replaceAll("\0", "") ?? null,
  };
}
