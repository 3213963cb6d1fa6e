const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [5, 10, 15, 30].map((n) => n * MINUTE).concat([1, 2, 3, 6, 12, 24].map((n) => n * HOUR));

/**
 * Returns which points of a time axis get a label: those at round times of day, at most `most` of them. `minuteOfDay`
 * tells the minute of a point's day in the zone that is shown.
 */
export function roundPoints(
  count: number,
  step: number,
  most: number,
  minuteOfDay: (index: number) => number,
): number[] {
  for (const candidate of STEPS) {
    if (candidate < step || (count * step) / candidate > most) continue;
    const points: number[] = [];
    for (let index = 0; index < count; index++)
      if ((minuteOfDay(index) * MINUTE) % candidate === 0) points.push(index);
    return points;
  }
  return everyOther(
    count,
    Math.max(1, Math.ceil((count * step) / DAY / Math.max(1, most))),
    step,
    minuteOfDay,
  );
}

/** Returns the midnights of every nth day. */
function everyOther(
  count: number,
  days: number,
  step: number,
  minuteOfDay: (index: number) => number,
): number[] {
  const midnights: number[] = [];
  for (let index = 0; index < count; index++) if (minuteOfDay(index) * MINUTE < step) midnights.push(index);
  return midnights.filter((_, index) => index % days === 0);
}
