import { brand, PunctualError } from "../errors.ts";
import { policyOf, type RetryPolicy, retryDelay } from "../run/retries.ts";
import type { ClaimedRun } from "../store/store.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import type { Result } from "./executor.ts";

/** How a handler ends its attempt itself, by `snooze()` or `discard()`. */
export type EarlyEnd = { kind: "snoozed"; delay: number } | { kind: "discarded"; reason: string | null };

/** Thrown to leave the handler. The context keeps the `EarlyEnd` too, in case the handler catches this error. */
export class EndOfTry extends Error {
  readonly end: EarlyEnd;

  constructor(end: EarlyEnd) {
    super(`The handler ended its attempt: ${end.kind}.`);
    this.name = "EndOfTry";
    this.end = end;
  }
}

brand(EndOfTry, "EndOfTry");

export function snoozeEnd(delay: Duration): EarlyEnd {
  return { kind: "snoozed", delay: toMilliseconds(delay, "snooze()") };
}

/** Why a handler's signal aborted. */
export const abortReasons = {
  timeout: (ms: number): PunctualError =>
    new PunctualError("RUN_TIMED_OUT", `The run took longer than its timeout of ${ms / 1000} s.`),
  cancelled: (): PunctualError => new PunctualError("RUN_CANCELLED", "The run was cancelled."),
  shutdown: (): PunctualError =>
    new PunctualError("SHUTDOWN", "The worker is shutting down; the run will be tried again."),
  shutdownOfHook: (): PunctualError =>
    new PunctualError(
      "SHUTDOWN",
      "The worker is shutting down and stops waiting for this hook soon. The outcome of the run is not affected.",
    ),
  leaseLost: (): PunctualError =>
    new PunctualError(
      "LEASE_LOST",
      "The lease of the run was lost; another worker may be running it by now.",
    ),
};

/** Returns the result of a failed attempt: a retry, or the end. Attempts that were lost in a crash do not count. */
export function afterFailure(
  run: ClaimedRun,
  job: RetryPolicy,
  error: unknown,
  { random, isWorthRetrying = () => true }: { random(): number; isWorthRetrying?(): boolean },
): Result {
  const retries = policyOf(job, run.retries);
  const failures = run.attempts - run.crashes;
  if (failures >= retries.max || !isWorthRetrying()) return { outcome: "failed", error };
  return { outcome: "retried", error, delay: retryDelay(retries, failures, error, random) };
}
