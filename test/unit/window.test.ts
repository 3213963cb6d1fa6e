import { describe, expect, test } from "vitest";
import { Schedule } from "../../src/schedule/schedule.ts";
import { toWindow, type Window } from "../../src/schedule/window.ts";

function schedule(cron: string, timezone: string, ...windows: Window[]): Schedule {
  const misfire = { policy: "once", limit: 100, within: null } as const;
  return new Schedule({
    job: "job",
    cron,
    timezone,
    windows,
    startingAt: null,
    endingAt: null,
    misfire,
    args: null,
    queue: null,
  });
}

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const next = (of: Schedule, after: string) => iso(of.next(Date.parse(after)));
const latest = (of: Schedule, upTo: string) => iso(of.latest(Date.parse(upTo), 0));

describe("between", () => {
  const office = schedule("*/10 * * * *", "Europe/Berlin", toWindow("8:00", "17:00", true));

  test("includes both ends", () => {
    expect(next(office, "2026-06-01T05:59:59Z")).toBe("2026-06-01T06:00:00.000Z");
    expect(next(office, "2026-06-01T14:59:59Z")).toBe("2026-06-01T15:00:00.000Z");
  });

  test("ticks again when the window opens", () => {
    expect(next(office, "2026-06-01T15:00:00Z")).toBe("2026-06-02T06:00:00.000Z");
    expect(latest(office, "2026-06-02T05:00:00Z")).toBe("2026-06-01T15:00:00.000Z");
  });

  test("follows the wall clock over a clock change", () => {
    expect(next(office, "2026-03-28T20:00:00Z")).toBe("2026-03-29T06:00:00.000Z");
    expect(next(office, "2026-10-24T20:00:00Z")).toBe("2026-10-25T07:00:00.000Z");
  });

  test("may include midnight", () => {
    const night = schedule("0 * * * *", "UTC", toWindow("22:00", "6:00", true));
    expect(next(night, "2026-06-01T06:00:00Z")).toBe("2026-06-01T22:00:00.000Z");
    expect(next(night, "2026-06-01T23:30:00Z")).toBe("2026-06-02T00:00:00.000Z");
  });
});

test("unlessBetween excludes the window", () => {
  const awake = schedule("*/5 * * * *", "Europe/Berlin", toWindow("22:00", "6:00", false));
  expect(next(awake, "2026-06-28T21:00:00Z")).toBe("2026-06-29T04:05:00.000Z");
});

test("a cron of every second is not searched second by second outside a window", () => {
  const seconds = schedule("* * * * * *", "UTC", toWindow("8:00", "8:00:01", true));
  expect(next(seconds, "2026-06-01T08:00:01Z")).toBe("2026-06-02T08:00:00.000Z");
  expect(latest(seconds, "2026-06-02T07:59:59Z")).toBe("2026-06-01T08:00:01.000Z");
});

test("a window without any tick of the cron is detected", () => {
  expect(
    next(schedule("0 12 * * *", "UTC", toWindow("8:00", "9:00", true)), "2026-01-01T00:00:00Z"),
  ).toBeNull();
});

test.each(["24:00", "8:60", "noon", "", "8:00 pm"])("%j is refused", (text) => {
  expect(() => toWindow(text, "9:00", true)).toThrow(expect.objectContaining({ code: "INVALID_CRON" }));
});
