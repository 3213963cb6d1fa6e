import { brand, isA, PermanentError, PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import { type Failure, toFailure } from "../run/failure.ts";
import { lostResultLine } from "../run/log-data.ts";
import { encodeResult } from "../run/payload.ts";
import { policyOf, type RetryPolicy, retryDelay } from "../run/retries.ts";
import type { ClaimedRun } from "../store/store.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import type { Result } from "./executor.ts";
import type { ExecutionParts } from "./parts.ts";

/** How long a handler has to return after its signal aborted. */
export const ABORT_GRACE = 5000;

/** How a handler ends its attempt itself, by `snooze()`, `slowDown()` or `discard()`. */
export type EarlyEnd =
  | { kind: "snoozed"; delay: number }
  | { kind: "slowed down"; delay: number }
  | { kind: "discarded"; reason: string | null };

/** The methods by which a handler ends its attempt. */
const METHODS: Record<EarlyEnd["kind"], string> = {
  snoozed: "snooze",
  "slowed down": "slowDown",
  discarded: "discard",
};

/** Thrown to leave the handler. The context keeps the `EarlyEnd` too, in case the handler catches this error. */
export class EndOfAttempt extends Error {
  readonly end: EarlyEnd;

  constructor(end: EarlyEnd) {
    super(`The handler ended its attempt: ${end.kind}.`);
    this.name = "EndOfAttempt";
    this.end = end;
  }
}

brand(EndOfAttempt, "EndOfAttempt");

export function snoozeEnd(delay: Duration): EarlyEnd {
  return { kind: "snoozed", delay: toMilliseconds(delay, "snooze()") };
}

/** Throws INVALID_OPTION if no rate counted the start of the run: there is none to close. */
export function slowDownEnd({ id, name, rated }: ClaimedRun, delay: Duration): EarlyEnd {
  const ms = toMilliseconds(delay, "slowDown()");
  if (rated) return { kind: "slowed down", delay: ms };
  throw new PunctualError(
    "INVALID_OPTION",
    `run.slowDown() closes the rate that a run is under, and run ${id} of "${name}" is under none: give its job or its queue a rate, or call run.snooze().`,
  );
}

/** Returns the result of an attempt that its handler has ended itself. */
export function endedEarly(end: EarlyEnd): Result {
  switch (end.kind) {
    case "snoozed":
      return { outcome: "snoozed", delay: end.delay };
    case "slowed down":
      return { outcome: "snoozed", delay: 0, slowDown: end.delay };
    case "discarded":
      return { outcome: "cancelled", reason: end.reason };
  }
}

/** Why a handler's signal aborted. */
export const abortReasons = {
  timeout: (ms: number): PunctualError =>
    new PunctualError("RUN_TIMED_OUT", `The run took longer than its timeout of ${ms / 1000} s.`),
  cancelled: (): PunctualError => new PunctualError("RUN_CANCELLED", "The run was cancelled."),
  shutdown: (): PunctualError =>
    new PunctualError("SHUTDOWN", "The worker is shutting down; the run will be executed again."),
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

/** Returns the error of a second `run.transaction()` of one attempt, while the first is open or after its commit. */
export function repeatedTransaction({ id, name }: ClaimedRun, isCommitted: boolean): PunctualError {
  const first = isCommitted ? "has been committed and has completed the run" : "is still open";
  return new PunctualError(
    "TRANSACTION_REPEATED",
    `run.transaction() was called again in run ${id} of "${name}", whose transaction ${first}. Nothing of this call was written. Write everything in one call: its commit completes the run.`,
  );
}

/** Returns the error of `snooze()` and the like after the handler's transaction has completed the run. */
export function completedAlready({ id, name }: ClaimedRun, { kind }: EarlyEnd): PunctualError {
  return new PunctualError(
    "RUN_FINISHED",
    `run.${METHODS[kind]}() was called in run ${id} of "${name}", which run.transaction() has completed. Call it before the transaction, or in it, which rolls the transaction back.`,
  );
}

/** Returns the failure of an attempt that was interrupted. Without the stack, which is not that of the handler. */
export function interruption(reason: PunctualError): Failure {
  return { ...toFailure(reason), stack: null };
}

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

/** Returns the result of a completed attempt. Reports a value that cannot be kept, and says so in the run's log. */
export function completion(
  run: ClaimedRun,
  value: unknown,
  { events, log, maxResult }: Pick<ExecutionParts, "events" | "log" | "maxResult">,
): Result {
  if (value === undefined) return COMPLETED;
  const { json, dropped } = encodeResult(value, maxResult);
  if (dropped) {
    const error = new PunctualError(dropped.code, `its result was not kept: ${dropped.message}`);
    events.report(error, `run ${run.id} of "${run.name}" completed, but`);
    log(run, lostResultLine(dropped.message), undefined);
  }
  return { outcome: "completed", result: json, value, written: false };
}
