import type { Events } from "../events/events.ts";
import { type Failure, failureText, fingerprint, toFailure } from "../run/failure.ts";
import type { Retention } from "../run/retention.ts";
import type { FinishedState, Outcome } from "../run/states.ts";
import type { ClaimedRun, Settlement } from "../store/store.ts";
import type { SettleableResult } from "./executor.ts";

/** An outcome that is not written yet. */
export interface OutboxEntry {
  run: ClaimedRun;
  settlement: Settlement;
  result: SettleableResult;
  failure: Failure | null;
  /** Whether result and error text were removed, because the database rejected them. */
  isBare?: boolean;
}

export function toOutboxEntry(
  run: ClaimedRun,
  result: SettleableResult,
  duration: number,
  keep: Retention,
): OutboxEntry {
  const settlement: Settlement = {
    id: run.id,
    token: run.token,
    child: run.child ?? null,
    outcome: result.outcome,
    duration: Math.max(0, Math.round(duration)),
    delay: 0,
    error: null,
    fingerprint: null,
    result: null,
    // An attempt that does not end its run: the store ends the run as cancelled if that was requested meanwhile.
    keep: keep[result.outcome in keep ? (result.outcome as FinishedState) : "cancelled"],
    logged: run.logged,
    batchId: run.batchId,
  };
  let failure: Failure | null = null;
  switch (result.outcome) {
    case "completed":
      settlement.result = result.result;
      break;
    case "retried":
    case "failed":
      failure = result.failure ?? toFailure(result.error);
      settlement.error = failureText(failure);
      settlement.fingerprint = fingerprint(failure);
      if (result.outcome === "retried") settlement.delay = result.delay;
      break;
    case "skipped":
    case "cancelled":
      settlement.error = result.reason === null ? null : failureText(toFailure(result.reason));
      break;
    case "snoozed":
      settlement.delay = result.delay;
      if (result.slowDown !== undefined) settlement.slowDown = result.slowDown;
      break;
    case "released":
      if (result.lane !== undefined) settlement.lane = result.lane;
      if (result.cost !== undefined) settlement.cost = result.cost;
      if (result.interrupted) {
        settlement.executed = true;
        settlement.error = failureText(result.interrupted);
      }
      break;
    default:
      result satisfies never;
  }
  return { run, settlement, result, failure };
}

/** Returns the outcome of a run that was to wait again, and ended because it was cancelled meanwhile. */
export function toCancelled({ run, settlement }: OutboxEntry): OutboxEntry {
  const { lane: _, cost: __, ...rest } = settlement;
  return {
    run,
    settlement: { ...rest, outcome: "cancelled", error: null, fingerprint: null },
    result: { outcome: "cancelled", reason: null },
    failure: null,
  };
}

/** Returns the event of an attempt that starts. */
export function startedEvent(run: ClaimedRun): Events["run.started"] {
  const { id, name, queue, attempts: attempt } = run;
  return { id, name, queue, attempt, waited: Math.max(0, run.claimedAt - run.runAt) };
}

/** The events of settled attempts. */
export const SETTLED_EVENTS: { readonly [Name in Outcome]: `run.${Name}` } = {
  completed: "run.completed",
  retried: "run.retried",
  failed: "run.failed",
  skipped: "run.skipped",
  cancelled: "run.cancelled",
  snoozed: "run.snoozed",
  released: "run.released",
};

/** Returns the event of a settled attempt. */
export function settledEvent({ run, settlement, result, failure }: OutboxEntry): {
  [Name in Outcome]: [`run.${Name}`, Events[`run.${Name}`]];
}[Outcome] {
  const of = {
    id: run.id,
    name: run.name,
    queue: run.queue,
    attempt: run.attempts,
    duration: settlement.duration,
  };
  switch (result.outcome) {
    case "completed":
      return ["run.completed", { ...of, result: result.value }];
    case "retried":
      return ["run.retried", { ...of, error: failure!, delay: result.delay }];
    case "failed":
      return ["run.failed", { ...of, error: failure! }];
    case "skipped":
      return ["run.skipped", { ...of, reason: result.reason }];
    case "cancelled":
      return ["run.cancelled", { ...of, reason: result.reason }];
    case "snoozed":
      return [
        "run.snoozed",
        result.slowDown === undefined
          ? { ...of, delay: result.delay }
          : { ...of, delay: result.slowDown, slowedDown: true },
      ];
    case "released":
      return ["run.released", of];
  }
}
