import { DAY } from "../time.ts";
import type { JobReport, StatusReport } from "./report.ts";

/** Workers show their jobs every 30 seconds: no live worker defines a job that has not been shown for this long. */
export const UNDEFINED_FOR: number = 2 * 60_000;

/** A job that has not been shown for this long was removed from the code; until then the next deploy may bring it back. */
export const GONE_AFTER: number = DAY;

/**
 * Returns for how long no worker has defined a job, in milliseconds; null: one does, or none has ever. While no worker
 * is alive, a job counts as defined unless others were shown after it: the workers are down, and the code may be as it was.
 */
export function unseenIn({
  now,
  jobs,
  workers,
}: Pick<StatusReport, "now" | "jobs" | "workers">): (job: JobReport) => number | null {
  const isServed = workers.some(({ parallel }) => parallel > 0);
  const latest = isServed
    ? Number(now)
    : jobs.reduce((last, { seenAt }) => Math.max(last, Number(seenAt ?? 0)), 0);
  return ({ seenAt }) =>
    seenAt === null || latest - Number(seenAt) <= UNDEFINED_FOR ? null : Number(now) - Number(seenAt);
}
