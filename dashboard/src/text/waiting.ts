import type { Count } from "../../../src/dashboard/api/contract.ts";

interface WaitingCounts {
  ready: Count;
  scheduled: Count;
  due: Count;
}

/** Returns the number of runs that are due and not begun, whether or not a worker has made them ready. */
export function waitingOf({ ready, due }: Pick<WaitingCounts, "ready" | "due">): Count {
  return { value: ready.value + due.value, capped: ready.capped || due.capped };
}

/** Returns the term that finds the runs of `waitingOf()`. */
export function waitingTerm({ due }: Pick<WaitingCounts, "due">): string {
  return due.value > 0 ? "is:due" : "state:ready";
}

/** Returns the number of runs that are due later. */
export function laterOf({ scheduled, due }: Pick<WaitingCounts, "scheduled" | "due">): Count {
  return { value: scheduled.value - due.value, capped: scheduled.capped };
}

/** Returns the term that finds the runs of `laterOf()`. */
export function laterTerm({ due }: Pick<WaitingCounts, "due">): string {
  return due.value > 0 ? "state:scheduled -is:due" : "state:scheduled";
}
