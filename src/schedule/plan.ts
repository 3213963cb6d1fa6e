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

// Shared by all plans that say nothing else: there may be thousands.
const NONE: readonly Window[] = [];
const ONCE: Misfire = { policy: "once", limit: 100, within: null };

/** When a job is to tick, as far as its definition's calls have said. */
export class Plan {
  fields: Fields = {};
  timezone: string | null = null;
  windows: readonly Window[] = NONE;
  /** An expression that was found to have ticks, so that it is not read again for that. */
  #possible: string | null = null;
  /** As given: text without an offset is read in the zone, which may be named later. */
  #start: Instant | null = null;
  #end: Instant | null = null;
  misfire: Misfire = ONCE;
  /** Null: it ticks in every environment. */
  environments: string[] | null = null;

  edit(fields: Fields): void {
    this.fields = { ...this.fields, ...fields };
  }

  inZone(timezone: string): void {
    zoneOf(timezone);
    this.timezone = timezone;
  }

  startAt(instant: Instant): void {
    toInstant(instant);
    this.#start = instant;
  }

  endAt(instant: Instant): void {
    toInstant(instant);
    this.#end = instant;
  }

  /** Takes a whole expression of five or six fields in place of all that was named before. */
  replace(expression: string): void {
    const text = new Cron(expression).toString();
    const [second, minute, hour, day, month, weekday] = text.split(" ") as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    this.fields = { second, minute, hour, day, month, weekday };
    this.#possible = text;
  }

  /** Six fields: finer than the finest one named are 0, coarser ones `*`. Null when nothing was named. */
  toCron(): string | null {
    const named = FIELDS.filter((field) => this.fields[field] !== undefined);
    if (named.length === 0) return null;
    const finest = Math.min(...named.map((field) => FINENESS[field]));
    return FIELDS.map((field) => {
      const text = this.fields[field];
      if (text !== undefined) return text;
      return FINENESS[field] < finest ? FIRST[field] : "*";
    }).join(" ");
  }

  /** Null when nothing says when, or not in this environment, or never: `surprise` has told of that. */
  toParts(job: string, passed: Passed, environment: string): ScheduleParts | null {
    const cron = this.toCron();
    if (cron === null || this.environments?.includes(environment) === false || this.#impossible(cron))
      return null;
    const { windows, misfire } = this;
    const timezone = this.timezone ?? "UTC";
    const startingAt = this.#start === null ? null : inZone(this.#start, timezone);
    const endingAt = this.#end === null ? null : inZone(this.#end, timezone);
    return { job, cron, timezone, windows, startingAt, endingAt, misfire, ...passed };
  }

  /** What a reader of the definition would not expect of it; null: nothing. */
  surprise(now: number): string | null {
    const cron = this.toCron();
    if (cron === null) return null;
    const { day, weekday } = this.fields;
    if (day !== undefined && day !== "*" && weekday !== undefined && weekday !== "*") {
      return `"${cron}" ticks on those days of the month and on those days of the week as well, as cron has it; to have both at once add a when()`;
    }
    const never = this.#impossible(cron);
    if (never !== null || (this.windows === NONE && this.#end === null)) return never;
    const parts = this.toParts("", { args: null, queue: null }, this.environments?.[0] ?? "");
    return parts && new Schedule(parts).next(now) === null ? `"${cron}" never ticks from now on` : null;
  }

  /** Why the fields, each of them right, never come together; null: they do. */
  #impossible(cron: string): string | null {
    if (cron === this.#possible) return null;
    try {
      new Cron(cron);
      this.#possible = cron;
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
