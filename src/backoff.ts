/** Bounds of an exponential backoff, in milliseconds. */
export interface Backoff {
  /** Wait after the first failure; it doubles with each further one. */
  first: number;
  longest: number;
}

/** Beyond this many doublings every wait exceeds `longest`, and `2 ** n` is still finite. */
const MOST_DOUBLINGS = 1000;

/** Returns the wait after `failures` failures in a row (1 or more), without jitter. */
export function backoffCeiling(failures: number, { first, longest }: Backoff): number {
  const doublings = Math.min(Math.max(0, failures - 1), MOST_DOUBLINGS);
  return Math.min(longest, first * 2 ** doublings);
}

/**
 * Returns the wait after `failures` failures in a row (1 or more), between half of it and all of it: processes that
 * failed together do not all retry at the same moment.
 */
export function backoffWait(failures: number, backoff: Backoff, random: () => number): number {
  return backoffCeiling(failures, backoff) * (0.5 + random() / 2);
}
