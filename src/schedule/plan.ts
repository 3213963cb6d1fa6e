import { Cron } from "./cron.ts";
import { zoneOf } from "./zones.ts";

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

/** The fields that a definition's calls have named so far, and the zone they are read in. */
export class Plan {
  fields: Fields = {};
  timezone: string | null = null;

  edit(fields: Fields): void {
    this.fields = { ...this.fields, ...fields };
  }

  inZone(timezone: string): void {
    zoneOf(timezone);
    this.timezone = timezone;
  }

  /** Takes a whole expression of five or six fields in place of all that was named before. */
  replace(expression: string): void {
    const six = new Cron(expression).toString().split(" ");
    this.fields = Object.fromEntries(FIELDS.map((field, index) => [field, six[index]!]));
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
}
