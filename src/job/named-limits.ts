import { formatValue, isThenable, PunctualError } from "../errors.ts";
import { isKeyed } from "../run/lanes.ts";
import { checkName } from "../validate/names.ts";
import { checkFunction, checkKeys } from "../validate/options.ts";
import { computedLane } from "./key.ts";
import type { QueueLimit } from "./queue-orders.ts";
import { checkRate, type RateOptions } from "./rates.ts";
import { checkConcurrency, type Settings } from "./settings.ts";

/** Options of `limit()`: what the jobs under it share. */
export interface LimitOptions {
  /** Most runs at once of all jobs under it together; 0: no limit. */
  concurrency?: number | undefined;
  /**
   * How many runs of all jobs under it may start within a time; null: no limit. If its jobs say what a run costs,
   * `limit` is the sum of the costs.
   */
  rate?: RateOptions | null | undefined;
}

/** Options of `under()`. */
export interface UnderOptions<Args> {
  /** Returns what the start of a run costs, for its arguments: a whole number of at least 1. Default: 1. */
  cost?: ((args: Args) => number) | undefined;
}

/** Checks the options of `limit()`. Null takes the limit away. */
export function checkNamedLimit(options: LimitOptions | null): QueueLimit {
  if (options === null) return { limit: 0, rate: null };
  checkKeys(options, { concurrency: true, rate: true }, "limit()");
  const { concurrency, rate } = options;
  if (concurrency === undefined && rate === undefined) {
    throw refusal(
      "limit() expected concurrency, rate or both, got neither. To take a limit away, give null instead of options.",
    );
  }
  return {
    limit: concurrency === undefined ? 0 : checkConcurrency(concurrency),
    rate: rate ? checkRate(rate, "rate of limit()") : null,
  };
}

/** Checks the arguments of `under()` and returns the settings that they change. */
export function toUnder<Args>(
  limit: string | null,
  options: UnderOptions<Args>,
  { rates }: Settings,
): Pick<Settings, "rates" | "costOf"> {
  checkKeys(options, { cost: true }, "under()");
  const { cost } = options;
  if (limit === null && cost !== undefined) {
    throw refusal("cost of under() belongs to a limit, got null as the limit.");
  }
  const { job = null, key = null } = rates ?? {};
  if (limit === null) return { rates: job || key ? { job, key } : null, costOf: null };
  const name = checkName(limit, "the name of a limit");
  return {
    rates: { job, key, under: { limit: name, hasCost: cost !== undefined } },
    costOf: cost === undefined ? null : (checkFunction(cost, "cost of under()") as Settings["costOf"]),
  };
}

/**
 * Returns what the start of a run with these arguments costs; null: the job has no function for it. `limits`: the
 * limits that this process has defined.
 */
export function costFor(
  job: string,
  { costOf, rates }: Settings,
  args: unknown,
  limits: ReadonlyMap<string, QueueLimit>,
): number | null {
  if (!costOf) return null;
  const cost = computedCost(job, costOf, args);
  const name = rates?.under?.limit ?? "";
  const most = limits.get(name)?.rate?.limit;
  if (most === undefined || cost <= most) return cost;
  throw refusal(
    `A run of job "${job}" costs ${cost}, and the limit "${name}" admits ${most} in its time: the run could not start as it is. Raise the rate of limit("${name}"), or divide the work into several runs.`,
  );
}

/**
 * Returns the lane and the cost of a run that was claimed for them, in the process that would execute it. A key that
 * the run has stays. No cost is refused as too high: the limit may have been lowered since the dispatch.
 */
export function computeMissing(
  { name, lane: known }: { name: string; lane: string },
  settings: Settings,
  args: unknown,
): { lane: string; cost?: number } {
  const lane = isKeyed(known, name) ? known : computedLane(name, settings, args);
  return settings.costOf ? { lane, cost: computedCost(name, settings.costOf, args) } : { lane };
}

function computedCost(job: string, costOf: NonNullable<Settings["costOf"]>, args: unknown): number {
  let cost: unknown;
  try {
    cost = costOf((args ?? {}) as never);
  } catch (cause) {
    const thrown = cause instanceof Error ? String(cause) : formatValue(cause);
    const message = `The cost of a run of job "${job}" could not be computed: cost of under() threw ${thrown}. Expected a whole number of at least 1.`;
    throw new PunctualError("INVALID_OPTION", message, { cause });
  }
  if (typeof cost === "number" && Number.isInteger(cost) && cost >= 1 && cost < 2 ** 31) return cost;
  // An async function is a mistake here. Its rejection must not end the process.
  if (isThenable(cost)) Promise.resolve(cost).catch(() => {});
  throw refusal(
    `Expected cost of under() to return the cost of a run of job "${job}" as a whole number of at least 1, got ${formatValue(cost)}.`,
  );
}

function refusal(message: string): PunctualError {
  return new PunctualError("INVALID_OPTION", message);
}
