import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RetryTimes } from "../../src/store/server/retries.ts";
import { systemClock } from "../../src/time.ts";

describe("a server that is read-only", () => {
  let now = 1000;
  beforeEach(() => {
    vi.spyOn(systemClock, "monotonic").mockImplementation(() => now);
  });
  afterEach(() => vi.restoreAllMocks());

  test("is retried for a few seconds, over all calls together, if nothing was ever written there", () => {
    const times = new RetryTimes();
    times.reached();
    expect(times.mayRetryReadOnly()).toBe(true);
    now += 3499;
    expect(times.mayRetryReadOnly()).toBe(true);
    now += 1;
    expect(times.mayRetryReadOnly()).toBe(false);
    expect(times.mayRetryReadOnly()).toBe(false);
  });

  test("is an outage if something was written there before", () => {
    const times = new RetryTimes();
    times.written();
    expect(times.mayRetryReadOnly()).toBe(true);
    now += 60_000;
    expect(times.mayRetryReadOnly()).toBe(true);
  });
});
