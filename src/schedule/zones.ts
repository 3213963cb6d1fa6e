import { formatValue, PunctualError } from "../errors.ts";
import { DAY_SECONDS } from "./civil.ts";

/** A span of time, in UTC seconds, in which a zone's offset from UTC is constant. */
export interface Segment {
  readonly start: number;
  readonly end: number;
  /** Wall clock minus UTC, in seconds. */
  readonly offset: number;
  /** The offset just before `start`; equal to `offset` if the segment does not begin with a clock change. */
  readonly before: number;
}

/** The last second that a `Date` can represent. */
export const LAST_SECOND = 8.64e12;

/** Seconds (about a year) whose segments are read from Intl at a time. */
const PART = 2 ** 25;

/**
 * Step of the search for clock changes. In tzdata two changes are at least 3.98 days apart (Freetown, 1939), so the
 * search misses none.
 */
const STEP = 3 * DAY_SECONDS;

/** The offsets of one time zone, read from Intl on demand and shared by all schedules. */
export class Zone {
  readonly #format: Intl.DateTimeFormat | null;
  readonly #parts = new Map<number, readonly Segment[]>();
  #recent: Segment;

  /** `format` null: UTC, which needs no Intl; the first use of Intl costs a process 9 MB and about 30 ms. */
  constructor(format: Intl.DateTimeFormat | null) {
    this.#format = format;
    const utc = format === null || format.resolvedOptions().timeZone === "UTC";
    const end = utc ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    this.#recent = { start: Number.NEGATIVE_INFINITY, end, offset: 0, before: 0 };
  }

  /** Returns the segment that contains a UTC second. */
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
    // Starts a day early, to see a clock change just before `from`: the times it repeats may lie after `from`.
    let start = from - DAY_SECONDS;
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

  /** Returns the first second after `same` with another offset. `same` has `offset`, `other` has not. */
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

/**
 * Returns the instant at which a zone's wall clock shows this time (given as if it were UTC). For a time that the clock
 * skips, the end of the gap; for a time that it shows twice, the first.
 */
export function instantOf(zone: Zone, wallMs: number): number {
  const wall = Math.floor(wallMs / 1000);
  const before = zone.at(wall - DAY_SECONDS).offset;
  const after = zone.at(wall + DAY_SECONDS).offset;
  for (const offset of [before, after]) {
    if (zone.at(wall - offset).offset === offset) return wallMs - offset * 1000;
  }
  return zone.at(wall - before).start * 1000;
}

const zones = new Map<string, Zone>([["utc", new Zone(null)]]);

/** Returns the zone with this name; all spellings of a name share one object. */
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
    // Intl would take undefined for the machine's own zone.
    if (typeof name !== "string") throw new RangeError("not a text");
    return new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  } catch (cause) {
    throw new PunctualError(
      "INVALID_ZONE",
      `Expected an IANA time zone such as "Europe/Berlin" or "UTC", got ${formatValue(name)}.`,
      { cause },
    );
  }
}
