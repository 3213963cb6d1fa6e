import { type Instant, isWallTime, toInstant } from "../time.ts";
import { Cron } from "./cron.ts";
import { type Misfire, Schedule, type ScheduleParts } from "./schedule.ts";
import type { Window } from "./window.ts";
import { instantOf, zoneOf } from "./zones.ts";

const FIELDS = ["second", "minute", "hour", "day", "month", "weekday"] as const;

export type Field = (typeof FIELDS)[number];
export type Fields = Partial<Record<Field, string>>;

/** What a field is when only coarser ones were named. A day or a month cannot be 0. */
const FIRST: Record<Field, string> = {
  second: "0",
  minute: "0",
  hour: "0",
  day: "1",
  month: "1",
  weekday: "*",
};

/** From fine to coarse; a week day is as fine as a date. */
const FINENESS: Record<Field, number> = { second: 0, minute: 1, hour: 2, day: 3, weekday: 3, month: 4 };

/** What a schedule passes to its runs, where it differs from the job. */
export interface Passed {
  args: string | null;
  queue: string | null;
}

/** What most plans say nothing about. Never changed but replaced, so that they share `UNBOUND`: there may be thousands. */
export interface Bounds {
  readonly windows: readonly Window[];
  /** As given: text without an offset is read in the zone, which may be named later. */
  readonly start: Instant | null;
  readonly end: Instant | null;
  readonly misfire: Misfire;
  /** Null: it ticks in every environment. */
  readonly environments: readonly string[] | null;
}

const UNBOUND: Bounds = {
  windows: [],
  start: null,
  end: null,
  misfire: { policy: "once", limit: 100, within: null },
  environments: null,
};

/** Six empty texts. */
const UNNAMED = "     ";
const EMPTY_TEXT = /^ | {2}| $/;

/** A cron that names days of the month and days of the week. */
const BOTH_DAYS = /^(?:\S+ ){3}(?!\* )\S+ \S+ (?!\*$)/;

/** When a job is to tick, as far as its definition's calls have said. */
export class Plan {
  /** The six fields with a blank between them, empty where nothing was named: the smallest form, often a whole cron. */
  #fields = UNNAMED;
  /** The fields were found to come together, so that they are not read again for that. */
  #possible = false;
  timezone: string | null = null;
  bounds: Bounds = UNBOUND;

  edit(fields: Fields): void {
    const texts = this.#fields.split(" ");
    this.#fields = FIELDS.map((field, index) => fields[field] ?? texts[index]).join(" ");
    this.#possible = false;
  }

  bind(bounds: Partial<Bounds>): void {
    this.bounds = { ...this.bounds, ...bounds };
  }

  inZone(timezone: string): void {
    zoneOf(timezone);
    this.timezone = timezone;
  }

  /** Takes a whole expression of five or six fields in place of all that was named before. */
  replace(expression: string): void {
    this.#fields = new Cron(expression).toString();
    this.#possible = true;
  }

  /** Six fields: finer than the finest one named are 0, coarser ones `*`. Null when nothing was named. */
  toCron(): string | null {
    if (this.#fields === UNNAMED) return null;
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

  /** Null when nothing says when, or never: `surprise` has told of that. */
  toParts(job: string, passed: Passed): ScheduleParts | null {
    const cron = this.toCron();
    if (cron === null || this.impossible(cron)) return null;
    const { windows, misfire, start, end } = this.bounds;
    const timezone = this.timezone ?? "UTC";
    const startingAt = start === null ? null : inZone(start, timezone);
    const endingAt = end === null ? null : inZone(end, timezone);
    return { job, cron, timezone, windows, startingAt, endingAt, misfire, ...passed };
  }

  /** What a reader of the definition would not expect of it; null: nothing. */
  surprise(now: number): string | null {
    const cron = this.toCron();
    if (cron === null) return null;
    if (BOTH_DAYS.test(cron)) {
      return `"${cron}" ticks on those days of the month and on those days of the week as well, as cron has it; to have both at once add a when()`;
    }
    const never = this.impossible(cron);
    const { windows, end } = this.bounds;
    if (never !== null || (windows.length === 0 && end === null)) return never;
    const parts = this.toParts("", { args: null, queue: null });
    return parts && new Schedule(parts).next(now) === null ? `"${cron}" never ticks from now on` : null;
  }

  /** Why the fields, each of them right, never come together; null: they do. */
  impossible(cron: string): string | null {
    if (this.#possible) return null;
    try {
      new Cron(cron);
      this.#possible = true;
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
