import { PunctualError, show } from "../errors.ts";
import { encodePayload } from "../run/payload.ts";
import { type Bounds, Plan, type ScheduleOverrides } from "../schedule/plan.ts";
import type { Misfire } from "../schedule/schedule.ts";
import { toWindow } from "../schedule/window.ts";
import { type Duration, type Instant, toInstant, toMilliseconds } from "../time.ts";
import { checkName, checkQueue } from "../validate/names.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import type { JobDraft } from "./dispatchable.ts";

export interface RecurOptions<Args = unknown> {
  /** Arguments of its runs. Default: those of the job's `args()` when `recur()` is called. */
  args?: Args | undefined;
  /** Default: the job's; null: the default queue. */
  queue?: string | null | undefined;
  /** An IANA zone. Default: UTC. */
  timezone?: string | undefined;
  /** Ticks only from one time of day to another, both included. */
  between?: readonly [from: string, to: string] | undefined;
  /** Does not tick from one time of day to another. */
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

const OPTIONS = [
  "args",
  "queue",
  "timezone",
  "between",
  "unlessBetween",
  "startingAt",
  "endingAt",
  "misfire",
  "environments",
];

export interface MisfireOptions {
  /** Of `all`: at most this many runs, the latest. Default: 100. */
  limit?: number | undefined;
  /** Ticks that were missed by more than this are dropped. */
  within?: Duration | undefined;
}

/** One more schedule of a job, in the registrar's form. `own`: the job's arguments, for when the options give none. */
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

/** The arguments and the queue of a draft, as options of `recur()`. */
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
    ...(between === undefined ? [] : [toWindow(...pair(between, "between"), true)]),
    ...(unlessBetween === undefined ? [] : [toWindow(...pair(unlessBetween, "unlessBetween"), false)]),
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

function pair(times: readonly [string, string], what: string): readonly [string, string] {
  if (Array.isArray(times) && times.length === 2) return times;
  throw new PunctualError(
    "INVALID_OPTION",
    `recur() expected ${what} as two times of day, such as ["09:00", "17:00"], got ${show(times)}.`,
  );
}

/** Checked now, and kept as it was given: text without an offset is read in a zone that may be named later. */
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
      `Expected misfire "once", "skip" or "all", got ${show(policy)}.`,
    );
  }
  checkKeys(options, ["limit", "within"], "misfire()");
  const limit = checkInteger(options.limit ?? 100, "misfire limit", 1, 10_000);
  const within = options.within === undefined ? null : toMilliseconds(options.within, "misfire within");
  return { policy, limit, within };
}
