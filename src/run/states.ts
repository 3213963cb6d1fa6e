/** States of a run that is not finished. */
export type ActiveState = "scheduled" | "ready" | "running";

/** States of a finished run, which is stored in history. */
export type FinishedState = "completed" | "failed" | "cancelled" | "skipped";

export type RunState = ActiveState | FinishedState;

/** How an attempt ended. */
export type Outcome = "completed" | "retried" | "failed" | "skipped" | "cancelled" | "snoozed" | "released";

/** A change of a run's state that is not the outcome of an attempt. */
export type Move = "promoted" | "claimed" | "moved" | "withdrawn" | "reaped" | "revived";

/** States as stored in the database: small integers, because every index contains them. */
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
  /** New state of the run; `waiting` is scheduled or ready, depending on its new due time. */
  to: FinishedState | "waiting";
  /** Whether the attempt counts towards the maximum of the retry policy. */
  counts: boolean;
  /** Whether the error of the attempt is stored in the table `attempts`. */
  recorded: boolean;
}

/** Effect of each outcome on its run. For a new outcome add a row; the compiler reports the rest. */
export const outcomeRules: Record<Outcome, OutcomeRule> = {
  completed: { to: "completed", counts: true, recorded: false },
  retried: { to: "waiting", counts: true, recorded: true },
  failed: { to: "failed", counts: true, recorded: true },
  skipped: { to: "skipped", counts: true, recorded: false },
  cancelled: { to: "cancelled", counts: true, recorded: false },
  snoozed: { to: "waiting", counts: false, recorded: false },
  released: { to: "waiting", counts: false, recorded: false },
};

/** Every legal transition: state → move or outcome → possible new states. */
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

export const activeStates: ActiveState[] = ["scheduled", "ready", "running"];

export const finishedStates: FinishedState[] = ["completed", "failed", "cancelled", "skipped"];

export function isFinished(state: RunState): state is FinishedState {
  return stateCodes[state] >= stateCodes.completed;
}

/** Fingerprint of runs whose process died: they form one group of failures, whatever their jobs. */
export const CRASHED = "crashed";
