import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideTicks } from "../../src/schedule/misfire.ts";
import { type Misfire, Schedule } from "../../src/schedule/schedule.ts";

const at = (text: string) => Date.parse(`2026-01-01T${text}Z`);

function minutely(misfire: Partial<Misfire>): Schedule {
  return new Schedule({
    job: "job",
    cron: "0 * * * * *",
    timezone: "UTC",
    windows: [],
    startingAt: null,
    endingAt: null,
    misfire: { policy: "once", limit: 100, within: null, ...misfire },
    args: null,
    queue: null,
  });
}

const late = { nextTick: at("10:00:00"), waiting: false };

describe("a tick on time", () => {
  test.each(["once", "skip", "all"] as const)("%s runs it, and nothing was missed", (policy) => {
    expect(decideTicks(minutely({ policy }), late, at("10:00:00.004"))).toEqual({
      ticks: [at("10:00:00")],
      last: at("10:00:00"),
      next: at("10:01:00"),
      missed: 0,
    });
  });
});

describe("after downtime", () => {
  const now = at("10:05:30");

  test("once runs the latest tick and counts the others", () => {
    const decision = decideTicks(minutely({ policy: "once" }), late, now);
    expect(decision).toEqual({
      ticks: [at("10:05:00")],
      last: at("10:05:00"),
      next: at("10:06:00"),
      missed: 5,
    });
  });

  test("skip runs none", () => {
    expect(decideTicks(minutely({ policy: "skip" }), late, now)).toMatchObject({ ticks: [], missed: 6 });
  });

  test("skip runs a tick that is only late", () => {
    const decision = decideTicks(minutely({ policy: "skip" }), late, at("10:05:09"));
    expect(decision).toMatchObject({ ticks: [at("10:05:00")], missed: 5 });
  });

  test("skip runs a tick that is late by exactly the grace, and none that is later", () => {
    const skip = minutely({ policy: "skip" });
    expect(decideTicks(skip, late, at("10:05:10.000")).ticks).toEqual([at("10:05:00")]);
    expect(decideTicks(skip, late, at("10:05:10.001")).ticks).toEqual([]);
  });

  test("all runs every tick, oldest first, up to its limit", () => {
    const all = decideTicks(minutely({ policy: "all" }), late, now);
    expect(all.ticks).toEqual([0, 1, 2, 3, 4, 5].map((minute) => at(`10:0${minute}:00`)));
    expect(all.missed).toBe(0);
    const two = decideTicks(minutely({ policy: "all", limit: 2 }), late, now);
    expect(two).toMatchObject({ ticks: [at("10:04:00"), at("10:05:00")], missed: 4 });
  });

  test("ticks missed by more than within make no run", () => {
    const all = decideTicks(minutely({ policy: "all", within: 100_000 }), late, now);
    expect(all).toMatchObject({ ticks: [at("10:04:00"), at("10:05:00")], missed: 4 });
    expect(decideTicks(minutely({ policy: "once", within: 20_000 }), late, now)).toMatchObject({
      ticks: [],
      missed: 6,
    });
  });
});

describe("while a run of an earlier tick waits", () => {
  const behind = { nextTick: at("10:00:00"), waiting: true };

  test.each(["once", "skip"] as const)("%s makes no other and counts the tick as missed", (policy) => {
    expect(decideTicks(minutely({ policy }), behind, at("10:00:00"))).toMatchObject({ ticks: [], missed: 1 });
  });

  test("all makes them nevertheless", () => {
    expect(decideTicks(minutely({ policy: "all" }), behind, at("10:00:00")).ticks).toHaveLength(1);
  });
});

test("counting ten years of seconds is bounded", () => {
  const seconds = new Schedule({ ...minutely({ policy: "all" }).parts, cron: "* * * * * *" });
  const decision = decideTicks(
    seconds,
    { nextTick: Date.parse("2016-01-01"), waiting: false },
    at("00:00:00"),
  );
  expect(decision.ticks).toHaveLength(100);
  expect(decision.last).toBe(at("00:00:00"));
});

test("a stored tick counts even if this process would not have computed it", () => {
  const odd = { nextTick: at("10:00:17"), waiting: false };
  expect(decideTicks(minutely({}), odd, at("10:00:20"))).toMatchObject({
    ticks: [at("10:00:17")],
    last: at("10:00:17"),
    next: at("10:01:00"),
  });
});

test("after any downtime the mark never moves back, the next tick is ahead, and ticks ascend", () => {
  const policies = fc.constantFrom("once" as const, "skip" as const, "all" as const);
  fc.assert(
    fc.property(
      fc.constantFrom("0 * * * * *", "*/7 * * * * *", "0 0 2 * * *", "0 30 1 L * *"),
      fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"),
      policies,
      fc.integer({ min: 0, max: 90 * 86_400 }),
      fc.integer({ min: 0, max: 3 * 86_400 }),
      fc.boolean(),
      (cron, timezone, policy, start, downtime, waiting) => {
        const schedule = new Schedule({ ...minutely({ policy }).parts, cron, timezone });
        const nextTick = schedule.next(Date.parse("2026-02-01") + start * 1000)!;
        const now = nextTick + downtime * 1000;
        const { ticks, last, next, missed } = decideTicks(schedule, { nextTick, waiting }, now);
        expect(last).toBeGreaterThanOrEqual(nextTick);
        expect(last).toBeLessThanOrEqual(now);
        expect(next).toBeGreaterThan(now);
        expect(missed).toBeGreaterThanOrEqual(0);
        expect(ticks).toEqual([...ticks].sort((a, b) => a - b));
        expect(ticks.every((tick) => tick >= nextTick && tick <= now)).toBe(true);
      },
    ),
  );
});
