import type { Schedule } from "./schedule.ts";

/** A tick that is late by no more than this was not missed. */
export const TICK_GRACE = 10_000;

/** Missed ticks are counted up to this number: counting ten years of seconds would block a worker. */
const MOST_COUNTED = 100_000;

/** The ticks of a schedule that become runs. */
export interface MisfireDecision {
  /** Ticks to create runs for, oldest first. */
  ticks: number[];
  /** The new mark: no tick at or before it ever becomes a run again. */
  last: number;
  next: number | null;
  missed: number;
}

/** Decides which ticks of a due schedule become runs. `waiting`: a run of an earlier tick has not started yet. */
export function decideTicks(
  schedule: Schedule,
  { nextTick, waiting }: { nextTick: number; waiting: boolean },
  now: number,
): MisfireDecision {
  const { policy, limit, within } = schedule.parts.misfire;
  // The stored tick counts even if this process would not have computed it: machines may have different zone data.
  const last = schedule.latest(now, nextTick) ?? nextTick;
  const decided = { last, next: schedule.next(last) };
  const oldest = within === null ? Number.NEGATIVE_INFINITY : now - Math.max(within, TICK_GRACE);
  const due = (count: number) => countBetween(schedule, nextTick, last, count);
  if (policy === "all") {
    const ticks = latestOf(schedule, nextTick, last, limit).filter((tick) => tick >= oldest);
    return { ...decided, ticks, missed: due(MOST_COUNTED) - ticks.length };
  }
  const late = policy === "skip" ? now - TICK_GRACE : oldest;
  const runs = !waiting && last >= late;
  return { ...decided, ticks: runs ? [last] : [], missed: due(MOST_COUNTED) - (runs ? 1 : 0) };
}

function countBetween(schedule: Schedule, first: number, last: number, most: number): number {
  let count = 1;
  for (let tick = schedule.next(first); tick !== null && tick <= last && count < most; count++) {
    tick = schedule.next(tick);
  }
  return count;
}

/** Returns the last `limit` ticks from `first` to `last`, oldest first. */
function latestOf(schedule: Schedule, first: number, last: number, limit: number): number[] {
  const ticks = [last];
  while (ticks.length < limit) {
    const tick = schedule.latest(ticks.at(-1)! - 1, first);
    if (tick === null) break;
    ticks.push(tick);
  }
  return ticks.reverse();
}
