import { formatValue, PunctualError } from "../errors.ts";
import { type Histogram, percentile } from "../run/histogram.ts";
import type { Outcome } from "../run/states.ts";
import { type Grain, OUTCOMES, type RollupRequest, type RollupRow, type Scope } from "../store/rollups.ts";
import { MINUTE } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkKeys, type OptionNames } from "../validate/options.ts";

export type TrendSpan = "1h" | "6h" | "24h" | "7d";

/** Spans that `trend()` can look back, with the length of their points in minutes. */
const SPANS: Record<TrendSpan, { minutes: number; grain: Grain }> = {
  "1h": { minutes: 60, grain: 1 },
  "6h": { minutes: 360, grain: 10 },
  "24h": { minutes: 1440, grain: 10 },
  "7d": { minutes: 7 * 1440, grain: 60 },
};

/** Options of `trend()`: at most one of `job` and `queue`; without both, all runs are counted. */
export interface TrendOptions {
  job?: string | undefined;
  queue?: string | undefined;
  /** How far to look back. Default: 1h. */
  over?: TrendSpan | undefined;
}

/** Times in milliseconds that half, and 95 of 100 attempts, did not exceed. Within a tenth of the true value. */
export interface Percentiles {
  p50: number;
  p95: number;
}

/** Attempts that ended in one span of time. */
export interface TrendPoint {
  /** Start of the span. */
  at: Date;
  counts: Record<Outcome, number>;
  /** From when a run was due until it was claimed; null: no attempt ended. */
  waited: Percentiles | null;
  /** How long attempts took; null: none ended. */
  took: Percentiles | null;
}

/** Result of `trend()`. */
export interface Trend {
  /** Length of a point in milliseconds. */
  step: number;
  /** All points together; `at` is the start of the first one. */
  total: TrendPoint;
  /** From the oldest to the current one, which is not over yet. */
  points: TrendPoint[];
}

const NAMES: OptionNames<TrendOptions> = { job: true, queue: true, over: true };

export function toTrendRequest(options: TrendOptions, now: number): RollupRequest {
  checkKeys(options, NAMES, "trend()");
  const { job, queue, over = "1h" } = options;
  if (!Object.hasOwn(SPANS, over)) {
    const known = Object.keys(SPANS).join(", ");
    throw new PunctualError(
      "INVALID_OPTION",
      `trend() expected over to be one of ${known}, got ${formatValue(over)}.`,
    );
  }
  if (job !== undefined && queue !== undefined) {
    throw new PunctualError(
      "INVALID_OPTION",
      "trend() expected a job or a queue, got both. Leave one of them out.",
    );
  }
  const [scope, name]: [Scope, string] =
    job !== undefined
      ? ["job", checkName(job, "a job name")]
      : queue !== undefined
        ? ["queue", checkName(queue, "a queue name")]
        : ["all", ""];
  const { minutes, grain } = SPANS[over];
  const current = Math.floor(now / MINUTE / grain) * grain;
  return { grain, scope, name, from: current - minutes + grain, to: current + grain };
}

export function toTrend(rows: RollupRow[], { grain, from, to }: RollupRequest): Trend {
  const points: Counted[] = [];
  for (let minute = from; minute < to; minute += grain) points.push(new Counted(minute));
  const total = new Counted(from);
  for (const { minute, measure, bucket, count } of rows) {
    for (const counted of [points[(minute - from) / grain]!, total])
      counted[measure][bucket] = (counted[measure][bucket] ?? 0) + count;
  }
  return { step: grain * MINUTE, total: total.toPoint(), points: points.map((point) => point.toPoint()) };
}

/** The histograms of one point. */
class Counted {
  readonly minute: number;
  readonly outcome: Histogram = [];
  readonly waited: Histogram = [];
  readonly took: Histogram = [];

  constructor(minute: number) {
    this.minute = minute;
  }

  toPoint(): TrendPoint {
    const counts = Object.fromEntries(OUTCOMES.map((outcome, code) => [outcome, this.outcome[code] ?? 0]));
    return {
      at: new Date(this.minute * MINUTE),
      counts: counts as TrendPoint["counts"],
      waited: percentilesOf(this.waited),
      took: percentilesOf(this.took),
    };
  }
}

function percentilesOf(histogram: Histogram): Percentiles | null {
  const [p50, p95] = [percentile(histogram, 0.5), percentile(histogram, 0.95)];
  return p50 === null || p95 === null ? null : { p50, p95 };
}
