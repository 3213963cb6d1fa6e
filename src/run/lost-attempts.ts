import { PunctualError } from "../errors.ts";
import { failureText, toFailure } from "./failure.ts";

/** Returns the failure of an attempt that was lost with its process, as JSON. */
export function crashText(message: string): string {
  // Without the stack: it shows where the crash was noticed, not what caused it.
  return failureText({ ...toFailure(new PunctualError("RUN_CRASHED", message)), stack: null });
}

/** The failure of a started attempt that is not charged with the crash. */
export const unchargedLoss: string = crashText(
  "Its worker died, or lost its leases. Not charged: other runs that the worker executed one after the other were lost with it, and any of them may have ended the process.",
);

/** The failure of an attempt of which it is not known whether it had started. */
export const unmarkedLoss: string = crashText(
  "Its worker died, or lost its leases, before it wrote whether this run had started: the handler may have been called. Not charged.",
);
