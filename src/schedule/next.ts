import { DAY_SECONDS, firstMatch, lastMatch } from "./civil.ts";
import type { Fields } from "./fields.ts";
import { LAST_SECOND, type Segment, type Zone } from "./zones.ts";

/*
 * The search finds matches in civil time and maps them to instants segment by segment. Interval schedules tick whenever
 * the wall clock shows a match. For fixed-time schedules, the matches in the gap before a segment (times that the clock
 * skips) become one tick at the start of the segment, and matches that the clock shows for the second time are dropped.
 */

/**
 * Largest clock change, in seconds, that counts as daylight saving. After a larger one, skipped times get no tick and
 * repeated times get two.
 */
export const LARGEST_CHANGE: number = 3 * 3600;

/** Returns the first civil second whose matches belong to a segment. */
function opening(fields: Fields, segment: Segment): number {
  const jump = segment.offset - segment.before;
  const changed = !fields.interval && jump < LARGEST_CHANGE && jump >= -LARGEST_CHANGE;
  return segment.start + (changed ? segment.before : segment.offset);
}

/** Returns the first tick after an instant, in UTC milliseconds. */
export function nextTick(fields: Fields, zone: Zone, after: number): number | undefined {
  const begin = Math.max(Math.floor(after / 1000) + 1, -LAST_SECOND);
  let second = begin;
  let from = Number.POSITIVE_INFINITY;
  let match = Number.NEGATIVE_INFINITY;
  while (second <= LAST_SECOND) {
    const segment = zone.at(second);
    let civil = second + segment.offset;
    if (segment.offset !== segment.before) {
      const open = opening(fields, segment);
      if (second === segment.start || civil < open) civil = open;
    }
    if (civil < from || civil > match) match = firstMatch(fields, civil);
    from = civil;
    const tick = Math.max(match - segment.offset, second);
    if (tick > LAST_SECOND) return undefined;
    if (tick < segment.end) return tick * 1000;
    second = segment.end;
    // Segments more than two days before the match cannot contain or repeat it: skip them.
    if (second - begin > 2 * DAY_SECONDS) second = Math.max(second, match - segment.offset - 2 * DAY_SECONDS);
  }
  return undefined;
}

/** Returns the last tick before an instant, in UTC milliseconds. */
export function previousTick(fields: Fields, zone: Zone, before: number): number | undefined {
  const begin = Math.min(Math.ceil(before / 1000) - 1, LAST_SECOND);
  let second = begin;
  let upTo = Number.NEGATIVE_INFINITY;
  let match = Number.POSITIVE_INFINITY;
  while (second >= -LAST_SECOND) {
    const segment = zone.at(second);
    const civil = second + segment.offset;
    if (civil > upTo || civil < match) match = lastMatch(fields, civil);
    upTo = civil;
    if (match >= opening(fields, segment)) {
      const tick = Math.max(match - segment.offset, segment.start);
      return tick < -LAST_SECOND ? undefined : tick * 1000;
    }
    second = segment.start - 1;
    if (begin - second > 2 * DAY_SECONDS) second = Math.min(second, match - segment.offset + 2 * DAY_SECONDS);
  }
  return undefined;
}
