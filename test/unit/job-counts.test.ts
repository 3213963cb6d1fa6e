import { expect, test } from "vitest";
import { JobCounts } from "../../src/run/job-counts.ts";
import type { RollupCount } from "../../src/store/rollups.ts";
import type { JobMinute } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";

const MINUTE = 60_000;

const run = { name: "job", queue: "default", runAt: 0, claimedAt: 5 };

/** Records flushed counts; fails while it is unavailable. */
function database() {
  const flushed: JobMinute[][] = [];
  const rollups: RollupCount[][] = [];
  const clock = new TestClock();
  const store = {
    isAway: false,
    onFlush: () => {},
    async flush(counts: JobMinute[], sums: RollupCount[] = []) {
      store.onFlush();
      if (store.isAway) throw new Error("away");
      flushed.push(structuredClone(counts));
      if (sums.length > 0) rollups.push(sums);
    },
  };
  const counts = new JobCounts({
    openStore: async () => store,
    clock,
    report: () => {},
  });
  return { store, flushed, rollups, clock, counts };
}

test("counts that could not be written are added to the next flush", async () => {
  const { store, flushed, counts } = database();
  counts.dispatched("job", 0, 2);
  counts.settled(run, { outcome: "completed", duration: 10, error: null, fingerprint: null }, 1);
  counts.settled(run, { outcome: "failed", duration: 5, error: "first", fingerprint: null }, 2);
  store.isAway = true;
  await expect(counts.flush()).rejects.toThrow("away");
  counts.settled(run, { outcome: "failed", duration: 7, error: "second", fingerprint: null }, 3);
  counts.settled(run, { outcome: "completed", duration: 1, error: null, fingerprint: null }, MINUTE);
  await expect(counts.flush()).rejects.toThrow("away");
  store.isAway = false;
  await counts.flush();
  await counts.flush();
  expect(flushed).toEqual([
    [
      {
        name: "job",
        minute: 0,
        counts: { dispatched: 2, completed: 1, failed: 2 },
        busy: 22,
        lastRun: 1,
        lastFailure: 3,
        last: { ok: true, failed: 2, error: "second", errors: [] },
      },
      {
        name: "job",
        minute: 1,
        counts: { completed: 1 },
        busy: 1,
        lastRun: MINUTE,
        lastFailure: null,
        last: { ok: true, failed: 0, error: null, errors: [] },
      },
    ],
  ]);
});

test("counts made while a flush fails are added too, and a success ends a row of failures", async () => {
  const { store, flushed, counts } = database();
  counts.settled(run, { outcome: "failed", duration: 1, error: "why", fingerprint: null }, 1);
  store.isAway = true;
  store.onFlush = () =>
    counts.settled(run, { outcome: "completed", duration: 1, error: null, fingerprint: null }, 2);
  await expect(counts.flush()).rejects.toThrow("away");
  store.isAway = false;
  store.onFlush = () => {};
  await counts.flush();
  expect(flushed[0]).toMatchObject([{ counts: { failed: 1, completed: 1 }, last: { ok: true, failed: 0 } }]);
});

test("the latest 10,000 counts are kept during a long outage", async () => {
  const { store, flushed, counts } = database();
  store.isAway = true;
  for (let minute = 0; minute < 10_003; minute++) counts.dispatched("job", minute * MINUTE);
  await expect(counts.flush()).rejects.toThrow("away");
  store.isAway = false;
  await counts.flush();
  expect(flushed[0]).toHaveLength(10_000);
  expect(flushed[0]![0]!.minute).toBe(3);
});

test("rollups are written every ten seconds, and with every full flush", async () => {
  const { rollups, clock, counts } = database();
  const settle = () =>
    counts.settled(run, { outcome: "completed", duration: 3, error: null, fingerprint: null }, 1);
  settle();
  await counts.flushOften();
  expect(rollups).toEqual([]);
  await clock.advance(10);
  settle();
  await counts.flushOften();
  expect(rollups).toHaveLength(1);
  expect(rollups[0]).toContainEqual({
    grain: 1,
    scope: "job",
    name: "job",
    minute: 0,
    measure: "outcome",
    bucket: 0,
    count: 2,
  });
  settle();
  await counts.flush();
  expect(rollups).toHaveLength(2);
});

test("rollups that could not be written are added to the next ones", async () => {
  const { store, rollups, clock, counts } = database();
  const settle = () =>
    counts.settled(run, { outcome: "completed", duration: 3, error: null, fingerprint: null }, 1);
  settle();
  await clock.advance(10);
  store.isAway = true;
  await expect(counts.flush()).rejects.toThrow("away");
  store.isAway = false;
  settle();
  await clock.advance(10);
  await counts.flush();
  const outcomes = rollups.flat().filter(({ measure, scope }) => measure === "outcome" && scope === "all");
  expect(outcomes.map(({ grain, count }) => [grain, count])).toEqual([
    [1, 2],
    [10, 2],
    [60, 2],
  ]);
});

test("each kind of error since the last success is kept once, with the time of its latest attempt", async () => {
  const { flushed, counts } = database();
  const failed = (fingerprint: string, message: string, at: number) =>
    counts.settled(
      run,
      { outcome: "retried", duration: 1, fingerprint, error: JSON.stringify({ name: "Error", message }) },
      at,
    );
  failed("old", "before the success", 1);
  counts.settled(run, { outcome: "completed", duration: 1, error: null, fingerprint: null }, 2);
  failed("a", "row 1 is missing", 3);
  failed("b", "x".repeat(9000), 4);
  failed("a", "row 2 is missing", 5);
  counts.crashed("job", "gone", 6);
  await counts.flush();
  expect(flushed[0]![0]!.last).toMatchObject({
    ok: true,
    failed: 4,
    errors: [
      { fingerprint: "b", message: "x".repeat(500), at: 4 },
      { fingerprint: "a", message: "row 1 is missing", at: 5 },
      { fingerprint: "crashed", at: 6 },
    ],
  });
});
