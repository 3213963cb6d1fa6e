import { PunctualError, show } from "../errors.ts";
import type { QueueSelection } from "../store/queue-selection.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkInteger } from "../validate/options.ts";

/** Which queues a worker serves, and how they share it. */
export interface QueueOptions {
  /** Only these queues. Default: all. */
  queues?: string[];
  /** All queues but these. */
  exceptQueues?: string[];
  /**
   * How queues share the worker, such as `{ reports: 2 }`: while several have ready runs, so many of one start for each
   * of another. From 1 to 1000; queues that are not named weigh 1. Default: no shares, the order is that of the runs.
   */
  weights?: Record<string, number>;
}

export interface WeightedQueues extends QueueSelection {
  /** Null: no shares. */
  weights: Record<string, number> | null;
}

export const QUEUES: string[] = ["queues", "exceptQueues", "weights"];

const MOST = 1000;

export function toWeightedQueues({ queues, exceptQueues = [], weights = {} }: QueueOptions): WeightedQueues {
  if (queues !== undefined && (!Array.isArray(queues) || queues.length === 0)) {
    throw refusal("Expected queues as a list of at least one name; leave it out for all queues.");
  }
  if (!Array.isArray(exceptQueues)) {
    throw refusal(`Expected exceptQueues as a list of names, got ${show(exceptQueues)}.`);
  }
  for (const name of [...(queues ?? []), ...exceptQueues]) checkName(name, "a queue name");
  for (const name of exceptQueues) {
    if (queues?.includes(name))
      throw refusal(`Expected the queue ${show(name)} to be served or left out, got both. Name it once.`);
  }
  checkWeights(weights, { queues: queues ?? null, exceptQueues });
  return {
    queues: queues ? [...new Set(queues)] : null,
    // Where queues are named, no other is served anyway.
    exceptQueues: queues ? [] : [...new Set(exceptQueues)],
    weights: Object.keys(weights).length > 0 ? { ...weights } : null,
  };
}

function checkWeights(weights: Record<string, number>, { queues, exceptQueues }: QueueSelection): void {
  if (typeof weights !== "object" || weights === null || Array.isArray(weights)) {
    throw refusal(`Expected weights by queue, such as { reports: 2 }, got ${show(weights)}.`);
  }
  for (const [name, weight] of Object.entries(weights)) {
    checkName(name, "a queue name");
    if (!Number.isInteger(weight) || weight < 1 || weight > MOST) {
      throw refusal(
        `Expected the weight of the queue ${show(name)} as a whole number from 1 to ${MOST}, got ${show(weight)}.`,
      );
    }
    if (exceptQueues.includes(name) || queues?.includes(name) === false) {
      throw refusal(`The queue ${show(name)} has a weight, and is not among those that are served.`);
    }
  }
}

function refusal(message: string): PunctualError {
  return new PunctualError("INVALID_OPTION", message);
}

/**
 * How far a queue's next run stands behind the one before it. Drawn anew for each run, so that shares come out right
 * without anybody remembering what went before: also where each claim takes one run, and among any number of workers.
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
  /** The most runs of this pass. Default: 32. */
  batch?: number;
  /** Runs at once. Default: 10. */
  parallel?: number;
  /** Whether it ticks schedules. Default: true. */
  schedules?: boolean;
}

/** Options of `forever()`. */
export interface ForeverOptions extends QueueOptions {
  /** Runs at once in this process. Default: 10. */
  parallel?: number;
  /** Whether it ticks schedules. Default: true. */
  schedules?: boolean;
  /** The most that is claimed at once. Default: what will start within a tenth of a second. */
  batch?: number;
  /** How long to sleep when nothing wakes it. Default: 200 ms. */
  sleep?: Duration;
  /** How long handlers may finish after stop() or a signal, before their signals abort. Default: 30 s. */
  grace?: Duration;
  /** Whether SIGINT and SIGTERM stop it. Default: true. */
  signals?: boolean;
  /** Ends after so many runs. Default: never. */
  limit?: number;
  /** Ends when nothing is due any more. Default: false. */
  untilEmpty?: boolean;
}

export interface WorkerOptions extends WeightedQueues {
  /** Runs at once, in all places together. */
  parallel: number;
  /** Whether it ticks. */
  schedules: boolean;
  /** The most that is claimed at once; null: as many as will start soon. */
  batch: number | null;
  sleep: number;
  /** Ends after so many runs; null: never for their number. */
  budget: number | null;
  /** Ends when nothing is due. */
  untilEmpty: boolean;
  /** How long stop() waits for handlers before it aborts them. */
  grace: number;
}

export const RUN: string[] = ["batch", "parallel", ...QUEUES, "schedules"];

export const FOREVER: string[] = [
  "parallel",
  ...QUEUES,
  "schedules",
  "batch",
  "sleep",
  "grace",
  "signals",
  "limit",
  "untilEmpty",
];

export function toOptions(options: RunOptions & ForeverOptions): WorkerOptions {
  const { batch, schedules = true } = options;
  if (typeof schedules !== "boolean") {
    throw new PunctualError("INVALID_OPTION", `Expected schedules as true or false, got ${show(schedules)}.`);
  }
  return {
    parallel: checkInteger(options.parallel ?? 10, "parallel", 1, 10_000),
    ...toWeightedQueues(options),
    schedules,
    batch: batch === undefined ? null : checkInteger(batch, "batch", 1),
    sleep: Math.max(1, toMilliseconds(options.sleep ?? "200ms", "sleep")),
    budget: options.limit === undefined ? null : checkInteger(options.limit, "limit", 1),
    untilEmpty: options.untilEmpty === true,
    grace: toMilliseconds(options.grace ?? 30, "grace"),
  };
}
