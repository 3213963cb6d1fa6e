import { policyOf, type RetryPolicy, retryDelay } from "../run/retries.ts";
import type { ClaimedRun } from "../store/store.ts";
import type { Result } from "./executor.ts";

/** What a failed try comes to: another one, or the end. Tries that were lost with a process do not count. */
export function afterFailure(
  run: ClaimedRun,
  job: RetryPolicy,
  error: unknown,
  random: () => number,
  isWorthIt: () => boolean = () => true,
): Result {
  const retries = policyOf(job, run.retries);
  const failures = run.attempts - run.crashes;
  if (failures >= retries.max || !isWorthIt()) return { outcome: "failed", error };
  return { outcome: "retried", error, delay: retryDelay(retries, failures, error, random) };
}
