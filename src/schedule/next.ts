import { DAY, firstMatch, lastMatch } from "./civil.ts";
import type { Fields } from "./fields.ts";
import { LAST_SECOND, type Segment, type Zone } from "./zones.ts";

/*
 * Matches are sought in civil time and mapped to instants segment by segment. Interval jobs take the wall
 * clock as it comes. For fixed-time jobs a segment also answers for the gap before it, whose matches become
 * one run at its start, and leaves out what its fold repeats.
 */

/** A larger jump is a new clock rather than daylight saving: nothing is made up, nothing held back. */
export const LARGEST_CHANGE: number = 3 * 3600;

/** The civil second from which a segment takes matches. */
function opening(fields: Fields, segment: Segment): number {
  const jump = segment.offset - segment.before;
  const changed = !fields.interval && jump < LARGEST_CHANGE && jump >= -LARGEST_CHANGE;
  return segment.start + (changed ? segment.before : segment.offset);
}

/** The first tick after an instant, in UTC milliseconds. */
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
    // A fold more than two days ahead cannot repeat what was searched: go to where the match is near.
    if (second - begin > 2 * DAY) second = Math.max(second, match - segment.offset - 2 * DAY);
  }
  return undefined;
}

/** The last tick before an instant, in UTC milliseconds. */
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
    if (begin - second > 2 * DAY) second = Math.min(second, match - segment.offset + 2 * DAY);
  }
  return undefined;
}
