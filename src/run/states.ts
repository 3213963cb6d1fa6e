/** States of a run that is not finished. */
export type ActiveState = "scheduled" | "ready" | "running";

/** States of a run that is finished and lives in history. */
export type FinishedState = "completed" | "failed" | "cancelled" | "skipped";

export type RunState = ActiveState | FinishedState;

/** What one attempt came to. */
export type Outcome = "completed" | "retried" | "failed" | "skipped" | "cancelled" | "snoozed" | "released";

/** What happens to a run from outside an attempt. */
export type Move = "promoted" | "claimed" | "moved" | "withdrawn" | "reaped" | "revived";

/** How states are kept in the database: small integers, because every index holds them. */
export const stateCodes: Record<RunState, number> = {
  scheduled: 0,
  ready: 1,
  running: 2,
  completed: 3,
  failed: 4,
  cancelled: 5,
  skipped: 6,
};

const stateNames = Object.keys(stateCodes) as RunState[];

export function stateName(code: number): RunState {
  return stateNames[code]!;
}

interface OutcomeRule {
  /** Where the run goes; `waiting` is scheduled or ready, by its new due time. */
  to: FinishedState | "waiting";
  /** Whether the try counts: one that did not get to work is given back. */
  counts: boolean;
  /** Whether the error of the try is kept in `attempts`. */
  recorded: boolean;
}

/** What each outcome does to its run. A new outcome is one row here; the compiler lists the rest. */
export const outcomeRules: Record<Outcome, OutcomeRule> = {
  completed: { to: "completed", counts: true, recorded: false },
  retried: { to: "waiting", counts: true, recorded: true },
  failed: { to: "failed", counts: true, recorded: true },
  skipped: { to: "skipped", counts: true, recorded: false },
  cancelled: { to: "cancelled", counts: true, recorded: false },
  snoozed: { to: "waiting", counts: false, recorded: false },
  released: { to: "waiting", counts: false, recorded: false },
};

/** Every legal move between states: from → what happens → to. */
export const transitions: Record<RunState, Partial<Record<Move | Outcome, RunState[]>>> = {
  scheduled: { promoted: ["ready"], moved: ["scheduled", "ready"], withdrawn: ["cancelled"] },
  ready: { claimed: ["running"], moved: ["scheduled", "ready"], withdrawn: ["cancelled"] },
  running: {
    completed: ["completed"],
    retried: ["scheduled", "ready"],
    failed: ["failed"],
    skipped: ["skipped"],
    cancelled: ["cancelled"],
    snoozed: ["scheduled", "ready"],
    released: ["ready"],
    reaped: ["ready", "failed", "cancelled"],
  },
  completed: { revived: ["scheduled", "ready"] },
  failed: { revived: ["scheduled", "ready"] },
  cancelled: { revived: ["scheduled", "ready"] },
  skipped: { revived: ["scheduled", "ready"] },
};

export const finishedStates: FinishedState[] = ["completed", "failed", "cancelled", "skipped"];

export function isFinished(state: RunState): state is FinishedState {
  return stateCodes[state] >= stateCodes.completed;
}
