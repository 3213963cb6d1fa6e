import type { PunctualError } from "../errors.ts";
import { type Failure, toFailure } from "../run/failure.ts";
import { decodePayload } from "../run/payload.ts";
import type { ClaimedRun } from "../store/store.ts";
import { afterFailure } from "../worker/attempt-ends.ts";
import type { Result, Runnable } from "../worker/executor.ts";
import type { SentResult } from "./messages.ts";

/** A job that a child does not define is tried again after this long: by another, or by one that has loaded it since. */
const UNKNOWN_FOR = 1000;

export function toSent(result: Result): SentResult {
  switch (result.outcome) {
    case "completed":
      return { outcome: "completed", result: result.result, written: result.written };
    case "retried":
      return { outcome: "retried", failure: toFailure(result.error), delay: result.delay };
    case "failed":
    case "crashed":
      return { outcome: "failed", failure: toFailure(result.error) };
    default:
      return result;
  }
}

export function fromSent(sent: SentResult): Result {
  switch (sent.outcome) {
    case "completed":
      return {
        ...sent,
        // Read only if somebody listens.
        get value() {
          return decodePayload(sent.result);
        },
      };
    case "retried":
    case "failed":
      return { ...sent, error: sent.failure };
    case "unknown":
      return { outcome: "snoozed", delay: UNKNOWN_FOR };
    default:
      return sent;
  }
}

/** What a try comes to whose child had to be killed because it did not answer its abort. */
export function afterKill(
  run: ClaimedRun,
  { settings }: Runnable,
  reason: PunctualError,
  random: () => number,
): Result {
  if (reason.code === "RUN_TIMED_OUT") return afterFailure(run, settings.retries, reason, random);
  if (reason.code === "RUN_CANCELLED") return { outcome: "cancelled", reason: null };
  return reason.code === "LEASE_LOST" ? { outcome: null } : { outcome: "released" };
}

export function toError(failure: Failure): Error {
  const error = new Error(failure.message);
  error.name = failure.name;
  if (failure.stack !== null) error.stack = failure.stack;
  return Object.assign(error, failure.code === null ? {} : { code: failure.code });
}
