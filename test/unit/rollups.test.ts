import { expect, test } from "vitest";
import { bucketOf } from "../../src/run/histogram.ts";
import { type EndedAttempt, Rollups } from "../../src/run/rollups.ts";
import { type RollupCount, sumCounts } from "../../src/store/rollups.ts";

const attempt: EndedAttempt = { job: "mail", queue: "bulk", outcome: "completed", waited: 7, took: 30 };

function find(counts: RollupCount[], wanted: Partial<RollupCount>): RollupCount[] {
  return counts.filter((count) =>
    Object.entries(wanted).every(([key, value]) => count[key as keyof RollupCount] === value),
  );
}

test("an attempt counts once for all, for its job and for its queue, in each grain", () => {
  const rollups = new Rollups();
  rollups.add(attempt, 1234);
  const counts = find(rollups.take(), { measure: "took" });
  expect(
    counts.map(({ grain, scope, name, minute, bucket, count }) => [
      grain,
      scope,
      name,
      minute,
      bucket,
      count,
    ]),
  ).toEqual(
    [1, 10, 60].flatMap((grain) =>
      [
        ["all", ""],
        ["job", "mail"],
        ["queue", "bulk"],
      ].map(([scope, name]) => [grain, scope, name, 1234 - (1234 % grain), bucketOf(30), 1]),
    ),
  );
  expect(rollups.take()).toEqual([]);
});

test("jobs of one queue add up in the queue", () => {
  const rollups = new Rollups();
  rollups.add(attempt, 0);
  rollups.add({ ...attempt, job: "sms" }, 0);
  rollups.add(attempt, 0);
  const counts = find(rollups.take(), { measure: "outcome", grain: 1 });
  expect(counts.map(({ scope, name, count }) => [scope, name, count])).toEqual([
    ["all", "", 3],
    ["job", "mail", 2],
    ["job", "sms", 1],
    ["queue", "bulk", 3],
  ]);
});

test.each(["released", "snoozed"] as const)("%s attempts have an outcome, but no times", (outcome) => {
  const rollups = new Rollups();
  rollups.add({ ...attempt, outcome }, 0);
  expect(new Set(rollups.take().map(({ measure }) => measure))).toEqual(new Set(["outcome"]));
});

test("a skipped run waited, but took no time", () => {
  const rollups = new Rollups();
  rollups.add({ ...attempt, outcome: "skipped" }, 0);
  expect(new Set(rollups.take().map(({ measure }) => measure))).toEqual(new Set(["outcome", "waited"]));
});

test("sums have no key twice, and are in one order", () => {
  const rollups = new Rollups();
  for (const job of ["b", "a"]) for (const minute of [61, 3]) rollups.add({ ...attempt, job }, minute);
  const counts = rollups.take();
  expect(sumCounts([...counts].reverse())).toEqual(counts);
  expect(sumCounts([...counts, ...counts]).map(({ count }) => count)).toEqual(
    counts.map(({ count }) => 2 * count),
  );
});
