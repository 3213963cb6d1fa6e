import { describe, expect, test } from "vitest";
import { durationTicks, linear, linePath, niceTicks } from "../../../dashboard/src/charts/scale.ts";
import { roundPoints } from "../../../dashboard/src/charts/time-axis.ts";
import { formatCompact, formatCount, formatShare } from "../../../dashboard/src/text/number.ts";

describe("ticks of an axis", () => {
  test.each([
    [0, [0, 1]],
    [1, [0, 1]],
    [2, [0, 1, 2]],
    [7, [0, 5, 10]],
    [75, [0, 25, 50, 75]],
    [117, [0, 50, 100, 150]],
    [150, [0, 50, 100, 150]],
    [151, [0, 100, 200]],
    [9_999, [0, 5_000, 10_000]],
  ])("are round whole numbers that reach %d", (most, ticks) => {
    expect(niceTicks(most, 3)).toEqual(ticks);
  });

  test.each([
    [0, [0, 1]],
    [7, [0, 5, 10]],
    [2_600, [0, 1_000, 2_000, 3_000]],
    [40_000, [0, 15_000, 30_000, 45_000]],
    [170_000, [0, 60_000, 120_000, 180_000]],
    [100 * 3_600_000, [0, 34 * 3_600_000, 68 * 3_600_000, 102 * 3_600_000]],
  ])("are round durations that reach %d milliseconds", (most, ticks) => {
    expect(durationTicks(most, 3)).toEqual(ticks);
  });
});

test("a scale maps 0 and the domain to the ends", () => {
  const y = linear(200, 100, 0);
  expect([y(0), y(50), y(200)]).toEqual([100, 75, 0]);
  expect(linear(0, 100, 0)(5)).toBe(100);
});

test("a line has a gap where a point has no value", () => {
  expect(linePath([[0, 1], [1, 2.06], null, [3, 4]])).toBe("M0 1L1 2.1M3 4");
});

describe("labels of a time axis", () => {
  const from = (start: number, step: number) => (index: number) => (start + index * step) % 1_440;

  test("stand at round times of the day, not more than fit", () => {
    // Six hours from 02:40 in steps of five minutes.
    expect(roundPoints(72, 300_000, 8, from(160, 5)).map((index) => 160 + index * 5)).toEqual([
      180, 240, 300, 360, 420, 480,
    ]);
    expect(roundPoints(72, 300_000, 3, from(160, 5)).map((index) => 160 + index * 5)).toEqual([
      240, 360, 480,
    ]);
  });

  test("stand at midnight in a chart of days", () => {
    const points = roundPoints(168, 3_600_000, 8, from(600, 60));
    expect(points).toHaveLength(7);
    expect(points.every((index) => (600 + index * 60) % 1_440 === 0)).toBe(true);
  });

  test("leave days out where even midnights do not fit", () => {
    expect(roundPoints(168, 3_600_000, 3, from(600, 60)).length).toBeLessThanOrEqual(3);
  });

  test("are found in a zone whose days begin at half hours", () => {
    const points = roundPoints(168, 3_600_000, 3, (index) => (630 + index * 60) % 1_440);
    expect(points.length).toBeGreaterThan(0);
  });
});

describe("numbers", () => {
  test.each([
    [0, "0"],
    [3.44, "3.4"],
    [1_234, "1.2k"],
    [34_400, "34k"],
    [999_499, "999k"],
    [999_600, "1M"],
  ])("%d is %s on an axis", (value, text) => {
    expect(formatCompact(value)).toBe(text);
  });

  test("a count that was not counted to its end has a plus", () => {
    expect(formatCount({ value: 10_000, capped: true }).replace("\u202f", " ")).toBe("10 000+");
  });

  test.each([
    [0, "0 %"],
    [0.0004, "< 0.1 %"],
    [0.004, "0.4 %"],
    [0.1234, "12 %"],
  ])("the share %d is %s", (share, text) => {
    expect(formatShare(share).replaceAll("\u202f", " ")).toBe(text);
  });
});
