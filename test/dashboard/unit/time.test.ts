import { describe, expect, test } from "vitest";
import {
  formatAbsolute,
  formatAge,
  formatClock,
  formatCountdown,
  formatDuration,
  formatRelative,
  formatShort,
  formatTick,
} from "../../../dashboard/src/time/format.ts";

const plain = (text: string) => text.replaceAll("\u202f", " ");
const NOW = Date.parse("2026-11-15T13:02:11.500Z");

test.each([
  [0, "0 ms"],
  [0.4, "0 ms"],
  [12, "12 ms"],
  [999.4, "999 ms"],
  [999.6, "1 s"],
  [1_234, "1.2 s"],
  [9_960, "10 s"],
  [59_600, "1 m"],
  [72_000, "1 m 12 s"],
  [3_599_700, "1 h"],
  [7_500_000, "2 h 5 m"],
  [86_399_999, "1 d"],
  [100 * 3_600_000, "4 d 4 h"],
  [-5, "0 ms"],
])("%d milliseconds are %s", (milliseconds, text) => {
  expect(plain(formatDuration(milliseconds))).toBe(text);
});

test.each([
  [59_999, "59 s"],
  [60_000, "1 m"],
  [7_199_999, "1 h"],
  [3 * 86_400_000, "3 d"],
])("an age of %d milliseconds is %s", (milliseconds, text) => {
  expect(plain(formatAge(milliseconds))).toBe(text);
});

test.each([
  [0, "now"],
  [-999, "now"],
  [-120_000, "2 m ago"],
  [40_100, "in 41 s"],
  [60_000, "in 1 m"],
])("%d milliseconds from now is %s", (distance, text) => {
  expect(plain(formatRelative(NOW + distance, NOW))).toBe(text);
});

test.each([
  [37_200, "00:38"],
  [252_000, "04:12"],
  [3_852_000, "1:04:12"],
  [-5_000, "due"],
  [86_400_000, "1 d"],
])("a countdown of %d milliseconds is %s", (milliseconds, text) => {
  expect(plain(formatCountdown(milliseconds))).toBe(text);
});

describe("in a zone", () => {
  test("a time has the date and the clock of the zone", () => {
    expect(formatAbsolute(NOW, "UTC")).toBe("2026-11-15 13:02:11 UTC");
    expect(formatAbsolute(NOW, "Europe/Berlin")).toBe("2026-11-15 14:02:11 Europe/Berlin");
    expect(formatClock(NOW, "Asia/Kolkata")).toBe("18:32");
  });

  test("midnight is 00:00", () => {
    expect(formatClock(Date.parse("2026-11-15T00:00:00Z"), "UTC")).toBe("00:00");
  });

  test("a time of another day of that zone names the day", () => {
    expect(formatShort(NOW, NOW, "UTC")).toBe("13:02");
    // In Auckland it is already the next day at noon UTC, and still the same at 10:00 UTC.
    expect(formatShort(Date.parse("2026-11-15T10:00:00Z"), NOW, "Pacific/Auckland")).toBe("Sun 23:00");
    expect(formatShort(Date.parse("2026-11-20T09:00:00Z"), NOW, "UTC")).toBe("Fri 09:00");
    expect(formatShort(Date.parse("2026-12-01T09:00:00Z"), NOW, "UTC")).toBe("1 Dec 09:00");
  });
});

test.each([
  ["2026-11-17T23:00:00Z", "Europe/Berlin", "Wed 18 Nov 00:00"],
  ["2026-11-17T23:00:00Z", "UTC", "Tue 17 Nov 23:00"],
  ["2027-01-01T00:00:05Z", "UTC", "Fri 1 Jan 00:00:05"],
  ["2028-02-29T12:00:00Z", "UTC", "Tue 29 Feb 2028 12:00"],
])("a tick at %s in %s is %s", (at, zone, text) => {
  expect(formatTick(Date.parse(at), NOW, zone)).toBe(text);
});
