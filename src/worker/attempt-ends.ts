import { brand, isA, PermanentError, PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import { encodeResult } from "../run/payload.ts";
import { policyOf, type RetryPolicy, retryDelay } from "../run/retries.ts";
import type { ClaimedRun } from "../store/store.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import type { Result } from "./executor.ts";

/** How long a handler has to return after its signal aborted. */
export const ABORT_GRACE = 5000;

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

/** Returns the error of an ad hoc run whose function belongs to another process. */
export function handlerGone(): PunctualError {
  return new PunctualError("HANDLER_GONE", "The function of this run was dispatched by another process.");
}

/** Returns the number of attempts that count towards the maximum of the retry policy, this one included. */
export function countedAttempts({ attempts, crashes, uncounted }: ClaimedRun): number {
  return attempts - crashes - uncounted;
}

/** Returns the result of a failed attempt: a retry, or the end. Attempts that were lost in a crash do not count. */
export function afterFailure(
  run: ClaimedRun,
  job: RetryPolicy,
  error: unknown,
  { random, isWorthRetrying = () => true }: { random(): number; isWorthRetrying?(): boolean },
): Result {
  const retries = policyOf(job, run.retries);
  const failures = countedAttempts(run);
  if (failures >= retries.max || !isWorthRetrying()) return { outcome: "failed", error };
  return { outcome: "retried", error, delay: retryDelay(retries, failures, error, random) };
}

/** Whether to try again after this error. If `retries({ when })` throws, reports its error and returns true. */
export function isWorthRetrying(
  { name }: ClaimedRun,
  { when }: RetryPolicy,
  error: unknown,
  events: Pick<Emitter, "report">,
): boolean {
  if (isA(error, PermanentError)) return false;
  if (isA(error, PunctualError) && (error.code === "INVALID_ARGS" || error.code === "INVALID_PAYLOAD"))
    return false;
  try {
    const answer: unknown = when?.(error) ?? true;
    // An async function is a mistake here. Its rejection must not end the process.
    if (answer instanceof Promise) answer.catch(() => {});
    return Boolean(answer);
  } catch (fault) {
    events.report(fault, `retries({ when }) of "${name}"`);
    return true;
  }
}

/** The result of an attempt that completed without a value. Most attempts do, and share this object. */
const COMPLETED: Result = Object.freeze({
  outcome: "completed",
  result: null,
  value: undefined,
  written: false,
});

/** The result of an attempt whose own transaction has completed the run. */
export const WRITTEN: Result = Object.freeze({
  outcome: "completed",
  result: null,
  value: undefined,
  written: true,
});

/** Returns the result of a completed attempt. Reports a value that cannot be kept. */
export function completion(
  { id, name }: ClaimedRun,
  value: unknown,
  events: Pick<Emitter, "report">,
): Result {
  if (value === undefined) return COMPLETED;
  const { json, dropped } = encodeResult(value);
  if (dropped) {
    const error = new PunctualError("INVALID_PAYLOAD", `its result was not kept: ${dropped}`);
    events.report(error, `run ${id} of "${name}" completed, but`);
  }
  return { outcome: "completed", result: json, value, written: false };
}
