import { describe, expect, test, vi } from "vitest";
import { backoffDelay, type RetryPolicy } from "../../src/run/backoff.ts";

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
    expect(backoffDelay(exact, failures, error)).toBe(ms);
  });

  test("takes fractions of seconds and gives whole milliseconds", () => {
    expect(backoffDelay({ ...exact, base: 0.0125 }, 1, error)).toBe(13);
    expect(backoffDelay({ ...exact, base: 0.2 }, 2, error)).toBe(400);
  });

  test.each([0, -3])("takes %d failures for one", (failures) => {
    expect(backoffDelay(exact, failures, error)).toBe(1000);
  });

  test("no base, no wait; no cap, a century at most", () => {
    expect(backoffDelay({ ...exact, base: 0 }, 5000, error)).toBe(0);
    expect(backoffDelay({ ...exact, cap: 0 }, 3, error)).toBe(0);
    const uncapped = backoffDelay({ ...exact, base: 1e300, cap: Number.POSITIVE_INFINITY }, 5000, error);
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
    expect(backoffDelay(full, 3, error, () => random)).toBe(ms);
  });

  test("uses Math.random unless told", () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0.25);
    expect(backoffDelay(full, 1, error)).toBe(250);
    random.mockRestore();
  });
});

describe("a function of one's own", () => {
  test("gets the failures and the error; its answer is a duration, without jitter and cap", () => {
    const backoff = vi.fn((failures: number) => failures * 100);
    expect(backoffDelay({ ...exact, jitter: "full", backoff }, 3, error, () => 0)).toBe(300_000);
    expect(backoff).toHaveBeenCalledExactlyOnceWith(3, error);
    expect(backoffDelay({ ...exact, backoff: () => "5 minutes" }, 1, error)).toBe(300_000);
    expect(backoffDelay({ ...exact, backoff: () => 0 }, 1, error)).toBe(0);
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
  ])("that %s leaves the formula", (_, backoff) => {
    const policy = { ...exact, backoff: backoff as () => number };
    expect(backoffDelay(policy, 2, error)).toBe(2000);
  });
});
