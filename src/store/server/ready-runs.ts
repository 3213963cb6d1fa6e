import type { RunRow } from "../sql/claim.ts";
import { hasMore } from "../sql/claim-windows.ts";
import type { ClaimFacts } from "./claim-facts.ts";
import type { LimitedRuns } from "./limits.ts";
import type { ReadyWindow } from "./ready-windows.ts";

/** Ready runs that a claim has read. */
export interface ReadyRuns {
  /** Locked ad hoc runs of the claiming instance. */
  owned: RunRow[];
  /** Locked rows without the limit hint. */
  windows: ReadyWindow[];
  /** Null: there are none. */
  limited: LimitedRuns | null;
}

/** Runs that no limit holds. */
export function unlimitedOf({ owned, windows }: ReadyRuns): RunRow[] {
  return [...owned, ...windows.flatMap(({ rows }) => rows.filter(({ bound }) => bound === 0))];
}

/** Runs without the limit hint that a limit holds by now. */
export function straysOf({ windows }: ReadyRuns): RunRow[] {
  return windows.flatMap(({ rows }) => rows.filter(({ bound }) => bound === 1));
}

/** Queues that may have runs behind those that were read. A series of claims does not continue in fair queues. */
export function openQueues({ windows }: ReadyRuns): Set<string> {
  const unfairWindows = windows.filter(({ first }) => first === undefined);
  return new Set(unfairWindows.filter(hasMore).map(({ queue }) => queue));
}

export function withoutPaused({ owned, windows, limited }: ReadyRuns, facts: ClaimFacts): ReadyRuns {
  const unlimitedQueues = new Set(facts.unlimitedQueues);
  const limitedQueues = new Set(facts.limitedQueues);
  return {
    owned,
    windows: windows.filter(({ queue }) => unlimitedQueues.has(queue)),
    limited: limited && {
      ...limited,
      candidates: limited.candidates.filter(({ queue }) => limitedQueues.has(queue)),
    },
  };
}
