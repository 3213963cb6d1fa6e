/** Buckets for each doubling of a time: the error of a percentile is below a tenth. */
const PER_DOUBLING = 4;

/** Bucket of the longest times, which begin at about 35 days. */
const LAST_BUCKET = 126;

/** Counts of times by bucket: the index is the bucket, a missing element counts 0. */
export type Histogram = number[];

/** Returns the bucket of a time in milliseconds: 0 holds times under 1 ms, every later bucket is 1.19 times as wide. */
export function bucketOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(LAST_BUCKET, 1 + Math.floor(Math.log2(ms) * PER_DOUBLING));
}

/** Returns the shortest time of a bucket, in milliseconds. */
function lowerBound(bucket: number): number {
  return bucket === 0 ? 0 : 2 ** ((bucket - 1) / PER_DOUBLING);
}

function countOf(histogram: Histogram): number {
  return histogram.reduce((sum, count) => sum + (count ?? 0), 0);
}

/**
 * Returns the time in milliseconds that a fraction of the counted times does not exceed, interpolated within its
 * bucket; null for an empty histogram.
 */
export function percentile(histogram: Histogram, fraction: number): number | null {
  const wanted = countOf(histogram) * fraction;
  if (wanted === 0) return null;
  let passed = 0;
  for (const [bucket, count] of histogram.entries()) {
    if (!count) continue;
    if (passed + count >= wanted) {
      const from = lowerBound(bucket);
      return from + (lowerBound(bucket + 1) - from) * ((wanted - passed) / count);
    }
    passed += count;
  }
  return null;
}
