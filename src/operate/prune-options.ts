import { formatValue, PunctualError } from "../errors.ts";
import { type FinishedState, finishedStates } from "../run/states.ts";
import { UNDEFINED_AFTER } from "../status/report.ts";
import type { PruneReport, PruneRequest } from "../store/maintenance.ts";
import { DAY, type Duration, toMilliseconds } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkFunction, checkInteger, checkKeys, type OptionNames } from "../validate/options.ts";

/** Options of `prune()`. It always deletes finished runs whose retention is over. */
export interface PruneOptions {
  /**
   * Deletes only this job, with its schedules and waiting runs, if no worker has defined it for two minutes. Its
   * finished runs stay as long as they are kept. Cannot be combined with the options that select other things.
   */
  job?: string | undefined;
  /** Also deletes runs that finished longer ago than this, before their retention is over. */
  finished?: Duration | undefined;
  /**
   * Keeps this many of the newest finished runs of each job and deletes older ones, before their retention is over.
   * With `finished`, deletes only runs that finished longer ago than that; with `state`, counts only runs in those
   * states.
   */
  keep?: number | undefined;
  /** Deletes only finished runs in these states. Default: all states. */
  state?: FinishedState | FinishedState[] | undefined;
  /** Deletes jobs that no worker has defined for this long. Default: 30 days. */
  jobs?: Duration | undefined;
  /** Deletes runs that have waited this long for a job that no worker defines. Default: 30 days. */
  orphans?: Duration | undefined;
  /** Number of finished runs deleted in one transaction. Default: 1,000. */
  batch?: number | undefined;
  /** Called after each batch with the numbers deleted so far; return false to stop. */
  progress?: ((deleted: PruneReport) => unknown) | undefined;
}

const OPTIONS: OptionNames<PruneOptions> = {
  job: true,
  finished: true,
  keep: true,
  jobs: true,
  orphans: true,
  state: true,
  batch: true,
  progress: true,
};

/** Larger batches would exceed the number of parameters that some databases allow. */
const LARGEST_BATCH = 10_000;

/**
 * Returns the request of `prune()` for the store. A number n means `{ finished: n }`, in seconds. `what` names the
 * caller in errors.
 */
export function toPruneRequest(options: number | PruneOptions, what: string): PruneRequest {
  const chosen = typeof options === "number" ? { finished: options } : options;
  const choices = ["finished", "keep", "jobs", "orphans", "state"] as const;
  checkKeys(chosen, OPTIONS, what);
  const { job = null } = chosen;
  if (job !== null) {
    checkName(job, "a job name");
    const other = choices.find((choice) => chosen[choice] !== undefined);
    if (other)
      throw new PunctualError(
        "INVALID_OPTION",
        `${what} with job deletes only that job. Leave ${other} out.`,
      );
  }
  const ms = (duration: Duration | undefined, otherwise: number | null) =>
    duration === undefined ? otherwise : toMilliseconds(duration, what);
  const { progress } = chosen;
  if (progress !== undefined) checkFunction(progress, `${what} progress`);
  return {
    job,
    finishedFor: ms(chosen.finished, null),
    keep:
      chosen.keep === undefined
        ? null
        : checkInteger(chosen.keep, `${what} keep`, 0, Number.MAX_SAFE_INTEGER),
    states:
      chosen.state === undefined ? null : [chosen.state].flat().map((state) => checkFinished(state, what)),
    jobsUnseenFor: job === null ? ms(chosen.jobs, 30 * DAY) : UNDEFINED_AFTER,
    orphansOlderThan: job === null ? ms(chosen.orphans, 30 * DAY) : UNDEFINED_AFTER,
    batch: checkInteger(chosen.batch ?? 1000, `${what} batch`, 1, LARGEST_BATCH),
    ...(progress && { onBatch: (deleted: PruneReport) => progress(deleted) !== false }),
  };
}

function checkFinished(state: FinishedState, what: string): FinishedState {
  if (finishedStates.includes(state)) return state;
  throw new PunctualError(
    "INVALID_OPTION",
    `${what} deletes finished runs: expected one of the states ${finishedStates.join(", ")}, got ${formatValue(state)}.`,
  );
}
