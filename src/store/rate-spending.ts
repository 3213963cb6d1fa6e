import type { Chooser, RateUsage } from "./chooser.ts";
import { type Bucket, emptyAt, settle, spend, writeBucket } from "./rate.ts";

/** A row of `rates` as a claim writes it. */
export interface BucketRow {
  name: string;
  bucket: string;
  /** From this time on the row means the same as none. */
  emptyAt: number;
  /** Whether the row exists. */
  isStored: boolean;
}

/** Returns the buckets that the starts of these runs change. The claim holds their gates. */
export function spentBuckets(
  runs: { rates?: string[]; cost?: number | null }[],
  chooser: Chooser | null,
): BucketRow[] {
  const starts = new Map<string, number>();
  for (const { rates = [], cost = null } of runs)
    for (const rate of rates) starts.set(rate, (starts.get(rate) ?? 0) + chooser!.charge(rate, { cost }));
  return [...starts].map(([name, count]) => {
    const usage = chooser!.rate(name);
    return toBucketRow(name, usage, spend(usage.rate, usage.bucket, usage.now, count));
  });
}

export function toBucketRow(name: string, { rate, isStored }: RateUsage, bucket: Bucket): BucketRow {
  return { name, bucket: writeBucket(bucket), emptyAt: emptyAt(rate, bucket), isStored };
}

/** Returns buckets whose starts have moved along with a clock that was set back. */
export function movedBuckets(rates: ReadonlyMap<string, RateUsage>): BucketRow[] {
  return [...rates].map(([name, usage]) =>
    toBucketRow(name, usage, settle(usage.rate, usage.bucket, usage.now).bucket),
  );
}
