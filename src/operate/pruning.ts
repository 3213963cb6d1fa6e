import { PunctualError, show } from "../errors.ts";
import { type FinishedState, finishedStates } from "../run/states.ts";
import { UNDEFINED_FOR } from "../status/report.ts";
import type { PruneReport, PruneRequest } from "../store/maintenance.ts";
import { DAY, type Duration, toMilliseconds } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkFunction, checkInteger, checkKeys } from "../validate/options.ts";

/** What `prune()` deletes beside runs whose retention is over. */
export interface PruneOptions {
  /**
   * Deletes only this job: its definition, its schedules and its waiting runs, once no worker has defined it for two
   * minutes. Its finished runs stay as long as they are kept. Allows no other choice beside it.
   */
  job?: string | undefined;
  /** Finished runs older than this go too, whatever their retention. */
  finished?: Duration | undefined;
  /**
   * Of each job the newest so many finished runs stay, older ones go, whatever their age and retention. With `finished`
   * only those older than that go; with `state` only those states are counted.
   */
  keep?: number | undefined;
  /** Only finished runs in these states. Default: all of them. */
  state?: FinishedState | FinishedState[] | undefined;
  /** Jobs that no worker has defined for this long. Default: 30 days. */
  jobs?: Duration | undefined;
  /** Runs that wait this long for a job nobody defines. Default: 30 days. */
  orphans?: Duration | undefined;
  /** How many finished runs are deleted at a time. Default: 1,000. */
  batch?: number | undefined;
  /** Called after each batch with what was deleted so far; if it returns false, that is all. */
  progress?: ((deleted: PruneReport) => unknown) | undefined;
}

/** Beyond this some database would have more parameters than it takes. */
const LARGEST_BATCH = 10_000;

/** A number is seconds: finished runs older than that. */
export function toPruneRequest(options: number | PruneOptions, what: string): PruneRequest {
  const chosen = typeof options === "number" ? { finished: options } : options;
  const choices = ["finished", "keep", "jobs", "orphans", "state"] as const;
  checkKeys(chosen, ["job", ...choices, "batch", "progress"], what);
  const { job = null } = chosen;
  if (job !== null) {
    checkName(job, "a job name");
    const other = choices.find((choice) => chosen[choice] !== undefined);
    if (other)
      throw new PunctualError(
        "INVALID_OPTION",
        `${what} with job deletes that job only. Leave ${other} out.`,
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
    jobsUnseenFor: job === null ? ms(chosen.jobs, 30 * DAY) : UNDEFINED_FOR,
    orphansOlderThan: job === null ? ms(chosen.orphans, 30 * DAY) : UNDEFINED_FOR,
    batch: checkInteger(chosen.batch ?? 1000, `${what} batch`, 1, LARGEST_BATCH),
    ...(progress && { onBatch: (deleted: PruneReport) => progress(deleted) !== false }),
  };
}

function checkFinished(state: FinishedState, what: string): FinishedState {
  if (finishedStates.includes(state)) return state;
  throw new PunctualError(
    "INVALID_OPTION",
    `${what} deletes finished runs: expected a state of these, ${finishedStates.join(", ")}, got ${show(state)}.`,
  );
}
