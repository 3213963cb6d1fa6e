import { DAY, type Duration, toMilliseconds } from "../time.ts";
import type { FinishedState } from "./states.ts";

/** How long history keeps a finished run: a duration, `"forever"`, or 0 for not at all. */
export type Keep = Duration | "forever";

/** How long history keeps finished runs of each state. */
export type KeepByState = { [State in FinishedState]?: Keep | undefined };

/** Milliseconds for which a finished run is kept, by state; null: for ever. */
export type Retention = Record<FinishedState, number | null>;

export const defaultRetention: Retention = {
  completed: DAY,
  skipped: DAY,
  cancelled: DAY,
  failed: 30 * DAY,
};

const toKeep = (keep: Keep): number | null => (keep === "forever" ? null : toMilliseconds(keep, "keep()"));

export function toRetention(keep: Keep | KeepByState, otherwise: Retention = defaultRetention): Retention {
  if (typeof keep !== "object") {
    const all = toKeep(keep);
    return { completed: all, skipped: all, cancelled: all, failed: all };
  }
  const retention = { ...otherwise };
  for (const [state, value] of Object.entries(keep) as [FinishedState, Keep | undefined][]) {
    if (value !== undefined) retention[state] = toKeep(value);
  }
  return retention;
}
