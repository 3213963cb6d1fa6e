import { afterEach, describe, expect, test, vi } from "vitest";
import {
  clockSkew,
  DAY,
  type Duration,
  type Instant,
  sleep,
  systemClock,
  toInstant,
  toMilliseconds,
} from "../../src/time.ts";

describe("durations", () => {
  test.each<[Duration, number]>([
    [0, 0],
    [5, 5000],
    [0.2, 200],
    [0.0004, 0],
    [0.0005, 1],
    [3600, 3_600_000],
    ["0s", 0],
    ["200ms", 200],
    ["1 millisecond", 1],
    ["200 milliseconds", 200],
    ["90s", 90_000],
    ["90 sec", 90_000],
    ["90 secs", 90_000],
    ["1 second", 1000],
    ["90 seconds", 90_000],
    ["5m", 300_000],
    ["5 min", 300_000],
    ["5 mins", 300_000],
    ["5 minutes", 300_000],
    ["1h", 3_600_000],
    ["1 hour", 3_600_000],
    ["1.5 hours", 5_400_000],
    ["1h 30m", 5_400_000],
    ["1h30m", 5_400_000],
    ["1 hour 30 minutes", 5_400_000],
    ["2d", 172_800_000],
    ["2 days", 172_800_000],
    ["1w", 604_800_000],
    ["2 weeks", 1_209_600_000],
    ["  10 S ", 10_000],
    ["1H", 3_600_000],
    ["365250 days", 31_557_600_000_000],
  ])("%j is %d ms", (duration, ms) => {
    expect(toMilliseconds(duration)).toBe(ms);
  });

  test.each<[unknown]>([
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [""],
    ["  "],
    ["5"],
    ["s"],
    ["soon"],
    ["-5s"],
    ["+5s"],
    [".5s"],
    ["5.s"],
    ["1e3s"],
    ["1,5h"],
    ["1h, 30m"],
    ["1h 30"],
    ["5 hs"],
    ["5 mss"],
    ["1 month"],
    ["1 constructor"],
    ["１h"],
    [`${"1s".repeat(60)}`],
    [null],
    [undefined],
    [true],
    [5n],
    [Symbol("s")],
    [{}],
    [new Date(0)],
  ])("%s is refused", (duration) => {
    expect(() => toMilliseconds(duration as Duration)).toThrow(
      expect.objectContaining({ name: "PunctualError", code: "INVALID_DURATION" }),
    );
  });

  test("the message has the expected and the given value", () => {
    expect(() => toMilliseconds("5", "a lease")).toThrow(
      'Expected a lease as seconds or text such as "200ms", "90s" or "1 hour", got "5".',
    );
    expect(() => toMilliseconds(-1)).toThrow("Expected a duration as seconds or text");
  });

  test.each<[Duration]>([[1e300], [`${"9".repeat(90)}w`], ["365251 days"]])(
    "%s is beyond the calendar",
    (duration) => {
      expect(() => toMilliseconds(duration)).toThrow(expect.objectContaining({ code: "INVALID_DURATION" }));
    },
  );

  test("the message names the longest duration if it is exceeded", () => {
    expect(() => toMilliseconds(1e300)).toThrow("got 1e+300. The longest is 1,000 years.");
  });
});

describe("instants", () => {
  const ten = Date.UTC(2026, 11, 1, 10);

  test.each<[Instant, number]>([
    [new Date(ten), ten],
    [new Date(0), 0],
    ["2026-12-01T10:00:00Z", ten],
    ["2026-12-01T10:00:00z", ten],
    ["2026-12-01t10:00:00Z", ten],
    ["2026-12-01T10:00Z", ten],
    ["2026-12-01T10:00:00.5Z", ten + 500],
    ["2026-12-01T10:00:00.123456789Z", ten + 123],
    ["2026-12-01 10:00:00 Z", ten],
    ["  2026-12-01T10:00:00Z  ", ten],
    ["2026-12-01T12:00:00+02:00", ten],
    ["2026-12-01T12:00+0200", ten],
    ["2026-12-01T04:30:00-05:30", ten],
    ["2026-12-01T24:00:00Z", Date.UTC(2026, 11, 2)],
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    ["1969-12-31T23:59:59.999Z", -1],
  ])("%s", (instant, ms) => {
    expect(toInstant(instant)).toBe(ms);
  });

  test.each<[Instant, number]>([
    ["2026-12-01", Date.UTC(2026, 11, 1)],
    ["2026-12-01T10:00", ten],
    ["2026-12-01 10:00:00", ten],
  ])("%j without an offset is UTC, whatever the machine's zone", (instant, ms) => {
    const zone = process.env.TZ;
    process.env.TZ = "America/New_York";
    try {
      expect(toInstant(instant)).toBe(ms);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  test.each<[unknown]>([
    [""],
    ["tomorrow"],
    ["2026"],
    ["2026-12"],
    ["2026-1-1"],
    ["2026-02-30"],
    ["2025-02-29T10:00:00Z"],
    ["2026-13-01"],
    ["2026-00-10"],
    ["2026-12-01T25:00"],
    ["2026-12-01T24:01"],
    ["2026-12-01T10:60"],
    ["2026-12-01T10:00:60Z"],
    ["2026-12-01T10"],
    ["2026-12-01T10:00+02"],
    ["2026-12-01T10:00+24:00"],
    ["2026-12-01T10:00 Europe/Berlin"],
    ["12/01/2026"],
    ["Tue, 01 Dec 2026 10:00:00 GMT"],
    [null],
    [undefined],
    [{}],
    [1n],
  ])("%s is refused", (instant) => {
    expect(() => toInstant(instant as Instant)).toThrow(
      expect.objectContaining({ name: "PunctualError", code: "INVALID_INSTANT" }),
    );
  });

  test("the message has the expected and the given value, and a remedy", () => {
    expect(() => toInstant("tomorrow")).toThrow(
      'Expected a Date or an ISO 8601 text such as "2026-12-01T10:00:00Z", got "tomorrow".',
    );
    expect(() => toInstant(60 as unknown as Instant)).toThrow(
      "got 60. For a number of seconds from now use delay().",
    );
    expect(() => toInstant(new Date(Number.NaN))).toThrow("got an invalid Date.");
  });
});

describe("sleeping", () => {
  test("ends at once if the signal has aborted, and when it aborts", async () => {
    await sleep(systemClock, 3_600_000, AbortSignal.abort());
    const controller = new AbortController();
    const slept = sleep(systemClock, 3_600_000, controller.signal);
    controller.abort();
    await slept;
  });

  test("a timer of the system clock can be cancelled", async () => {
    let called = false;
    const cancel = systemClock.after(0, () => {
      called = true;
    });
    cancel();
    await sleep(systemClock, 5);
    expect(called).toBe(false);
  });

  test("a timer longer than Node's longest does not fire at once", async () => {
    let called = false;
    const cancel = systemClock.after(2 ** 40, () => {
      called = true;
    });
    await sleep(systemClock, 5);
    cancel();
    expect(called).toBe(false);
  });
});

describe("the system's clock", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("fires a timer that is longer than Node's longest when it is due, not before", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    let fired = 0;
    systemClock.after(60 * DAY, () => fired++);
    vi.advanceTimersByTime(59 * DAY);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(2 * DAY);
    expect(fired).toBe(1);
  });
});

test.each([
  { theirs: 100, sent: 100, received: 100, skew: 0 },
  { theirs: 105, sent: 100, received: 9000, skew: 0 },
  { theirs: 9001, sent: 100, received: 9000, skew: 1 },
  { theirs: 90, sent: 100, received: 9000, skew: -10 },
])("the skew of a clock that showed $theirs between $sent and $received is $skew", (one) => {
  expect(clockSkew(one.theirs, one.sent, one.received)).toBe(one.skew);
});
