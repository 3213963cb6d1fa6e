import { type Instant, isWallTime, toInstant } from "../time.ts";
import { Cron } from "./cron.ts";
import { type Misfire, Schedule, type ScheduleParts } from "./schedule.ts";
import type { Window } from "./window.ts";
import { instantOf, zoneOf } from "./zones.ts";

const FIELDS = ["second", "minute", "hour", "day", "month", "weekday"] as const;

export type Field = (typeof FIELDS)[number];
export type FieldTexts = Partial<Record<Field, string>>;

/** Value of a field when only coarser fields were set. A day or a month cannot be 0. */
const FIRST: Record<Field, string> = {
  second: "0",
  minute: "0",
  hour: "0",
  day: "1",
  month: "1",
  weekday: "*",
};

/** Order from fine to coarse; a day of the week is as fine as a day of the month. */
const FINENESS: Record<Field, number> = { second: 0, minute: 1, hour: 2, day: 3, weekday: 3, month: 4 };

/** Arguments and queue of a schedule's runs; null: the job's. */
export interface ScheduleOverrides {
  args: string | null;
  queue: string | null;
}

/**
 * Settings that most plans leave at their defaults. Immutable, so that thousands of plans share one `DEFAULT_BOUNDS`.
 */
export interface Bounds {
  readonly windows: readonly Window[];
  /** As given: text without an offset is read in the zone, which may be set by a later call. */
  readonly start: Instant | null;
  readonly end: Instant | null;
  readonly misfire: Misfire;
  /** Null: the schedule ticks in every environment. */
  readonly environments: readonly string[] | null;
}

const DEFAULT_BOUNDS: Bounds = {
  windows: [],
  start: null,
  end: null,
  misfire: { policy: "once", limit: 100, within: null },
  environments: null,
};

/** Six empty fields. */
const NO_FIELDS = "     ";
const EMPTY_TEXT = /^ | {2}| $/;

/** Matches an expression that restricts both the day of the month and the day of the week. */
const BOTH_DAYS = /^(?:\S+ ){3}(?!\* )\S+ \S+ (?!\*$)/;

/** The schedule of a job while the calls of its definition build it. */
export class Plan {
  /**
   * Six fields separated by blanks, each empty until it is set. One string, because there may be thousands of plans.
   */
  #fields = NO_FIELDS;
  /** Whether the fields have been parsed successfully, so that `whyNever()` need not parse them again. */
  #isValid = false;
  timezone: string | null = null;
  bounds: Bounds = DEFAULT_BOUNDS;

  edit(fields: FieldTexts): void {
    const texts = this.#fields.split(" ");
    this.#fields = FIELDS.map((field, index) => fields[field] ?? texts[index]).join(" ");
    this.#isValid = false;
  }

  bind(bounds: Partial<Bounds>): void {
    this.bounds = { ...this.bounds, ...bounds };
  }

  inZone(timezone: string): void {
    zoneOf(timezone);
    this.timezone = timezone;
  }

  /** Replaces all fields by an expression of five or six fields. */
  replace(expression: string): void {
    this.#fields = new Cron(expression).toString();
    this.#isValid = true;
  }

  /**
   * Returns an expression of six fields; null if no field was set. Of the fields that were not set, those finer than
   * the finest set field are 0 (day and month 1), the others `*`.
   */
  toCron(): string | null {
    if (this.#fields === NO_FIELDS) return null;
    if (!EMPTY_TEXT.test(this.#fields)) return this.#fields;
    const texts = this.#fields.split(" ");
    const finest = Math.min(
      ...FIELDS.filter((_, index) => texts[index] !== "").map((field) => FINENESS[field]),
    );
    return FIELDS.map((field, index) => {
      if (texts[index] !== "") return texts[index];
      return FINENESS[field] < finest ? FIRST[field] : "*";
    }).join(" ");
  }

  /** Returns null if no field was set, or if the schedule can never tick, about which `warning()` warns. */
  toParts(job: string, overrides: ScheduleOverrides): ScheduleParts | null {
    const cron = this.toCron();
    if (cron === null || this.whyNever(cron)) return null;
    const { windows, misfire, start, end } = this.bounds;
    const timezone = this.timezone ?? "UTC";
    const startingAt = start === null ? null : inZone(start, timezone);
    const endingAt = end === null ? null : inZone(end, timezone);
    return { job, cron, timezone, windows, startingAt, endingAt, misfire, ...overrides };
  }

  /** Returns a warning about a schedule that probably does not do what its author expects; null without one. */
  warning(now: number): string | null {
    const cron = this.toCron();
    if (cron === null) return null;
    if (BOTH_DAYS.test(cron)) {
      return `"${cron}" ticks on each day that matches the day of the month or the day of the week, as in cron; if both must match, add a when()`;
    }
    const never = this.whyNever(cron);
    const { windows, end } = this.bounds;
    if (never !== null || (windows.length === 0 && end === null)) return never;
    const parts = this.toParts("", { args: null, queue: null });
    return parts && new Schedule(parts).next(now) === null ? `"${cron}" never ticks from now on` : null;
  }

  /** Returns why fields that are each valid never match together (31 February); null if they do. */
  whyNever(cron: string): string | null {
    if (this.#isValid) return null;
    try {
      new Cron(cron);
      this.#isValid = true;
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }
}

function inZone(instant: Instant, timezone: string): number {
  const ms = toInstant(instant);
  return isWallTime(instant) ? instantOf(zoneOf(timezone), ms) : ms;
}
