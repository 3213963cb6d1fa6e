import { PunctualError, show } from "../errors.ts";
import { DAY } from "./civil.ts";

/** A stretch of time, in UTC seconds, whose distance from UTC is constant. */
export interface Segment {
  readonly start: number;
  readonly end: number;
  /** Wall clock minus UTC, in seconds. */
  readonly offset: number;
  /** The offset just before `start`: equal to `offset` where a segment is cut but no clock changed. */
  readonly before: number;
}

/** The last second that a `Date` can hold. */
export const LAST_SECOND = 8.64e12;

/** About a year: what is read from Intl at a time. */
const PART = 2 ** 25;

/** In tzdata no zone changes twice within less than 3.98 days (Freetown, 1939), so no change is stepped over. */
const STEP = 3 * DAY;

/** The offsets of one time zone, read from Intl as they are needed and shared by all schedules. */
export class Zone {
  readonly #format: Intl.DateTimeFormat | null;
  readonly #parts = new Map<number, readonly Segment[]>();
  #recent: Segment;

  /** Null: UTC, which most schedules are in; the first use of Intl costs a process 9 MB and some 30 ms. */
  constructor(format: Intl.DateTimeFormat | null) {
    this.#format = format;
    const utc = format === null || format.resolvedOptions().timeZone === "UTC";
    const end = utc ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    this.#recent = { start: Number.NEGATIVE_INFINITY, end, offset: 0, before: 0 };
  }

  /** The segment that holds a UTC second. */
  at(second: number): Segment {
    const recent = this.#recent;
    if (second >= recent.start && second < recent.end) return recent;
    const index = Math.floor(second / PART);
    let part = this.#parts.get(index);
    if (part === undefined) {
      part = this.#read(index * PART);
      this.#parts.set(index, part);
    }
    let found = part.length - 1;
    while (part[found]!.start > second) found--;
    this.#recent = part[found]!;
    return this.#recent;
  }

  #read(from: number): Segment[] {
    const to = from + PART;
    const segments: Segment[] = [];
    // Starts early so that a fold just before `from` still shows as one: its second pass may reach beyond.
    let start = from - DAY;
    let offset = this.#offset(start);
    let before = offset;
    let known = start;
    while (known < to) {
      const ahead = Math.min(known + STEP, to);
      if (this.#offset(ahead) === offset) {
        known = ahead;
        continue;
      }
      known = this.#change(known, ahead, offset);
      if (known > from) segments.push({ start, end: known, offset, before });
      before = offset;
      offset = this.#offset(known);
      start = known;
    }
    if (start < to) segments.push({ start, end: to, offset, before });
    return segments;
  }

  /** The first second after `same` that has not `offset`, where `other` has not. */
  #change(same: number, other: number, offset: number): number {
    let low = same;
    let high = other;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#offset(middle) === offset) low = middle;
      else high = middle;
    }
    return high;
  }

  #offset(second: number): number {
    const at = Math.max(-LAST_SECOND, Math.min(second, LAST_SECOND));
    const match = /([+-])(\d+):(\d+)(?::(\d+))?$/.exec(this.#format!.format(at * 1000));
    if (!match) return 0;
    const size = Number(match[2]) * 3600 + Number(match[3]) * 60 + Number(match[4] ?? 0);
    return match[1] === "-" ? -size : size;
  }
}

/** The instant at which a zone's wall clock shows this time (as if it were UTC); in a gap the end of it, in a fold the first. */
export function instantOf(zone: Zone, wallMs: number): number {
  const wall = Math.floor(wallMs / 1000);
  const before = zone.at(wall - DAY).offset;
  const after = zone.at(wall + DAY).offset;
  for (const offset of [before, after]) {
    if (zone.at(wall - offset).offset === offset) return wallMs - offset * 1000;
  }
  return zone.at(wall - before).start * 1000;
}

const zones = new Map<string, Zone>([["utc", new Zone(null)]]);

/** The table of a zone, one for all its spellings. */
export function zoneOf(name: string): Zone {
  const key = typeof name === "string" ? name.toLowerCase() : "";
  let zone = zones.get(key);
  if (zone === undefined) {
    const format = formatOf(name);
    const canonical = format.resolvedOptions().timeZone.toLowerCase();
    zone = zones.get(canonical) ?? new Zone(format);
    zones.set(canonical, zone);
    zones.set(key, zone);
  }
  return zone;
}

function formatOf(name: string): Intl.DateTimeFormat {
  try {
    // Intl takes an absent zone for the machine's own.
    if (typeof name !== "string") throw new RangeError("not a text");
    return new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  } catch (cause) {
    throw new PunctualError(
      "INVALID_ZONE",
      `Expected an IANA time zone such as "Europe/Berlin" or "UTC", got ${show(name)}.`,
      { cause },
    );
  }
}
