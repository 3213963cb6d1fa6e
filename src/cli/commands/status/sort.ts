import type { JobView } from "../../views/job-state.ts";

/** Columns by which `status` can be sorted. */
export const orderNames = ["name", "queue", "priority", "last", "next", "fails", "seen"] as const;
export type Order = (typeof orderNames)[number];

const never = Number.POSITIVE_INFINITY;

/** Sort key; smaller comes first. */
const keys: Record<Order, (view: JobView) => string | number> = {
  name: () => 0,
  queue: ({ job }) => job.queue,
  priority: ({ job }) => job.priority,
  last: ({ job }) => -Math.max(Number(job.lastRun ?? 0), Number(job.lastFailure ?? 0)),
  next: ({ job }) => Number(job.nextRun ?? never),
  fails: ({ job }) => -job.fails,
  seen: ({ job }) => Number(job.seenAt ?? 0),
};

/** Returns the jobs sorted by a column; jobs that are equal there are sorted by name. */
export function ordered(views: readonly JobView[], order: Order): JobView[] {
  const key = keys[order];
  const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);
  return [...views].sort((a, b) => compare(key(a), key(b)) || compare(a.job.name, b.job.name));
}
