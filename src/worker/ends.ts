import { brand, PunctualError } from "../errors.ts";
import { type Duration, toMilliseconds } from "../time.ts";

/** How a handler ends its try by itself; thrown, and remembered in case the handler catches it. */
export type Ending = { kind: "snoozed"; delay: number } | { kind: "discarded"; reason: string | null };

export class EndOfTry extends Error {
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(`The handler ended its try: ${ending.kind}.`);
    this.name = "EndOfTry";
    this.ending = ending;
  }
}

brand(EndOfTry, "EndOfTry");

export function snoozeEnding(delay: Duration): Ending {
  return { kind: "snoozed", delay: toMilliseconds(delay, "snooze()") };
}

/** Why a handler's signal aborted. */
export const abortReasons = {
  timeout: (ms: number): PunctualError =>
    new PunctualError("RUN_TIMED_OUT", `The run took longer than its timeout of ${ms / 1000} s.`),
  cancelled: (): PunctualError => new PunctualError("RUN_CANCELLED", "The run was cancelled."),
  shutdown: (): PunctualError =>
    new PunctualError("SHUTDOWN", "The worker is shutting down; the run will be tried again."),
  leaseLost: (): PunctualError =>
    new PunctualError(
      "LEASE_LOST",
      "The lease of the run was lost; another worker may be running it by now.",
    ),
};
