import { DAY, toMilliseconds } from "../time.ts";

/** How waits are spread: `full` picks any moment up to the wait, `none` waits exactly. */
export type Jitter = "full" | "none";

/** How a failed run is tried again; `base` and `cap` in seconds. */
export interface RetryPolicy {
  /** How many tries a run gets in all. */
  max: number;
  base: number;
  cap: number;
  jitter: Jitter;
  /** The wait before the next try, in place of the formula: seconds or a duration text. */
  backoff?: (failures: number, error: unknown) => number | string;
  /** Whether this error deserves another try. */
  when?: (error: unknown) => boolean;
}

/** A century: a date further away overflows in some database or other. */
const LONGEST = 36_500 * DAY;

/** Past this many doublings any wait is over any cap, and `2 ** n` is still a number. */
const MOST_DOUBLINGS = 1000;

/** Milliseconds to wait before the next try after `failures` failed tries (>= 1). `random` in [0,1). */
export function backoffDelay(
  policy: RetryPolicy,
  failures: number,
  error: unknown,
  random: () => number = Math.random,
): number {
  const chosen = policy.backoff && askPolicy(policy.backoff, failures, error);
  if (chosen !== undefined) return Math.min(chosen, LONGEST);
  const doublings = Math.min(Math.max(0, failures - 1), MOST_DOUBLINGS);
  const ceiling = Math.min(policy.cap * 1000, policy.base * 1000 * 2 ** doublings, LONGEST);
  return Math.round(policy.jitter === "full" ? random() * ceiling : ceiling);
}

/** A broken function must not cost the run its retry. */
function askPolicy(
  backoff: NonNullable<RetryPolicy["backoff"]>,
  failures: number,
  error: unknown,
): number | undefined {
  try {
    const answer: unknown = backoff(failures, error);
    // An async function is a mistake here; its rejection must not take the process down as well.
    if (answer instanceof Promise) answer.catch(() => {});
    return toMilliseconds(answer as number | string);
  } catch {
    return undefined;
  }
}
