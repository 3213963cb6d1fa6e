import { formatValue, PunctualError } from "../errors.ts";
import { describe } from "./describe.ts";
import { type Fields, parseCron } from "./fields.ts";
import { nextTick, previousTick } from "./next.ts";
import { type Zone, zoneOf } from "./zones.ts";

export interface CronOptions {
  /** IANA name such as `"Europe/Berlin"`. Default: UTC. */
  timezone?: string | undefined;
}

/** A cron expression in a time zone. Immutable. Ticks are whole seconds. */
export class Cron {
  readonly timezone: string;
  readonly #fields: Fields;
  readonly #zone: Zone;

  constructor(expression: string, options: CronOptions = {}) {
    this.#fields = parseCron(expression);
    this.timezone = options.timezone === undefined ? "UTC" : options.timezone;
    this.#zone = zoneOf(this.timezone);
  }

  /** Returns the first tick strictly after an instant; undefined beyond the range of `Date`. */
  next(after: Date | number): Date | undefined {
    return toDate(this.nextMs(toMs(after)));
  }

  /** Returns the last tick strictly before an instant; undefined beyond the range of `Date`. */
  previous(before: Date | number): Date | undefined {
    return toDate(this.previousMs(toMs(before)));
  }

  /** Returns `next()` in UTC milliseconds. */
  nextMs(after: number): number | undefined {
    return nextTick(this.#fields, this.#zone, after);
  }

  /** Returns `previous()` in UTC milliseconds. */
  previousMs(before: number): number | undefined {
    return previousTick(this.#fields, this.#zone, before);
  }

  /** Whether the schedule ticks in the second of an instant. */
  matches(at: Date | number): boolean {
    const second = Math.floor(toMs(at) / 1000) * 1000;
    return this.nextMs(second - 1) === second;
  }

  /** Returns the next `count` ticks. */
  upcoming(count: number, after: Date | number): Date[] {
    const ticks: Date[] = [];
    let last: number | undefined = toMs(after);
    while (ticks.length < count) {
      last = this.nextMs(last);
      if (last === undefined) break;
      ticks.push(new Date(last));
    }
    return ticks;
  }

  /** Returns the schedule as one English sentence. */
  describe(): string {
    return describe(this.#fields, this.timezone);
  }

  /** Returns the expression in its normal form: six fields, names in upper case, nicknames expanded. */
  toString(): string {
    return this.#fields.text;
  }
}

function toMs(instant: Date | number): number {
  const ms = instant instanceof Date ? instant.getTime() : instant;
  if (typeof ms !== "number" || !Number.isFinite(ms)) {
    const got = instant instanceof Date ? "an invalid Date" : formatValue(instant);
    throw new PunctualError("INVALID_INSTANT", `Expected a Date or UTC milliseconds, got ${got}.`);
  }
  return ms;
}

function toDate(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}

/** Describes a cron expression in words. Returns it unchanged if a later version wrote syntax unknown here. */
export function describeCron({ cron, timezone }: { cron: string; timezone: string }): string {
  try {
    return new Cron(cron, { timezone }).describe();
  } catch {
    return cron;
  }
}
