import { backoffDelay, type RetryPolicy } from "../run/backoff.ts";
import type { ClaimedRun } from "../store/store.ts";
import type { Result } from "./executor.ts";

/** What a failed try comes to: another one, or the end. Tries that were lost with a process do not count. */
export function afterFailure(
  run: ClaimedRun,
  retries: RetryPolicy,
  error: unknown,
  random: () => number,
  isWorthIt: () => boolean = () => true,
): Result {
  const failures = run.attempts - run.crashes;
  if (failures >= retries.max || !isWorthIt()) return { outcome: "failed", error };
  return { outcome: "retried", error, delay: backoffDelay(retries, failures, error, random) };
}
