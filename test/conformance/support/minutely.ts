import type {
  DueSchedule,
  ScheduleSync,
  TickDecision,
  TickRequest,
  TickResult,
} from "../../../src/store/definitions.ts";
import type { Store } from "../../../src/store/store.ts";

export const MINUTE = 60_000;

/** Ticks at every whole minute. */
export function minutely(fields: Partial<ScheduleSync> = {}): ScheduleSync {
  return {
    slot: "",
    cron: "0 * * * * *",
    timezone: "UTC",
    args: null,
    queue: null,
    fingerprint: "minutely",
    next: (after) => (Math.floor(after / MINUTE) + 1) * MINUTE,
    ...fields,
  };
}

/** Makes one run for the due tick, as a punctual worker does. */
export function onTime(due: DueSchedule, now: number): TickDecision {
  const last = Math.floor(now / MINUTE) * MINUTE;
  const run = { name: due.job, queue: "default", lane: due.job, priority: 100, args: null };
  return { last, next: last + MINUTE, missed: 0, runs: [{ ...run, tickAt: last }] };
}

export function tick(store: Store, request: Partial<TickRequest> = {}): Promise<TickResult> {
  return store.tick({ exclude: [], limit: 100, decide: onTime, ...request });
}
