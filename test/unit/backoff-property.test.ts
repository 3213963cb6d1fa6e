import fc from "fast-check";
import { expect, test } from "vitest";
import { type RetryPolicy, retryDelay } from "../../src/run/retries.ts";

const seconds = fc.oneof(fc.nat(100_000), fc.double({ min: 0, max: 1e9, noNaN: true }));
const failures = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
);
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const CENTURY = 36_500 * 86_400_000;

function policy(base: number, cap: number, jitter: RetryPolicy["jitter"]): RetryPolicy {
  return { max: 3, base, cap, jitter };
}

test("a wait is a whole number from zero to the cap, with jitter at most the wait without", () => {
  fc.assert(
    fc.property(seconds, seconds, failures, random, (base, cap, count, chance) => {
      const exact = retryDelay(policy(base, cap, "none"), count, undefined);
      const spread = retryDelay(policy(base, cap, "full"), count, undefined, () => chance);
      expect(Number.isSafeInteger(exact)).toBe(true);
      expect(exact).toBeLessThanOrEqual(Math.round(Math.min(cap * 1000, CENTURY)));
      expect(Number.isSafeInteger(spread)).toBe(true);
      expect(spread).toBeGreaterThanOrEqual(0);
      expect(spread).toBeLessThanOrEqual(exact);
    }),
  );
});

test("waits never get shorter, and double until the cap", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      seconds,
      fc.integer({ min: 1, max: 40 }),
      (base, cap, count) => {
        const now = retryDelay(policy(base, cap, "none"), count, undefined);
        const next = retryDelay(policy(base, cap, "none"), count + 1, undefined);
        expect(next).toBe(Math.round(Math.min(cap * 1000, base * 1000 * 2 ** count, CENTURY)));
        expect(next).toBeGreaterThanOrEqual(now);
      },
    ),
  );
});

test("any result or error of a backoff function leads to a wait", () => {
  fc.assert(
    fc.property(fc.anything(), failures, fc.boolean(), (answer, count, throws) => {
      const backoff = () => {
        if (throws) throw answer;
        return answer as number;
      };
      const wait = retryDelay({ ...policy(1, 60, "none"), backoff }, count, undefined);
      expect(Number.isSafeInteger(wait)).toBe(true);
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(CENTURY);
    }),
  );
});
