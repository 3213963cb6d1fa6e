import { PunctualError, show } from "../errors.ts";
import type { Served } from "../store/queue-selection.ts";
import { checkName } from "../validate/names.ts";

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

export interface Serving extends Served {
  /** Null: no shares. */
  weights: Record<string, number> | null;
}

export const QUEUES: string[] = ["queues", "exceptQueues", "weights"];

const MOST = 1000;

export function toServing({ queues, exceptQueues = [], weights = {} }: QueueOptions): Serving {
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

function checkWeights(weights: Record<string, number>, { queues, exceptQueues }: Served): void {
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
export function strideOf({ weights }: Serving, random: () => number): ((queue: string) => number) | null {
  if (weights === null) return null;
  return (queue) => -Math.log(1 - random()) / (Object.hasOwn(weights, queue) ? weights[queue]! : 1);
}
