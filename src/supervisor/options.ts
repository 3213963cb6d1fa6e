import { formatValue, PunctualError } from "../errors.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkInteger, checkKeys, type OptionNames } from "../validate/options.ts";
import type { WorkerOptions } from "../worker/options.ts";
import { FOREVER, type ForeverOptions, toOptions } from "../worker/options.ts";

/** Options of `supervise()`. */
export interface SuperviseOptions extends ForeverOptions {
  /** Number of child processes. Default: 2. */
  workers?: number | undefined;
  /** Most runs at once in each child. Default: 10. */
  parallel?: number | undefined;
  /** Number of runs after which a child is replaced. Default: no limit. */
  maxJobs?: number | undefined;
  /** Memory above which a child is replaced: bytes, or text such as `"512MB"`. Default: no limit. */
  maxMemory?: number | string | undefined;
  /** A child that does not answer for this long (at least 2 seconds) is killed and replaced. Default: 5 minutes. */
  stall?: Duration | undefined;
}

export interface Supervision {
  workers: number;
  parallel: number;
  maxJobs: number;
  maxMemory: number;
  stall: number;
  /** Options of the worker whose executor the children are. */
  worker: WorkerOptions;
}

const OPTIONS: OptionNames<SuperviseOptions> = {
  ...FOREVER,
  workers: true,
  maxJobs: true,
  maxMemory: true,
  stall: true,
};

/** Children are pinged once a second: on a busy machine one ping may be late, but not two. */
const SHORTEST_STALL = 2000;

const UNITS: Record<string, number> = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

export function toSupervision(options: SuperviseOptions): Supervision {
  checkKeys(options, OPTIONS, "supervise()");
  const { workers: given, maxJobs, maxMemory, stall, ...rest } = options;
  const workers = checkInteger(given ?? 2, "workers", 1, 1000);
  const worker = toOptions(rest);
  return {
    workers,
    parallel: worker.parallel,
    maxJobs: maxJobs === undefined ? Number.POSITIVE_INFINITY : checkInteger(maxJobs, "maxJobs", 1),
    maxMemory: maxMemory === undefined ? Number.POSITIVE_INFINITY : toBytes(maxMemory),
    stall: toStall(stall ?? "5 minutes"),
    worker: { ...worker, parallel: workers * worker.parallel },
  };
}

function toStall(stall: Duration): number {
  const ms = toMilliseconds(stall, "stall");
  if (ms >= SHORTEST_STALL) return ms;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected stall as a duration of at least ${SHORTEST_STALL / 1000} s, got ${formatValue(stall)}: on a busy machine a healthy child may not answer for a second.`,
  );
}

function toBytes(memory: number | string): number {
  const match =
    typeof memory === "string" ? /^(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?$/i.exec(memory.trim()) : null;
  const bytes = match ? Number(match[1]) * UNITS[match[2]!.toUpperCase()]! : memory;
  if (typeof bytes === "number" && bytes >= 1 && Number.isFinite(bytes)) return bytes;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected maxMemory as bytes or text such as "512MB", got ${formatValue(memory)}.`,
  );
}
