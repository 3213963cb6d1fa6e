import { expect, test } from "vitest";
import { JobCounts } from "../../src/run/job-counts.ts";
import type { JobMinute } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";

const MINUTE = 60_000;

/** Keeps what was flushed; fails as long as it is away. */
function database() {
  const flushed: JobMinute[][] = [];
  const store = {
    isAway: false,
    onFlush: () => {},
    async flush(counts: JobMinute[]) {
      store.onFlush();
      if (store.isAway) throw new Error("away");
      flushed.push(structuredClone(counts));
    },
  };
  const counts = new JobCounts({
    openStore: async () => store,
    clock: new TestClock(),
    report: () => {},
  });
  return { store, flushed, counts };
}

test("what could not be written is added to the next flush", async () => {
  const { store, flushed, counts } = database();
  counts.dispatched("job", 0, 2);
  counts.settled("job", { outcome: "completed", duration: 10, error: null }, 1);
  counts.settled("job", { outcome: "failed", duration: 5, error: "first" }, 2);
  store.isAway = true;
  await expect(counts.flush()).rejects.toThrow("away");
  counts.settled("job", { outcome: "failed", duration: 7, error: "second" }, 3);
  counts.settled("job", { outcome: "completed", duration: 1, error: null }, MINUTE);
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
        last: { ok: true, failed: 2, error: "second" },
      },
      {
        name: "job",
        minute: 1,
        counts: { completed: 1 },
        busy: 1,
        lastRun: MINUTE,
        lastFailure: null,
        last: { ok: true, failed: 0, error: null },
      },
    ],
  ]);
});

test("what is counted while a flush fails is added too, and a success ends a row of failures", async () => {
  const { store, flushed, counts } = database();
  counts.settled("job", { outcome: "failed", duration: 1, error: "why" }, 1);
  store.isAway = true;
  store.onFlush = () => counts.settled("job", { outcome: "completed", duration: 1, error: null }, 2);
  await expect(counts.flush()).rejects.toThrow("away");
  store.isAway = false;
  store.onFlush = () => {};
  await counts.flush();
  expect(flushed[0]).toMatchObject([{ counts: { failed: 1, completed: 1 }, last: { ok: true, failed: 0 } }]);
});

test("a long outage keeps the latest 10,000", async () => {
  const { store, flushed, counts } = database();
  store.isAway = true;
  for (let minute = 0; minute < 10_003; minute++) counts.dispatched("job", minute * MINUTE);
  await expect(counts.flush()).rejects.toThrow("away");
  store.isAway = false;
  await counts.flush();
  expect(flushed[0]).toHaveLength(10_000);
  expect(flushed[0]![0]!.minute).toBe(3);
});
