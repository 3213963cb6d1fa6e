import { firstMatch } from "./civil.ts";
import { parseCron } from "./fields.ts";
import { LARGEST_CHANGE } from "./next.ts";
import { type Segment, type Zone, zoneOf } from "./zones.ts";

/** Effect of a clock change on a tick. Times are civil: seconds on the wall clock, counted as if it showed UTC. */
export type ClockChange =
  /** The clock skipped these times; this tick replaces all of them. */
  | { kind: "skipped"; times: number[] }
  /** The clock shows the tick's time twice, this being the first; `both`: the schedule ticks both times. */
  | { kind: "repeated"; both: boolean }
  /** The clock shows the tick's time for the second time. */
  | { kind: "again" };

/** Skipped times that are listed at most. */
const MOST_TIMES = 4;

/** Returns what a clock change did to a tick; null when no change affects it. */
export function clockChange(cron: string, timezone: string, tick: number): ClockChange | null {
  const fields = parseCron(cron);
  const zone = zoneOf(timezone);
  const second = Math.floor(tick / 1000);
  const segment = zone.at(second);
  const { start, before, offset } = segment;
  const civil = second + offset;
  const jump = offset - before;
  if (second === start && jump > 0 && jump < LARGEST_CHANGE && !fields.interval) {
    const times: number[] = [];
    for (let from = start + before; times.length < MOST_TIMES; from = times.at(-1)! + 1) {
      const match = firstMatch(fields, from);
      if (match >= start + offset) break;
      times.push(match);
    }
    if (times.length > 0) return { kind: "skipped", times };
  }
  if (jump < 0 && civil < start + before) return { kind: "again" };
  const after = nextChange(zone, segment);
  if (!after || after.offset >= offset || civil < after.start + after.offset) return null;
  return { kind: "repeated", both: fields.interval || offset - after.offset > LARGEST_CHANGE };
}

/**
 * Returns the segment after the next clock change; null for UTC, which has none. Two segments in a row may have one
 * offset.
 */
function nextChange(zone: Zone, segment: Segment): Segment | null {
  if (!Number.isFinite(segment.end)) return null;
  const next = zone.at(segment.end);
  return next.offset === segment.offset ? zone.at(next.end) : next;
}
