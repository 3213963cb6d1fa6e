import { describe, expect, test, vi } from "vitest";
import { type RetryPolicy, retryDelay } from "../../src/run/retries.ts";

const exact: RetryPolicy = { max: 10, base: 1, cap: 60, jitter: "none" };
const error = new Error("boom");

describe("the formula", () => {
  test.each([
    [1, 1000],
    [2, 2000],
    [3, 4000],
    [6, 32_000],
    [7, 60_000],
    [5000, 60_000],
    [Number.MAX_SAFE_INTEGER, 60_000],
  ])("after %d failures", (failures, ms) => {
    expect(retryDelay(exact, failures, error)).toBe(ms);
  });

  test("takes fractions of seconds and returns whole milliseconds", () => {
    expect(retryDelay({ ...exact, base: 0.0125 }, 1, error)).toBe(13);
    expect(retryDelay({ ...exact, base: 0.2 }, 2, error)).toBe(400);
  });

  test.each([0, -3])("takes %d failures for one", (failures) => {
    expect(retryDelay(exact, failures, error)).toBe(1000);
  });

  test("without a base there is no wait; without a cap a century at most", () => {
    expect(retryDelay({ ...exact, base: 0 }, 5000, error)).toBe(0);
    expect(retryDelay({ ...exact, cap: 0 }, 3, error)).toBe(0);
    const uncapped = retryDelay({ ...exact, base: 1e300, cap: Number.POSITIVE_INFINITY }, 5000, error);
    expect(uncapped).toBe(36_500 * 86_400_000);
  });
});

describe("full jitter", () => {
  const full: RetryPolicy = { ...exact, jitter: "full" };

  test.each([
    [0, 0],
    [0.5, 2000],
    [0.999_999, 4000],
  ])("of %d", (random, ms) => {
    expect(retryDelay(full, 3, error, () => random)).toBe(ms);
  });

  test("draws from realRandom() without another source", () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0.25);
    expect(retryDelay(full, 1, error)).toBe(250);
    random.mockRestore();
  });
});

describe("a custom function", () => {
  test("gets the failures and the error; its result is a duration, without jitter and cap", () => {
    const backoff = vi.fn((failures: number) => failures * 100);
    expect(retryDelay({ ...exact, jitter: "full", backoff }, 3, error, () => 0)).toBe(300_000);
    expect(backoff).toHaveBeenCalledExactlyOnceWith(3, error);
    expect(retryDelay({ ...exact, backoff: () => "5 minutes" }, 1, error)).toBe(300_000);
    expect(retryDelay({ ...exact, backoff: () => 0 }, 1, error)).toBe(0);
  });

  test.each<[string, () => unknown]>([
    ["throws", () => { throw error }], // biome-ignore format: one line per case
    ["gives NaN", () => Number.NaN],
    ["gives Infinity", () => Number.POSITIVE_INFINITY],
    ["gives a negative number", () => -1],
    ["gives nothing", () => undefined],
    ["gives null", () => null],
    ["gives other text", () => "soon"],
    ["gives an object", () => ({})],
    ["is async", async () => 5],
    ["is async and rejects", async () => { throw error }], // biome-ignore format: one line per case
  ])("that %s is replaced by the formula", (_, backoff) => {
    const policy = { ...exact, backoff: backoff as () => number };
    expect(retryDelay(policy, 2, error)).toBe(2000);
  });
});
