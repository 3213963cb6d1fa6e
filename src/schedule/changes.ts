import { firstMatch } from "./civil.ts";
import { parseCron } from "./fields.ts";
import { LARGEST_CHANGE } from "./next.ts";
import { type Segment, type Zone, zoneOf } from "./zones.ts";

/** What a change of clocks did to a tick. Times are civil: seconds on the wall clock, as if it showed UTC. */
export type ClockChange =
  /** These times were left out by the clock; the tick stands for them. */
  | { kind: "skipped"; times: number[] }
  /** The tick's time comes twice: `both` says whether the schedule ticks both times. */
  | { kind: "repeated"; both: boolean }
  /** The second time it comes. */
  | { kind: "again" };

/** More are not told one by one. */
const MOST_TIMES = 4;

/** Null: no clock changed here, or it makes no difference. */
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

/** A segment may be cut where nothing changes; that of UTC has no end. */
function nextChange(zone: Zone, segment: Segment): Segment | null {
  if (!Number.isFinite(segment.end)) return null;
  const next = zone.at(segment.end);
  return next.offset === segment.offset ? zone.at(next.end) : next;
}
