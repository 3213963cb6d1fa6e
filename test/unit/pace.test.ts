import { describe, expect, test } from "vitest";
import { Pace } from "../../src/worker/pace.ts";

/** Executes overlapping runs of this duration from this moment on; returns the moment when they are done. */
function run(pace: Pace, count: number, now: number, ms: number): number {
  for (let n = 0; n < count; n++) pace.started(now);
  for (let n = 0; n < count; n++) pace.done(now + ms);
  return now + ms;
}

describe("the pace of a worker", () => {
  test("prefetches nothing before the first run was done, or while time stands still", () => {
    const pace = new Pace(1);
    expect(pace.prefetch(1000)).toBe(0);
    run(pace, 100, 1000, 0);
    expect(pace.prefetch(1000)).toBe(0);
  });

  test("prefetches as many runs as start within 100 ms; the first measurement counts half", () => {
    const pace = new Pace(1);
    let now = run(pace, 10, 0, 5);
    expect(pace.prefetch(now)).toBe(100);
    now = run(pace, 10, now, 5);
    expect(pace.prefetch(now)).toBe(150);
  });

  test("counts a tenth of these as next, at least one if there are any", () => {
    const pace = new Pace(1);
    expect(pace.next(0)).toBe(0);
    let now = run(pace, 10, 0, 5);
    expect(pace.next(now)).toBe(10);
    now = run(pace, 10, now, 500);
    expect(pace.next(now)).toBe(1);
  });

  test("follows a lower rate at once", () => {
    const pace = new Pace(1);
    let now = run(pace, 10, 0, 5);
    pace.prefetch(now);
    now = run(pace, 10, now, 100);
    expect(pace.prefetch(now)).toBe(10);
  });

  test("does not count idle time, and counts a run that is under way", () => {
    const pace = new Pace(1);
    run(pace, 10, 0, 5);
    expect(pace.prefetch(5000)).toBe(100);
    pace.started(5000);
    expect(pace.prefetch(5100)).toBe(0);
  });

  test("counts many runs that took hardly any time, up to a bound for each stream", () => {
    for (const [streams, most] of [
      [1, 500],
      [2, 1000],
    ] as const) {
      const pace = new Pace(streams);
      const now = run(pace, 10, 0, 0.5);
      expect(pace.prefetch(now)).toBe(most);
    }
  });

  test.each([
    [10, 100],
    [80, 160],
    [500, 200],
  ])("after an exchange of %d ms prefetches %d runs", (exchange, most) => {
    const pace = new Pace(1);
    pace.exchanged(exchange);
    expect(pace.prefetch(run(pace, 10, 0, 5))).toBe(most);
  });

  test.each([
    [8, 0],
    [30, 15],
    [500, 50],
  ])("after an exchange of %d ms gathers outcomes for %d ms", (exchange, gathering) => {
    const pace = new Pace(1);
    pace.exchanged(exchange);
    expect(pace.gatherUntil(1000)).toBe(1000 + gathering);
  });
});
