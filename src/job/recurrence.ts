import { formatValue, PunctualError } from "../errors.ts";
import { encodePayload } from "../run/payload.ts";
import { type Bounds, Plan, type ScheduleOverrides } from "../schedule/plan.ts";
import type { Misfire } from "../schedule/schedule.ts";
import { toWindow } from "../schedule/window.ts";
import { type Duration, type Instant, toInstant, toMilliseconds } from "../time.ts";
import { checkName, checkQueue } from "../validate/names.ts";
import { checkInteger, checkKeys, type OptionNames } from "../validate/options.ts";
import type { JobDraft } from "./dispatchable.ts";

export interface RecurOptions<Args = unknown> {
  /** Arguments of the schedule's runs. Default: the job's own arguments at the time of the `recur()` call. */
  args?: Args | undefined;
  /** Queue of the schedule's runs; null: the default queue. Default: the job's queue. */
  queue?: string | null | undefined;
  /** An IANA zone. Default: UTC. */
  timezone?: string | undefined;
  /** Ticks only from one time of day to another, both included. */
  between?: readonly [from: string, to: string] | undefined;
  /** No tick from one time of day to another, both included. */
  unlessBetween?: readonly [from: string, to: string] | undefined;
  /** No tick before this instant. */
  startingAt?: Instant | undefined;
  /** No tick after this instant. */
  endingAt?: Instant | undefined;
  /** How missed ticks are handled, as in `misfire()`. Default: `once`. */
  misfire?: Misfire["policy"] | ({ policy: Misfire["policy"] } & MisfireOptions) | undefined;
  /** Ticks only where `PUNCTUAL_ENV`, else `NODE_ENV`, is one of these. Default: everywhere. */
  environments?: readonly string[] | undefined;
}

const OPTIONS: OptionNames<RecurOptions> = {
  args: true,
  queue: true,
  timezone: true,
  between: true,
  unlessBetween: true,
  startingAt: true,
  endingAt: true,
  misfire: true,
  environments: true,
};

export interface MisfireOptions {
  /** Most runs that policy `all` creates; the latest missed ticks are kept. Default: 100. */
  limit?: number | undefined;
  /** Ticks missed by more than this duration create no run. Default: no bound. */
  within?: Duration | undefined;
}

/** Returns the schedule that `recur()` adds to a job. `own`: the job's arguments, used if the options have none. */
export function toRecurrence(
  cron: string,
  options: RecurOptions,
  own: unknown,
): { plan: Plan; overrides: ScheduleOverrides } {
  checkKeys(options, OPTIONS, "recur()");
  const plan = new Plan();
  plan.replace(cron);
  if (options.timezone !== undefined) plan.inZone(options.timezone);
  const queue = options.queue === undefined ? null : checkQueue(options.queue);
  plan.bind(toBounds(options));
  return { plan, overrides: { args: encodePayload(options.args ?? own) ?? null, queue } };
}

/** Returns the arguments and the queue of a draft as options of `recur()`. Throws if the draft has other settings. */
export function recurOptionsOf(draft: JobDraft<never>): RecurOptions {
  const { args, queue, ...rest } = draft.use();
  const other = Object.keys(rest).find((name) => rest[name as keyof typeof rest] !== undefined);
  if (other !== undefined) {
    throw new PunctualError(
      "INVALID_OPTION",
      `recur() takes the arguments and the queue of a draft; this draft also has ${other === "runAt" ? "at" : other}, which a schedule cannot have.`,
    );
  }
  return { ...(args !== undefined && { args }), ...(queue !== undefined && { queue }) };
}

function toBounds(options: RecurOptions): Partial<Bounds> {
  const { between, unlessBetween, startingAt, endingAt, misfire, environments } = options;
  const bounds: { -readonly [Name in keyof Bounds]?: Bounds[Name] } = {};
  const windows = [
    ...(between === undefined ? [] : [toWindow(...checkPair(between, "between"), true)]),
    ...(unlessBetween === undefined ? [] : [toWindow(...checkPair(unlessBetween, "unlessBetween"), false)]),
  ];
  if (windows.length > 0) bounds.windows = windows;
  if (startingAt !== undefined) bounds.start = checkedInstant(startingAt);
  if (endingAt !== undefined) bounds.end = checkedInstant(endingAt);
  if (misfire !== undefined) {
    const { policy, ...rest } = typeof misfire === "string" ? { policy: misfire } : misfire;
    bounds.misfire = toMisfire(policy, rest);
  }
  if (environments !== undefined) bounds.environments = toEnvironments(environments);
  return bounds;
}

function checkPair(times: readonly [string, string], what: string): readonly [string, string] {
  if (Array.isArray(times) && times.length === 2) return times;
  throw new PunctualError(
    "INVALID_OPTION",
    `recur() expected ${what} as two times of day, such as ["09:00", "17:00"], got ${formatValue(times)}.`,
  );
}

/** Checks the instant and returns it unchanged: text without an offset is read in a zone that may be set later. */
export function checkedInstant(instant: Instant): Instant {
  toInstant(instant);
  return instant;
}

export function toEnvironments(names: readonly string[]): readonly string[] {
  return names.map((name) => checkName(name, "an environment"));
}

export function toMisfire(policy: Misfire["policy"], options: MisfireOptions): Misfire {
  if (!["once", "skip", "all"].includes(policy)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected misfire "once", "skip" or "all", got ${formatValue(policy)}.`,
    );
  }
  checkKeys(options, { limit: true, within: true }, "misfire()");
  const limit = checkInteger(options.limit ?? 100, "misfire limit", 1, 10_000);
  const within = options.within === undefined ? null : toMilliseconds(options.within, "misfire within");
  return { policy, limit, within };
}
