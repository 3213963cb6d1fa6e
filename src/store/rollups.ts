import type { Outcome } from "../run/states.ts";

/** Lengths of the spans that are counted, in minutes. Short spans are kept for hours, long ones for weeks. */
export const GRAINS = [1, 10, 60] as const;
export type Grain = (typeof GRAINS)[number];

/** Subjects of counts, with their codes in the database. */
export const SCOPES = { all: 0, job: 1, queue: 2 } as const;
export type Scope = keyof typeof SCOPES;

/** Measures with their codes in the database. `outcome`: the bucket is a code of `OUTCOMES`. */
export const MEASURES = { waited: 0, took: 1, outcome: 2 } as const;
export type Measure = keyof typeof MEASURES;

/** Codes of outcomes in the database: the index. */
export const OUTCOMES: readonly Outcome[] = [
  "completed",
  "retried",
  "failed",
  "skipped",
  "cancelled",
  "snoozed",
  "released",
];

/** A count of ended attempts of one job, one queue or all, in one span of time. */
export interface RollupCount extends RollupRow {
  grain: Grain;
  scope: Scope;
  /** Name of the job or queue; empty for `all`. */
  name: string;
}

/** One count of a subject. */
export interface RollupRow {
  /** Start of the span, in UTC minutes since 1970. */
  minute: number;
  measure: Measure;
  /** The bucket of the time (`run/histogram.ts`), or the code of the outcome. */
  bucket: number;
  count: number;
}

export interface RollupRequest {
  grain: Grain;
  scope: Scope;
  name: string;
  /** First span, in UTC minutes since 1970. */
  from: number;
  /** End of the last span. */
  to: number;
}

/** Counts of every job or every queue. */
export interface RollupSurvey extends Omit<RollupRequest, "name"> {
  scope: "job" | "queue";
  /** Length of a span of the result in minutes, a multiple of the grain; spans begin at `from`. */
  step: number;
  /** Most rows; the rest is left out. */
  limit: number;
}

/** One count of a job or a queue. */
export interface NamedRollupRow extends RollupRow {
  name: string;
}

/** Adds counts with the same key up, and returns them in the order of the table's key. */
export function sumCounts(counts: RollupCount[]): RollupCount[] {
  const sums = new Map<string, RollupCount>();
  for (const one of counts) {
    const { grain, scope, name, minute, measure, bucket } = one;
    const key = JSON.stringify([grain, scope, name, minute, measure, bucket]);
    const sum = sums.get(key);
    if (sum) sum.count += one.count;
    else sums.set(key, { ...one });
  }
  return [...sums.values()].sort(byKey);
}

/** Two processes that write together lock the rows in the same order, so that they cannot deadlock. */
function byKey(a: RollupCount, b: RollupCount): number {
  return (
    a.grain - b.grain ||
    SCOPES[a.scope] - SCOPES[b.scope] ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) ||
    a.minute - b.minute ||
    MEASURES[a.measure] - MEASURES[b.measure] ||
    a.bucket - b.bucket
  );
}
