import { expect, test } from "vitest";
import type { Entry } from "../support/journal.ts";
import { mostAtOnce, neighbours, tries } from "./support/sweep.ts";

const entry = (at: number, what: string, run: number, more: Partial<Entry> = {}): Entry => ({
  at,
  what,
  run,
  by: "one",
  pid: 1,
  job: "pair",
  key: null,
  crashes: 0,
  attempt: 1,
  ...more,
});

/** Two overlapping attempts, in two processes. */
const fair: Entry[] = [
  entry(0, "start", 1),
  entry(1, "start", 2, { pid: 2 }),
  entry(4, "end", 1),
  entry(4, "start", 3),
  entry(6, "end", 2, { pid: 2 }),
  entry(7, "end", 3),
];

const most = (entries: Entry[]) => mostAtOnce(tries(entries), ({ job }) => job).get("pair");

test("counts runs that overlap in all processes", () => {
  expect(most(fair)).toBe(2);
});

test("catches a planted overlap", () => {
  const planted = fair.map((one) => (one.run === 3 && one.what === "start" ? { ...one, at: 3 } : one));
  expect(most(planted.sort((a, b) => a.at - b.at))).toBe(3);
});

test("catches an overlap with an attempt whose process died, until its death", () => {
  const killed = (gone: number) =>
    [entry(0, "start", 1), entry(gone, "gone", 0), entry(5, "start", 2, { pid: 2 })].sort(
      (a, b) => a.at - b.at,
    );
  expect(most(killed(4))).toBe(1);
  expect(most(killed(6))).toBe(2);
});

test("keeps gates apart", () => {
  const keyed = fair.map((one) => ({ ...one, key: one.run === 2 ? "b" : "a" }));
  expect(mostAtOnce(tries(keyed), ({ key }) => key!)).toEqual(
    new Map([
      ["a", 1],
      ["b", 1],
    ]),
  );
});

test("finds a neighbour in the same process only", () => {
  const together = [entry(0, "start", 1), entry(1, "start", 2), entry(2, "start", 3, { pid: 2 })];
  const all = tries(together);
  expect(neighbours(all, all[0]!).map(({ run }) => run)).toEqual([2]);
  expect(neighbours(all, all[2]!)).toEqual([]);
});
