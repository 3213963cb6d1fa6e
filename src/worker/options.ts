import { formatValue, PunctualError } from "../errors.ts";
import type { QueueSelection } from "../store/queue-selection.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkInteger, type OptionNames } from "../validate/options.ts";

/** How long handlers may run after `stop()` before they are aborted, in seconds. */
export const DEFAULT_GRACE = 30;

/** The queues that a worker serves, and their weights. */
export interface QueueOptions {
  /** Serves only these queues. Default: all. */
  queues?: string[] | undefined;
  /** Serves all queues except these. */
  exceptQueues?: string[] | undefined;
  /**
   * How queues share the worker, such as `{ reports: 2 }`: while several queues have ready runs, two runs of
   * `reports` start for each run of a queue that is not named, whose weight is 1. From 1 to 1000. Default: no shares;
   * runs start by priority and due time, whatever their queue.
   */
  weights?: Record<string, number> | undefined;
}

export interface WeightedQueues extends QueueSelection {
  /** Null: the queues have no weights. */
  weights: Record<string, number> | null;
}

const QUEUES: OptionNames<QueueOptions> = { queues: true, exceptQueues: true, weights: true };

const MAX_WEIGHT = 1000;

export function toWeightedQueues({ queues, exceptQueues = [], weights = {} }: QueueOptions): WeightedQueues {
  if (queues !== undefined && (!Array.isArray(queues) || queues.length === 0)) {
    throw refusal("Expected queues as a list of at least one name; leave it out for all queues.");
  }
  if (!Array.isArray(exceptQueues)) {
    throw refusal(`Expected exceptQueues as a list of names, got ${formatValue(exceptQueues)}.`);
  }
  for (const name of [...(queues ?? []), ...exceptQueues]) checkName(name, "a queue name");
  for (const name of exceptQueues) {
    if (queues?.includes(name))
      throw refusal(
        `Expected the queue ${formatValue(name)} to be served or left out, got both. Name it once.`,
      );
  }
  checkWeights(weights, { queues: queues ?? null, exceptQueues });
  return {
    queues: queues ? [...new Set(queues)] : null,
    // With a list of queues, all others are left out anyway.
    exceptQueues: queues ? [] : [...new Set(exceptQueues)],
    weights: Object.keys(weights).length > 0 ? { ...weights } : null,
  };
}

function checkWeights(weights: Record<string, number>, { queues, exceptQueues }: QueueSelection): void {
  if (typeof weights !== "object" || weights === null || Array.isArray(weights)) {
    throw refusal(`Expected weights by queue, such as { reports: 2 }, got ${formatValue(weights)}.`);
  }
  for (const [name, weight] of Object.entries(weights)) {
    checkName(name, "a queue name");
    if (!Number.isInteger(weight) || weight < 1 || weight > MAX_WEIGHT) {
      throw refusal(
        `Expected the weight of the queue ${formatValue(name)} as a whole number from 1 to ${MAX_WEIGHT}, got ${formatValue(weight)}.`,
      );
    }
    if (exceptQueues.includes(name) || queues?.includes(name) === false) {
      throw refusal(
        `The queue ${formatValue(name)} has a weight, but this worker does not serve it. Serve it, or remove its weight.`,
      );
    }
  }
}

function refusal(message: string): PunctualError {
  return new PunctualError("INVALID_OPTION", message);
}

/**
 * Returns how far each run of a queue lies behind the one before it; null: the queues have no weights. Drawn at
 * random for each run (exponentially distributed), so that the shares are right without a memory of earlier claims,
 * even if each claim takes one run, and with any number of workers.
 */
export function strideOf(
  { weights }: WeightedQueues,
  random: () => number,
): ((queue: string) => number) | null {
  if (weights === null) return null;
  return (queue) => -Math.log(1 - random()) / (Object.hasOwn(weights, queue) ? weights[queue]! : 1);
}

/** Options of `run()`. */
export interface RunOptions extends QueueOptions {
  /** Most runs of this pass. Default: 32. */
  batch?: number | undefined;
  /** Most runs at once. Default: 10. */
  parallel?: number | undefined;
  /** Whether the worker ticks schedules. Default: true. */
  schedules?: boolean | undefined;
  /** How long handlers may run after stop() before they are aborted. Default: 30 s. */
  grace?: Duration | undefined;
}

/** Options of `forever()`. */
export interface ForeverOptions extends QueueOptions {
  /** Most runs at once in this process. Default: 10. */
  parallel?: number | undefined;
  /** Whether the worker ticks schedules. Default: true. */
  schedules?: boolean | undefined;
  /** Most runs of one claim. Default: as many as will start within a tenth of a second. */
  batch?: number | undefined;
  /** How long the worker sleeps when nothing wakes it. Default: 200 ms; 1.5 s while a server wakes it. */
  sleep?: Duration | undefined;
  /** How long handlers may run after stop() or a signal before they are aborted. Default: 30 s. */
  grace?: Duration | undefined;
  /** Whether SIGINT and SIGTERM stop the worker. Default: true. */
  signals?: boolean | undefined;
  /** Ends after this many runs. Default: never. */
  limit?: number | undefined;
  /** Ends when no run is due. Default: false. */
  untilEmpty?: boolean | undefined;
}

export interface WorkerOptions extends WeightedQueues {
  /** Most runs at once, in all processes together. */
  parallel: number;
  /** Whether the worker ticks schedules. */
  schedules: boolean;
  /** Most runs of one claim; null: as many as will start soon. */
  batch: number | null;
  sleep: number;
  /** The same for a worker without running runs whose store reports new runs. */
  idleSleep: number;
  /** Number of runs after which the worker ends; null: no limit. */
  budget: number | null;
  /** Whether the worker ends when no run is due. */
  untilEmpty: boolean;
  /** How long `stop()` waits for handlers before it aborts them. */
  grace: number;
}

export const RUN: OptionNames<RunOptions> = {
  batch: true,
  parallel: true,
  ...QUEUES,
  schedules: true,
  grace: true,
};

export const FOREVER: OptionNames<ForeverOptions> = {
  parallel: true,
  ...QUEUES,
  schedules: true,
  batch: true,
  sleep: true,
  grace: true,
  signals: true,
  limit: true,
  untilEmpty: true,
};

export function toOptions(options: RunOptions & ForeverOptions): WorkerOptions {
  const { batch, schedules = true } = options;
  if (typeof schedules !== "boolean") {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected schedules as true or false, got ${formatValue(schedules)}.`,
    );
  }
  return {
    parallel: checkInteger(options.parallel ?? 10, "parallel", 1, 10_000),
    ...toWeightedQueues(options),
    schedules,
    batch: batch === undefined ? null : checkInteger(batch, "batch", 1),
    sleep: Math.max(1, toMilliseconds(options.sleep ?? "200ms", "sleep")),
    idleSleep: Math.max(1, toMilliseconds(options.sleep ?? "1.5s", "sleep")),
    budget: options.limit === undefined ? null : checkInteger(options.limit, "limit", 1),
    untilEmpty: options.untilEmpty === true,
    grace: toMilliseconds(options.grace ?? DEFAULT_GRACE, "grace"),
  };
}
