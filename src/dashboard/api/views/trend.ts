import type { Trend, TrendPoint } from "../../../status/trend.ts";
import { MINUTE } from "../../../time.ts";
import type { Span, TrendPointView, TrendView } from "../contract.ts";
import { iso } from "./times.ts";

/** Points of the small charts in tables, which span an hour. */
export const SPARK_POINTS = 12;

/** Points at the end of a small chart over which a pace is measured. */
const PACE_POINTS = 2;

type Sum = { completed: number; failed: number };

export const NO_SPARK: Sum[] = Array.from({ length: SPARK_POINTS }, () => ({ completed: 0, failed: 0 }));

export function toTrendView(trend: Trend, over: Span): TrendView {
  return { over, step: trend.step, total: toPoint(trend.total), points: trend.points.map(toPoint) };
}

function toPoint({ at, counts, waited, took }: TrendPoint): TrendPointView {
  return { at: iso(at), counts, waited, took };
}

export function toSpark({ points }: Trend): Sum[] {
  return points.map(toSum);
}

/** Returns attempts per minute, over the last points of a small chart. */
export function toPace({ points, step }: Trend): Sum {
  const last = points.slice(-PACE_POINTS).map(toSum);
  const minutes = (PACE_POINTS * step) / MINUTE;
  const perMinute = (name: keyof Sum) => last.reduce((sum, point) => sum + point[name], 0) / minutes;
  return { completed: perMinute("completed"), failed: perMinute("failed") };
}

/** A failed attempt that is retried counts as failed. */
function toSum({ counts }: TrendPoint): Sum {
  return { completed: counts.completed, failed: counts.failed + counts.retried };
}
