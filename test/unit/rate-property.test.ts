import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  admits,
  type Bucket,
  EMPTY,
  emptyAt,
  opensAt,
  type Rate,
  readBucket,
  room,
  shut,
  shutUntil,
  spend,
  writeBucket,
} from "../../src/store/rate.ts";
import { mostInWindow } from "../support/rate-journal.ts";

const START = 1_800_000_000_000;

const rates = fc
  .record({
    limit: fc.integer({ min: 1, max: 300 }),
    per: fc.integer({ min: 10, max: 5000 }),
    burst: fc.option(fc.integer({ min: 1, max: 300 })),
  })
  .map(
    ({ limit, per, burst }): Rate => ({ limit, per, burst: burst === null ? null : Math.min(burst, limit) }),
  );

/** Steps of a load: how long to wait, and how many runs want to start. */
const loads = fc.array(
  fc.record({ wait: fc.integer({ min: 0, max: 400 }), wanted: fc.integer({ min: 0, max: 20 }) }),
  { maxLength: 400 },
);

/** Starts as many runs as there is room for. Returns every start. */
function run(rate: Rate, steps: { wait: number; wanted: number }[]): { starts: number[]; bucket: Bucket } {
  const starts: number[] = [];
  let bucket = EMPTY;
  let now = START;
  for (const { wait, wanted } of steps) {
    now += wait;
    const count = Math.min(wanted, room(rate, bucket, now));
    // As it is read from the database.
    bucket = readBucket(writeBucket(spend(rate, bucket, now, count)));
    starts.push(...Array<number>(count).fill(now));
  }
  return { starts, bucket };
}

/** Loads whose runs cost different amounts, some more than the limit. */
const costs = fc.array(
  fc.record({ wait: fc.integer({ min: 0, max: 400 }), cost: fc.integer({ min: 1, max: 400 }) }),
  { maxLength: 300 },
);

/** Starts each run that is admitted. Returns every start, as often as it costs, and at most as often as the limit. */
function runCosts(
  rate: Rate,
  steps: { wait: number; cost: number }[],
): { starts: number[]; bucket: Bucket; now: number } {
  const starts: number[] = [];
  let bucket = EMPTY;
  let now = START;
  for (const { wait, cost } of steps) {
    now += wait;
    if (!admits(rate, bucket, now, cost)) continue;
    const charge = Math.min(cost, rate.limit);
    bucket = readBucket(writeBucket(spend(rate, bucket, now, charge)));
    starts.push(...Array<number>(charge).fill(now));
  }
  return { starts, bucket, now };
}

describe("a rate of costs", () => {
  test("admits no more than its limit in any window", () => {
    fc.assert(
      fc.property(rates, costs, (rate, steps) => {
        expect(mostInWindow(runCosts(rate, steps).starts, rate.per)).toBeLessThanOrEqual(rate.limit);
      }),
    );
  });

  test("opens for a cost at the first time at which it is admitted", () => {
    fc.assert(
      fc.property(rates, costs, fc.integer({ min: 1, max: 400 }), (rate, steps, cost) => {
        const { bucket, now } = runCosts(rate, steps);
        const at = opensAt(rate, bucket, now, cost);
        expect(admits(rate, bucket, at, cost)).toBe(true);
        if (at > now) expect(admits(rate, bucket, at - 1, cost)).toBe(false);
        // Whatever it costs, it starts when nothing else is spent.
        expect(admits(rate, bucket, Math.max(now, emptyAt(rate, bucket)), cost)).toBe(true);
      }),
    );
  });

  test("of 1 admits what has room", () => {
    fc.assert(
      fc.property(rates, costs, (rate, steps) => {
        const { bucket, now } = runCosts(rate, steps);
        expect(admits(rate, bucket, now, 1)).toBe(room(rate, bucket, now) > 0);
      }),
    );
  });
});

describe("a rate", () => {
  test("admits no more starts than its limit in any window", () => {
    fc.assert(
      fc.property(rates, loads, (rate, steps) => {
        expect(mostInWindow(run(rate, steps).starts, rate.per)).toBeLessThanOrEqual(rate.limit);
      }),
    );
  });

  test("admits no more starts in any window with more claims than a bucket has entries", () => {
    const dense = fc.array(
      fc.record({ wait: fc.integer({ min: 0, max: 4 }), wanted: fc.integer({ min: 1, max: 4 }) }),
      { minLength: 800, maxLength: 1600 },
    );
    fc.assert(
      fc.property(fc.integer({ min: 150, max: 1200 }), dense, (limit, steps) => {
        const { starts } = run({ limit, per: 1000, burst: null }, steps);
        expect(mostInWindow(starts, 1000)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 30 },
    );
  });

  test("admits no more than its burst ahead of an even pace", () => {
    fc.assert(
      fc.property(rates, loads, (rate, steps) => {
        fc.pre(rate.burst !== null);
        const { starts } = run(rate, steps);
        for (const [first, from] of starts.entries()) {
          for (let last = first; last < Math.min(starts.length, first + 50); last++) {
            const even = ((starts[last]! - from) * rate.limit) / rate.per;
            expect(last - first + 1).toBeLessThanOrEqual(rate.burst! + even + 1e-6);
          }
        }
      }),
    );
  });

  test("with few starts is exact: it admits every run that a full log would admit", () => {
    fc.assert(
      fc.property(rates, loads, ({ limit, per }, steps) => {
        const rate = { limit, per, burst: null };
        const log: number[] = [];
        let bucket = EMPTY;
        let now = START;
        for (const { wait, wanted } of steps) {
          now += wait;
          const recent = log.filter((at) => at + per > now);
          // More times than a bucket keeps make it stricter.
          if (new Set(recent).size >= 128) return;
          expect(room(rate, bucket, now)).toBe(limit - recent.length);
          const count = Math.min(wanted, limit - recent.length);
          bucket = spend(rate, bucket, now, count);
          log.push(...Array<number>(count).fill(now));
        }
      }),
    );
  });

  test("under a steady load admits at least nine tenths of what a full log would admit", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 2000 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 40 }),
        (limit, wait, wanted) => {
          const rate = { limit, per: 1000, burst: null };
          const steps = Array.from({ length: Math.ceil(5000 / wait) }, () => ({ wait, wanted }));
          const log: number[] = [];
          let now = START;
          for (const step of steps) {
            now += step.wait;
            const recent = log.reduce((count, at) => count + (at + 1000 > now ? 1 : 0), 0);
            log.push(...Array<number>(Math.min(wanted, limit - recent)).fill(now));
          }
          expect(run(rate, steps).starts.length).toBeGreaterThanOrEqual(log.length * 0.9);
        },
      ),
      // The full log is slow.
      { numRuns: 20 },
    );
  });

  test("opens at the first time at which there is room", () => {
    fc.assert(
      fc.property(rates, loads, fc.integer({ min: 0, max: 6000 }), (rate, steps, ms) => {
        let { bucket } = run(rate, steps);
        const now = START + steps.reduce((sum, { wait }) => sum + wait, 0);
        if (ms % 2 === 0) bucket = shut(bucket, now, ms);
        const at = opensAt(rate, bucket, now);
        expect(room(rate, bucket, at)).toBeGreaterThan(0);
        if (at > now) expect(room(rate, bucket, at - 1)).toBe(0);
        const rest = emptyAt(rate, bucket);
        expect(room(rate, bucket, Math.max(now, rest))).toBe(rate.burst ?? rate.limit);
      }),
    );
  });

  test("that is shut admits nothing until then, and as many afterwards as if it had not been", () => {
    const steps = fc.array(
      fc.record({
        wait: fc.integer({ min: 0, max: 400 }),
        wanted: fc.integer({ min: 0, max: 20 }),
        shutFor: fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 2000 })),
      }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(rates, steps, (rate, list) => {
        const starts: number[] = [];
        let bucket = EMPTY;
        // The same starts without any shut.
        let open = EMPTY;
        let now = START;
        let until = 0;
        for (const { wait, wanted, shutFor } of list) {
          now += wait;
          if (shutFor !== null) {
            bucket = readBucket(writeBucket(shut(bucket, now, shutFor)));
            until = Math.max(until, now + shutFor);
          }
          expect(shutUntil(bucket, now)).toBe(until > now ? until : null);
          const free = room(rate, bucket, now);
          expect(free).toBe(now < until ? 0 : room(rate, open, now));
          expect(emptyAt(rate, bucket)).toBeGreaterThanOrEqual(until);
          const count = Math.min(wanted, free);
          if (count === 0) continue;
          bucket = spend(rate, bucket, now, count);
          open = spend(rate, open, now, count);
          starts.push(...Array<number>(count).fill(now));
        }
        expect(mostInWindow(starts, rate.per)).toBeLessThanOrEqual(rate.limit);
      }),
    );
  });

  test("that is shut, and whose clock is then set back, opens after that time at the latest", () => {
    const times = fc.record({
      spentBefore: fc.integer({ min: 0, max: 20_000 }),
      ms: fc.integer({ min: 0, max: 60_000 }),
      after: fc.integer({ min: 0, max: 60_000 }),
      back: fc.integer({ min: 0, max: 7_200_000 }),
    });
    fc.assert(
      fc.property(rates, times, ({ limit, per }, { spentBefore, ms, after, back }) => {
        const rate = { limit, per, burst: null };
        const shutAt = START + spentBefore;
        const bucket = shut(spend(rate, EMPTY, START, 1), shutAt, ms);
        const clock = shutAt + after - back;
        const opening = opensAt(rate, bucket, clock);
        // A lag of up to 5 s is no change of the clock.
        expect(opening - clock).toBeLessThanOrEqual(Math.max(ms, per) + 5000);
        expect(after + Math.max(0, (shutUntil(bucket, clock) ?? clock) - clock)).toBeGreaterThanOrEqual(ms);
      }),
    );
  });

  test("keeps few entries, however often it is shut", () => {
    const rate = { limit: 1000, per: 60_000, burst: null };
    let bucket = EMPTY;
    for (let now = START; now < START + 1000; now++) bucket = shut(bucket, now, 10);
    bucket = spend(rate, bucket, START + 2000, 1);
    for (let now = START + 2000; now < START + 3000; now++) bucket = shut(bucket, now, 10);
    expect(bucket.spent).toHaveLength(2);
  });

  test("admits no more in real time when the clock is set back", () => {
    const steps = fc.array(
      fc.record({
        wait: fc.integer({ min: 0, max: 400 }),
        wanted: fc.integer({ min: 0, max: 20 }),
        back: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90_000 })),
      }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(rates, steps, (rate, list) => {
        const starts: number[] = [];
        let bucket = EMPTY;
        let time = START;
        let setBack = 0;
        for (const { wait, wanted, back } of list) {
          time += wait;
          setBack += back;
          const clock = time - setBack;
          const count = Math.min(wanted, room(rate, bucket, clock));
          bucket = spend(rate, bucket, clock, count);
          starts.push(...Array<number>(count).fill(time));
        }
        expect(mostInWindow(starts, rate.per)).toBeLessThanOrEqual(rate.limit);
      }),
    );
  });
});
