import { PunctualError, show } from "../errors.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkInteger } from "../validate/options.ts";
import type { WorkerOptions } from "./parts.ts";
import { QUEUES, type QueueOptions, toServing } from "./serving.ts";

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
    ...toServing(options),
    schedules,
    batch: batch === undefined ? null : checkInteger(batch, "batch", 1),
    sleep: Math.max(1, toMilliseconds(options.sleep ?? "200ms", "sleep")),
    budget: options.limit === undefined ? null : checkInteger(options.limit, "limit", 1),
    untilEmpty: options.untilEmpty === true,
    grace: toMilliseconds(options.grace ?? 30, "grace"),
  };
}
