import { expect, test } from "vitest";
import { bucketOf, type Histogram, percentile } from "../../src/run/histogram.ts";

function histogramOf(times: number[]): Histogram {
  const histogram: Histogram = [];
  for (const time of times) histogram[bucketOf(time)] = (histogram[bucketOf(time)] ?? 0) + 1;
  return histogram;
}

test("a longer time is never in an earlier bucket", () => {
  const times = Array.from({ length: 2000 }, (_, index) => index ** 2);
  const buckets = times.map(bucketOf);
  expect(buckets).toEqual([...buckets].sort((a, b) => a - b));
});

test("the longest times share the last bucket, which fits into a signed byte", () => {
  expect(bucketOf(Number.MAX_SAFE_INTEGER)).toBe(126);
  expect(bucketOf(Number.POSITIVE_INFINITY)).toBe(126);
});

test.each([Number.NaN, -1, 0, 0.4])("%s is in the bucket of times under 1 ms", (ms) => {
  expect(bucketOf(ms)).toBe(0);
});

test.each([0.5, 0.95])(
  "percentile %s is within a fifth of the exact one, whatever the distribution",
  (fraction) => {
    for (const power of [1, 2, 4]) {
      const times = Array.from({ length: 5000 }, (_, index) => 1 + (index / 5000) ** power * 100_000).sort(
        (a, b) => a - b,
      );
      const exact = times[Math.ceil(times.length * fraction) - 1]!;
      const estimated = percentile(histogramOf(times), fraction)!;
      expect(Math.abs(estimated - exact) / exact).toBeLessThan(0.2);
    }
  },
);

test("an empty histogram has no percentile", () => {
  expect(percentile([], 0.5)).toBe(null);
});
