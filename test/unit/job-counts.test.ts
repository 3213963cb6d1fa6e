import { expect, test } from "vitest";
import { JobCounts } from "../../src/run/job-counts.ts";
import type { JobMinute } from "../../src/store/store.ts";

const MINUTE = 60_000;

/** Keeps what was flushed; fails as long as it is away. */
function database() {
  const flushed: JobMinute[][] = [];
  const store = {
    isAway: false,
    async flush(counts: JobMinute[]) {
      if (store.isAway) throw new Error("away");
      flushed.push(structuredClone(counts));
    },
  };
  return { store, flushed };
}

test("what could not be written is added to the next flush", async () => {
  const { store, flushed } = database();
  const counts = new JobCounts();
  counts.dispatched("job", 0, 2);
  counts.settled("job", "completed", 10, null, 1);
  counts.settled("job", "failed", 5, "first", 2);
  store.isAway = true;
  await expect(counts.flushTo(() => store)).rejects.toThrow("away");
  counts.settled("job", "failed", 7, "second", 3);
  counts.settled("job", "completed", 1, null, MINUTE);
  await expect(counts.flushTo(() => store)).rejects.toThrow("away");
  store.isAway = false;
  await counts.flushTo(() => store);
  await counts.flushTo(() => store);
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
  const { store, flushed } = database();
  const counts = new JobCounts();
  counts.settled("job", "failed", 1, "why", 1);
  store.isAway = true;
  const flushing = counts.flushTo(() => store);
  counts.settled("job", "completed", 1, null, 2);
  await expect(flushing).rejects.toThrow("away");
  store.isAway = false;
  await counts.flushTo(() => store);
  expect(flushed[0]).toMatchObject([{ counts: { failed: 1, completed: 1 }, last: { ok: true, failed: 0 } }]);
});

test("a long outage keeps the latest 10,000", async () => {
  const { store, flushed } = database();
  const counts = new JobCounts();
  store.isAway = true;
  for (let minute = 0; minute < 10_003; minute++) counts.dispatched("job", minute * MINUTE);
  await expect(counts.flushTo(() => store)).rejects.toThrow("away");
  store.isAway = false;
  await counts.flushTo(() => store);
  expect(flushed[0]).toHaveLength(10_000);
  expect(flushed[0]![0]!.minute).toBe(3);
});
