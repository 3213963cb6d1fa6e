import { formatValue, PunctualError } from "../errors.ts";
import { type Histogram, percentile } from "../run/histogram.ts";
import type { Outcome } from "../run/states.ts";
import {
  GRAINS,
  type Grain,
  type NamedRollupRow,
  OUTCOMES,
  type RollupRequest,
  type RollupRow,
  type RollupSurvey,
  type Scope,
} from "../store/rollups.ts";
import { MINUTE } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkInteger, checkKeys, type OptionNames } from "../validate/options.ts";

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

/** Options of `trends()`. */
export interface TrendsOptions {
  by: "job" | "queue";
  /** How far to look back. Default: 1h. */
  over?: TrendSpan | undefined;
  /** Number of points, a divisor of the minutes looked back. Default: 1. */
  points?: number | undefined;
}

/** Most rows that `trends()` reads: about those of a thousand jobs. */
const MOST_ROWS = 100_000;

/** Returns the request of `trends()`. */
export function toSurvey(options: TrendsOptions, now: number): RollupSurvey {
  checkKeys(options, { by: true, over: true, points: true }, "trends()");
  const { by, over = "1h", points = 1 } = options;
  if (by !== "job" && by !== "queue") {
    throw new PunctualError(
      "INVALID_OPTION",
      `trends() expected by as "job" or "queue", got ${formatValue(by)}.`,
    );
  }
  const { minutes } = spanOf(over, "trends()");
  const step = minutes / checkInteger(points, "trends() points", 1, minutes);
  if (!Number.isInteger(step)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `trends() expected points as a divisor of ${minutes}, the minutes of ${over}, got ${points}.`,
    );
  }
  const grain = [...GRAINS].reverse().find((one) => step % one === 0)!;
  const current = Math.floor(now / MINUTE / grain) * grain;
  return { grain, scope: by, from: current - minutes + grain, to: current + grain, step, limit: MOST_ROWS };
}

/** Returns the trends by name. A job or a queue without attempts is left out. */
export function toTrends(rows: NamedRollupRow[], { from, to, step }: RollupSurvey): Map<string, Trend> {
  const byName = new Map<string, RollupRow[]>();
  for (const row of rows) {
    const known = byName.get(row.name);
    if (known) known.push(row);
    else byName.set(row.name, [row]);
  }
  return new Map([...byName].map(([name, own]) => [name, sumUp(own, { from, to, step })]));
}

const NAMES: OptionNames<TrendOptions> = { job: true, queue: true, over: true };

export function toTrendRequest(options: TrendOptions, now: number): RollupRequest {
  checkKeys(options, NAMES, "trend()");
  const { job, queue, over = "1h" } = options;
  const { minutes, grain } = spanOf(over, "trend()");
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
  const current = Math.floor(now / MINUTE / grain) * grain;
  return { grain, scope, name, from: current - minutes + grain, to: current + grain };
}

function spanOf(over: TrendSpan, method: string): { minutes: number; grain: Grain } {
  if (Object.hasOwn(SPANS, over)) return SPANS[over];
  const known = Object.keys(SPANS).join(", ");
  throw new PunctualError(
    "INVALID_OPTION",
    `${method} expected over to be one of ${known}, got ${formatValue(over)}.`,
  );
}

export function toTrend(rows: RollupRow[], { grain, from, to }: RollupRequest): Trend {
  return sumUp(rows, { from, to, step: grain });
}

function sumUp(rows: RollupRow[], { from, to, step }: { from: number; to: number; step: number }): Trend {
  const points: PointCounts[] = [];
  for (let minute = from; minute < to; minute += step) points.push(new PointCounts(minute));
  const total = new PointCounts(from);
  for (const { minute, measure, bucket, count } of rows) {
    for (const counted of [points[(minute - from) / step]!, total])
      counted[measure][bucket] = (counted[measure][bucket] ?? 0) + count;
  }
  return { step: step * MINUTE, total: total.toPoint(), points: points.map((point) => point.toPoint()) };
}

/** The histograms of one point. */
class PointCounts {
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
