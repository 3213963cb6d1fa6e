import { expect, test } from "vitest";
import { leaderLine } from "../../src/cli/commands/work/report.ts";
import {
  ago,
  clock,
  countdown,
  counted,
  due,
  duration,
  grouped,
  moment,
  rough,
  span,
  stamp,
} from "../../src/cli/render/formats.ts";
import { iconsFor } from "../../src/cli/render/icons.ts";
import { zoneFor } from "../../src/cli/render/page.ts";
import { pageOf } from "./support/page.ts";

const now = new Date("2026-11-15T15:02:11Z");
const at = (seconds: number) => new Date(now.getTime() + seconds * 1000);

test("spans have one unit", () => {
  expect(ago(at(-22), now)).toBe("22s ago");
  expect(ago(at(-0.4), now)).toBe("now");
  expect(ago(at(-125), now)).toBe("2m ago");
  expect(ago(at(-25 * 3600), now)).toBe("25h ago");
  expect(ago(at(-12 * 86_400), now)).toBe("12d ago");
  expect(ago(at(5), now)).toBe("in 5s");
  expect(due(at(38), now)).toBe("in 38s");
  expect(due(at(0), now)).toBe("now");
  expect(due(at(3500), now)).toBe("in 58m");
  expect(due(at(-250), now)).toBe("4m overdue");
  expect(span(59_999)).toBe("59s");
});

test("durations have two units", () => {
  expect(
    [0, 840, 1140, 30_000, 59_999, 72_000, 7_500_000, 3 * 86_400_000 + 4 * 3_600_000].map(duration),
  ).toEqual(["0ms", "840ms", "1.1s", "30.0s", "59.9s", "1m12s", "2h05m", "3d04h"]);
  expect(countdown(15_000)).toBe("0:15");
  expect(countdown(3_760_000)).toBe("1:02:40");
});

test("instants are printed in a zone", () => {
  expect(stamp(now, "UTC")).toBe("2026-11-15 15:02:11 UTC");
  expect(stamp(now, "Europe/Berlin")).toBe("2026-11-15 16:02:11 +01:00");
  expect(stamp(now, "Asia/Kolkata")).toBe("2026-11-15 20:32:11 +05:30");
  expect(clock(new Date("2026-11-15T00:00:00Z"), "UTC")).toBe("00:00:00");
  expect(moment(at(600), now, "UTC")).toBe("15:12:11");
  expect(moment(new Date("2026-11-16T09:00:00Z"), now, "UTC")).toBe("Mon 09:00");
  expect(moment(new Date("2026-12-24T09:00:00Z"), now, "UTC")).toBe("2026-12-24");
});

test("the zone is the given one, and must exist", () => {
  expect(zoneFor({ utc: true, timezone: "Europe/Berlin" })).toBe("UTC");
  expect(zoneFor({ timezone: "Europe/Berlin" })).toBe("Europe/Berlin");
  expect(() => zoneFor({ timezone: "Europe/Atlantis" })).toThrow(
    expect.objectContaining({ code: "INVALID_ZONE" }),
  );
  expect(zoneFor({})).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone);
});

test("icons need a terminal that can display them", () => {
  expect(iconsFor({ LANG: "en_US.UTF-8" }, "linux").ok).toBe("✓");
  expect(iconsFor({ LANG: "en_US.UTF-8", LC_ALL: "C" }, "linux").ok).toBe("[ok]");
  expect(iconsFor({ LANG: "en_US.UTF-8", TERM: "dumb" }, "linux").failed).toBe("[!!]");
  expect(iconsFor({}, "linux").ok).toBe("[ok]");
  expect(iconsFor({}, "win32").ok).toBe("✓");
  for (const letter of Object.values(iconsFor({}, "linux"))) expect(letter).toMatch(/^[ -~]+$/);
});

test("numbers", () => {
  expect(grouped(1_204_000)).toBe("1,204,000");
  expect([0.44, 7, 950, 22_400, 1_240_000].map(rough)).toEqual(["0.4", "7", "950", "22k", "1.2M"]);
  expect(counted(1, "run")).toBe("1 run");
  expect(counted(1200, "query", "queries")).toBe("1,200 queries");
});

test("a leader line is as wide as the page, and cuts its left part", () => {
  expect(leaderLine("15:02:12  sync", "1.1s  DONE", pageOf(40))).toBe(
    "15:02:12  sync .............. 1.1s  DONE",
  );
  expect(leaderLine("15:02:12  sync", "1.1s  DONE", pageOf(40))).toHaveLength(40);
  expect(leaderLine("15:02:12  a-very-long-name", "1.1s  DONE", pageOf(30))).toBe(
    "15:02:12  a-ve… ... 1.1s  DONE",
  );
  expect(leaderLine("15:02:12  a-very-long-name", "1.1s  DONE", pageOf(8)).length).toBeLessThanOrEqual(8);
  expect(leaderLine("a\x1b[31m", "b\n", pageOf(null))).not.toContain("\x1b");
});
