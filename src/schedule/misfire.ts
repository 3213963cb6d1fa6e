import type { Schedule } from "./schedule.ts";

/** A tick that is late by no more than this was not missed, only late. */
const GRACE = 10_000;

/** Missed ticks are counted one by one up to here: ten years of seconds must not stop a worker. */
const COUNTED = 100_000;

export interface Decision {
  /** The ticks to make runs for, oldest first. */
  ticks: number[];
  /** The new high-water mark: no tick up to it will ever be made again. */
  last: number;
  next: number | null;
  missed: number;
}

/** What to do about a schedule whose next tick has come. `waiting`: a run of an earlier tick has not started yet. */
export function decide(
  schedule: Schedule,
  { nextTick, waiting }: { nextTick: number; waiting: boolean },
  now: number,
): Decision {
  const { policy, limit, within } = schedule.parts.misfire;
  // The stored tick counts even if this process would not have computed it: zone data may differ between hosts.
  const last = schedule.latest(now, nextTick) ?? nextTick;
  const decided = { last, next: schedule.next(last) };
  const oldest = within === null ? Number.NEGATIVE_INFINITY : now - Math.max(within, GRACE);
  const due = (count: number) => countBetween(schedule, nextTick, last, count);
  if (policy === "all") {
    const ticks = latestOf(schedule, nextTick, last, limit).filter((tick) => tick >= oldest);
    return { ...decided, ticks, missed: due(COUNTED) - ticks.length };
  }
  const late = policy === "skip" ? now - GRACE : oldest;
  const runs = !waiting && last >= late;
  return { ...decided, ticks: runs ? [last] : [], missed: due(COUNTED) - (runs ? 1 : 0) };
}

function countBetween(schedule: Schedule, first: number, last: number, most: number): number {
  let count = 1;
  for (let tick = schedule.next(first); tick !== null && tick <= last && count < most; count++) {
    tick = schedule.next(tick);
  }
  return count;
}

/** The last `limit` ticks from `first` to `last`, oldest first. */
function latestOf(schedule: Schedule, first: number, last: number, limit: number): number[] {
  const ticks = [last];
  while (ticks.length < limit) {
    const tick = schedule.latest(ticks.at(-1)! - 1, first);
    if (tick === null) break;
    ticks.push(tick);
  }
  return ticks.reverse();
}
