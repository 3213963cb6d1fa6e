import { Cron } from "../../schedule/cron.ts";
import type { ScheduleInfo } from "../../status/report.ts";
import { HOUR } from "../../time.ts";
import type { SchedulesResponse } from "./contract.ts";
import { iso } from "./views/times.ts";

const HOURS = 24;

/** Ticks that are computed for one schedule; beyond them an hour counts as the hours before. */
const MOST_OF_ONE = 300;

/** Ticks that are computed for all schedules: some tens of milliseconds. Later schedules are not counted. */
const MOST_OF_ALL = 20_000;

/** Names of jobs that one hour lists. */
const MOST_NAMES = 20;

/** Counts the ticks in each of the next 24 hours. `schedules` tick, and `now` is in the first hour. */
export function forecastTicks(schedules: readonly ScheduleInfo[], now: number): SchedulesResponse["hours"] {
  const start = now - (now % HOUR);
  const hours = Array.from({ length: HOURS }, (_, hour) => ({
    at: iso(start + hour * HOUR),
    ticks: 0,
    jobs: [] as string[],
  }));
  let left = MOST_OF_ALL;
  for (const schedule of schedules) {
    const counts = countByHour(schedule, now, start, Math.min(left, MOST_OF_ONE));
    left -= counts.computed;
    for (const [hour, count] of counts.hours.entries()) {
      if (count === 0) continue;
      const { jobs } = hours[hour]!;
      hours[hour]!.ticks += count;
      if (jobs.length < MOST_NAMES && !jobs.includes(schedule.job)) jobs.push(schedule.job);
    }
    if (left <= 0) break;
  }
  return hours;
}

function countByHour(
  { cron, timezone }: ScheduleInfo,
  now: number,
  start: number,
  most: number,
): { hours: number[]; computed: number } {
  const hours = Array<number>(HOURS).fill(0);
  const end = start + HOURS * HOUR;
  let computed = 0;
  let last = now;
  try {
    const ticks = new Cron(cron, { timezone });
    for (let tick = ticks.nextMs(now); tick !== undefined && tick < end; tick = ticks.nextMs(tick)) {
      if (computed >= most)
        return { hours: extrapolated(hours, Math.floor((last - start) / HOUR)), computed };
      hours[Math.floor((tick - start) / HOUR)]!++;
      last = tick;
      computed++;
    }
  } catch {
    // A later version wrote syntax that is unknown here.
  }
  return { hours, computed };
}

/** Fills the hours from the one that is not complete with the most frequent one before. */
function extrapolated(hours: number[], from: number): number[] {
  const usual = hours.slice(0, from + 1).reduce((most, count) => Math.max(most, count), 0);
  return hours.map((count, hour) => (hour < from ? count : usual));
}
