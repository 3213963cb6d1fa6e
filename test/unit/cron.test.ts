import { describe, expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { Cron } from "../../src/schedule/cron.ts";

function ticks(cron: string, timezone: string, after: string, count = 3): string[] {
  return new Cron(cron, { timezone }).upcoming(count, new Date(after)).map((date) => date.toISOString());
}

function days(cron: string, after: string, count = 4): string[] {
  return ticks(cron, "UTC", after, count).map((text) => text.slice(0, 10));
}

function refusal(act: () => unknown): PunctualError {
  try {
    act();
  } catch (error) {
    if (error instanceof PunctualError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("syntax", () => {
  test.each([
    ["five fields run at second 0", "5 4 * * *", "0 5 4 * * *"],
    ["six fields start with seconds", "1 2 3 4 5 6", "1 2 3 4 5 6"],
    ["tabs and many blanks separate", " 0\t 0  1 jan\t* ", "0 0 0 1 JAN *"],
    ["? is * in day fields", "0 0 ? * ?", "0 0 0 * * *"],
    ["leading zeros", "00 03 * * *", "0 00 03 * * *"],
    ["@yearly", "@yearly", "0 0 0 1 1 *"],
    ["@annually", "@annually", "0 0 0 1 1 *"],
    ["@monthly", "@monthly", "0 0 0 1 * *"],
    ["@weekly", "@Weekly", "0 0 0 * * 0"],
    ["@daily", "@daily", "0 0 0 * * *"],
    ["@midnight", "@midnight", "0 0 0 * * *"],
    ["@hourly", "@hourly", "0 0 * * * *"],
  ])("%s", (_, source, six) => {
    const cron = new Cron(source);
    expect(cron.toString()).toBe(six);
    expect(new Cron(cron.toString()).toString()).toBe(six);
  });

  test.each([
    ["0 0 * * 7", "0 0 * * SUN"],
    ["0 0 * * FRI-SUN", "0 0 * * 5,6,0"],
    ["0 0 * * sun-tue", "0 0 * * 0-2"],
    ["0 0 * * 5-7", "0 0 * * 0,5,6"],
    ["0 0 * * */2", "0 0 * * 0,2,4,6"],
    ["0 0 * * 1-7/2", "0 0 * * 1,3,5,0"],
    ["0 0 1 JAN-mar,Dec *", "0 0 1 1,2,3,12 *"],
    ["1,1-3,2 * * * *", "1-3 * * * *"],
    ["*/60 * * * *", "0 * * * *"],
    ["10-30/9 * * * *", "10,19,28 * * * *"],
    ["0 0 * * FRI#2", "0 0 * * 5#2"],
    ["0 0 * * sunL", "0 0 * * 7L"],
  ])("%s ticks as %s", (one, other) => {
    const after = "2026-01-10T00:00:00Z";
    expect(ticks(one, "UTC", after, 40)).toEqual(ticks(other, "UTC", after, 40));
  });

  test.each([
    ["L is the last day", "0 0 L * *", ["2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30"]],
    ["LW is the last weekday", "0 0 LW * *", ["2028-01-31", "2028-02-29", "2028-03-31", "2028-04-28"]],
    ["15W is the nearest weekday", "0 0 15W * *", ["2028-01-14", "2028-02-15", "2028-03-15", "2028-04-14"]],
    ["1W stays in its month", "0 0 1W 1,4,7,10 *", ["2028-04-03", "2028-07-03", "2028-10-02", "2029-01-01"]],
    ["31W needs a 31st", "0 0 31W * *", ["2028-01-31", "2028-03-31", "2028-05-31", "2028-07-31"]],
    ["30W back from the end", "0 0 30W 4 *", ["2028-04-28", "2029-04-30", "2030-04-30", "2031-04-30"]],
    ["5#2 is the second Friday", "0 0 * * 5#2", ["2028-01-14", "2028-02-11", "2028-03-10", "2028-04-14"]],
    ["1#5 skips months without", "0 0 * * 1#5", ["2028-01-31", "2028-05-29", "2028-07-31", "2028-10-30"]],
    ["5L is the last Friday", "0 0 * * 5L", ["2028-01-28", "2028-02-25", "2028-03-31", "2028-04-28"]],
    ["they mix with plain ones", "0 0 10,L * *", ["2028-01-10", "2028-01-31", "2028-02-10", "2028-02-29"]],
    ["and with the other field", "0 0 L * 1#2", ["2028-01-10", "2028-01-31", "2028-02-14", "2028-02-29"]],
  ])("%s", (_, cron, expected) => {
    expect(days(cron, "2028-01-05T00:00:00Z")).toEqual(expected);
  });
});

describe("day of month and day of week", () => {
  test("both restricted: either matches", () => {
    expect(days("0 0 13 * 5", "2026-02-07T00:00:00Z", 5)).toEqual([
      "2026-02-13",
      "2026-02-20",
      "2026-02-27",
      "2026-03-06",
      "2026-03-13",
    ]);
  });

  test("a step restricts", () => {
    expect(days("0 0 */10 * 1", "2026-01-01T00:00:00Z")).toEqual(
      days("0 0 1,11,21,31 * 1", "2026-01-01T00:00:00Z"),
    );
  });

  test("a full range restricts, a lone * does not", () => {
    expect(days("0 0 1-31 * 1", "2026-01-01T00:00:00Z", 2)).toEqual(["2026-01-02", "2026-01-03"]);
    expect(days("0 0 * * 1", "2026-01-01T00:00:00Z", 2)).toEqual(["2026-01-05", "2026-01-12"]);
    expect(days("0 0 ? * 1", "2026-01-01T00:00:00Z", 2)).toEqual(["2026-01-05", "2026-01-12"]);
  });
});

describe("the calendar", () => {
  test("1 March follows 31 January if February is skipped", () => {
    expect(days("0 0 1,31 * *", "2022-01-15T00:00:00Z", 4)).toEqual([
      "2022-01-31",
      "2022-02-01",
      "2022-03-01",
      "2022-03-31",
    ]);
    expect(days("0 0 */15 * *", "2022-02-16T12:00:00Z", 3)).toEqual([
      "2022-03-01",
      "2022-03-16",
      "2022-03-31",
    ]);
  });

  test("29 February, also across centuries without one", () => {
    expect(days("0 0 29 2 *", "2197-01-01T00:00:00Z", 1)).toEqual(["2204-02-29"]);
    expect(days("0 0 29 2 *", "2397-01-01T00:00:00Z", 1)).toEqual(["2400-02-29"]);
    expect(days("0 0 29 2 *", "2026-01-01T00:00:00Z", 2)).toEqual(["2028-02-29", "2032-02-29"]);
    expect(days("0 0 29 2 *", "2097-01-01T00:00:00Z", 1)).toEqual(["2104-02-29"]);
    expect(new Cron("0 0 29 2 *").previous(Date.UTC(2103, 0))?.toISOString()).toBe(
      "2096-02-29T00:00:00.000Z",
    );
  });

  test("a fifth Monday in February may take forty years", () => {
    for (const timezone of ["UTC", "America/New_York"]) {
      const cron = new Cron("0 12 * 2 1#5", { timezone });
      const next = cron.next(Date.UTC(2073, 0));
      expect(next?.toISOString().slice(0, 10)).toBe("2112-02-29");
      expect(cron.previous(Date.UTC(2112, 0))?.toISOString().slice(0, 10)).toBe("2072-02-29");
    }
  });

  test("the ends of hours, days and years", () => {
    const after = "2025-12-31T23:59:59.999Z";
    expect(ticks("* * * * * *", "UTC", after, 1)).toEqual(["2026-01-01T00:00:00.000Z"]);
    expect(ticks("59 59 23 31 12 *", "UTC", after, 1)).toEqual(["2026-12-31T23:59:59.000Z"]);
    expect(ticks("31,32 59 * * * *", "UTC", "2026-01-01T00:59:31Z", 2)).toEqual([
      "2026-01-01T00:59:32.000Z",
      "2026-01-01T01:59:31.000Z",
    ]);
  });

  test("before 1970 and far ahead", () => {
    expect(days("0 0 1 1 *", "1899-06-01T00:00:00Z", 2)).toEqual(["1900-01-01", "1901-01-01"]);
    expect(ticks("0 12 1 7 *", "Europe/Berlin", "9998-12-01T00:00:00Z", 1)).toEqual([
      "9999-07-01T10:00:00.000Z",
    ]);
  });

  test("beyond the range of Date there is no tick", () => {
    for (const timezone of ["UTC", "Europe/Berlin"]) {
      const cron = new Cron("0 0 1 1 *", { timezone });
      expect(cron.next(8.64e15)).toBeUndefined();
      expect(cron.previous(-8.64e15)).toBeUndefined();
      expect(cron.upcoming(3, 8.64e15)).toEqual([]);
    }
  });
});

describe("instants", () => {
  const cron = new Cron("*/5 * * * *");
  const tick = Date.UTC(2026, 0, 1, 10, 5);

  test("next and previous are strict", () => {
    expect(cron.nextMs(tick - 1)).toBe(tick);
    expect(cron.nextMs(tick)).toBe(tick + 300_000);
    expect(cron.previousMs(tick + 1)).toBe(tick);
    expect(cron.previousMs(tick)).toBe(tick - 300_000);
    expect(cron.nextMs(tick - 0.5)).toBe(tick);
  });

  test("a Date and its milliseconds are equivalent", () => {
    expect(cron.next(new Date(tick))).toEqual(cron.next(tick));
    expect(cron.previous(new Date(tick))).toEqual(cron.previous(tick));
  });

  test("matches compares the whole second", () => {
    expect(cron.matches(tick)).toBe(true);
    expect(cron.matches(new Date(tick + 999))).toBe(true);
    expect(cron.matches(tick + 1000)).toBe(false);
    expect(cron.matches(tick - 1)).toBe(false);
  });

  test.each([new Date(Number.NaN), Number.NaN, Number.POSITIVE_INFINITY, "2026" as unknown as number])(
    "%s is refused",
    (instant) => {
      expect(refusal(() => cron.next(instant)).code).toBe("INVALID_INSTANT");
      expect(refusal(() => cron.previous(instant)).code).toBe("INVALID_INSTANT");
      expect(refusal(() => cron.matches(instant)).code).toBe("INVALID_INSTANT");
    },
  );
});

describe("clock changes", () => {
  test.each([
    // Gaps: a fixed time runs once, at the first instant after the change.
    ["30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", ["2026-03-08T07:00", "2026-03-09T06:30"]],
    [
      "15,30,45 2 * * *",
      "America/New_York",
      "2026-03-08T00:00:00Z",
      ["2026-03-08T07:00", "2026-03-09T06:15"],
    ],
    ["30 2 * * *", "Australia/Sydney", "2026-10-03T12:00:00Z", ["2026-10-03T16:00", "2026-10-04T15:30"]],
    ["15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", ["2026-10-03T15:30", "2026-10-04T15:15"]],
    ["0 3 * * *", "Pacific/Chatham", "2026-09-26T00:00:00Z", ["2026-09-26T14:00", "2026-09-27T13:15"]],
    ["30 1,2 * * *", "Antarctica/Troll", "2026-03-28T12:00:00Z", ["2026-03-29T01:00", "2026-03-29T23:30"]],
    ["0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", ["2026-03-08T05:00", "2026-03-09T04:00"]],
    // From the instants around the change.
    ["30 2 * * *", "America/New_York", "2026-03-08T06:59:59.999Z", ["2026-03-08T07:00", "2026-03-09T06:30"]],
    ["30 2 * * *", "America/New_York", "2026-03-08T07:00:00Z", ["2026-03-09T06:30", "2026-03-10T06:30"]],
    // Folds: a fixed time runs in the first pass only, also from inside the second.
    ["30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", ["2026-11-01T05:30", "2026-11-02T06:30"]],
    ["30 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", ["2026-11-02T06:30", "2026-11-03T06:30"]],
    ["30 2 * * *", "Australia/Sydney", "2026-04-04T12:00:00Z", ["2026-04-04T15:30", "2026-04-05T16:30"]],
    ["45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", ["2026-04-04T14:45", "2026-04-05T15:15"]],
    ["0 3 * * *", "Pacific/Chatham", "2026-04-04T00:00:00Z", ["2026-04-04T13:15", "2026-04-05T14:15"]],
    ["30 1,2 * * *", "Antarctica/Troll", "2026-10-24T23:00:00Z", ["2026-10-24T23:30", "2026-10-25T00:30"]],
    ["30 1,2 * * *", "Antarctica/Troll", "2026-10-25T01:00:00Z", ["2026-10-26T01:30", "2026-10-26T02:30"]],
    ["0 0 * * *", "America/Havana", "2026-10-31T12:00:00Z", ["2026-11-01T04:00", "2026-11-02T05:00"]],
    // Interval jobs follow real time through both.
    ["*/30 * * * *", "America/New_York", "2026-03-08T06:29:00Z", ["2026-03-08T06:30", "2026-03-08T07:00"]],
    ["30 * * * *", "America/New_York", "2026-11-01T05:00:00Z", ["2026-11-01T05:30", "2026-11-01T06:30"]],
    ["*/30 1 * * *", "America/New_York", "2026-11-01T05:15:00Z", ["2026-11-01T05:30", "2026-11-01T06:00"]],
    ["*/30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", ["2026-03-09T06:00", "2026-03-09T06:30"]],
    ["*/15 * * * *", "Australia/Lord_Howe", "2026-04-04T14:50:00Z", ["2026-04-04T15:00", "2026-04-04T15:15"]],
    // A day that does not exist gets no tick.
    ["0 12 * * *", "Pacific/Apia", "2011-12-29T10:00:00Z", ["2011-12-29T22:00", "2011-12-30T22:00"]],
    ["0 12 30 12 *", "Pacific/Apia", "2011-12-01T10:00:00Z", ["2012-12-29T22:00", "2013-12-29T22:00"]],
    ["*/15 * * * *", "Pacific/Apia", "2011-12-30T09:40:00Z", ["2011-12-30T09:45", "2011-12-30T10:00"]],
    // A gap of three hours is too large to make up for.
    ["0 2 * * *", "Antarctica/Casey", "2009-10-17T00:00:00Z", ["2009-10-18T15:00", "2009-10-19T15:00"]],
    // The same change backwards is a fold: repeated times tick once.
    ["30 0 * * *", "Antarctica/Casey", "2010-03-04T12:00:00Z", ["2010-03-04T13:30", "2010-03-05T16:30"]],
  ])("%s in %s after %s", (cron, timezone, after, expected) => {
    expect(ticks(cron, timezone, after, 2).map((text) => text.slice(0, 16))).toEqual(expected);
  });

  test("the tick of a gap is a tick like any other", () => {
    const cron = new Cron("30 2 * * *", { timezone: "America/New_York" });
    const change = Date.UTC(2026, 2, 8, 7);
    expect(cron.matches(change)).toBe(true);
    expect(cron.matches(change + 1_800_000)).toBe(false);
    expect(cron.previousMs(change + 1)).toBe(change);
    expect(cron.previousMs(change)).toBe(Date.UTC(2026, 2, 7, 7, 30));
  });

  test("each of 48 or 50 half hours ticks once on the day of a change", () => {
    const cron = new Cron("*/30 * * * *", { timezone: "America/New_York" });
    const ran = (from: number, to: number) => {
      let count = 0;
      for (let at = cron.nextMs(from - 1); at !== undefined && at < to; at = cron.nextMs(at)) count++;
      return count;
    };
    expect(ran(Date.UTC(2026, 2, 8, 5), Date.UTC(2026, 2, 9, 4))).toBe(46);
    expect(ran(Date.UTC(2026, 10, 1, 4), Date.UTC(2026, 10, 2, 5))).toBe(50);
  });

  test("a repeated hour is recognised wherever the zone's table is cut", () => {
    // The table is read in parts of 2^25 seconds; one begins eight minutes into this fold.
    expect(ticks("30 1 * * *", "America/Los_Angeles", "2185-11-06T09:10:00Z", 1)).toEqual([
      "2185-11-07T09:30:00.000Z",
    ]);
  });

  test("two changes within a week are both found", () => {
    const cron = new Cron("0 12 * * *", { timezone: "America/Recife" });
    expect(cron.upcoming(2, Date.UTC(2000, 9, 10)).map((date) => date.getUTCHours())).toEqual([14, 14]);
    expect(cron.upcoming(2, Date.UTC(2000, 9, 16)).map((date) => date.getUTCHours())).toEqual([15, 15]);
  });
});

describe("zones", () => {
  test("default to UTC; names in any case, aliases and fixed offsets are accepted", () => {
    const after = "2026-06-01T00:00:00Z";
    expect(new Cron("0 9 * * *").timezone).toBe("UTC");
    expect(new Cron("0 9 * * *", { timezone: undefined }).timezone).toBe("UTC");
    expect(ticks("0 9 * * *", "europe/BERLIN", after, 1)).toEqual(["2026-06-01T07:00:00.000Z"]);
    expect(ticks("0 9 * * *", "Asia/Kolkata", after)).toEqual(ticks("0 9 * * *", "Asia/Calcutta", after));
    expect(ticks("0 9 * * *", "+02:00", after, 1)).toEqual(["2026-06-01T07:00:00.000Z"]);
  });

  test.each(["", "Mars/Olympus", " UTC", "Europe/Berlin\n", null, 5])("%j is refused", (timezone) => {
    const error = refusal(() => new Cron("* * * * *", { timezone: timezone as string }));
    expect(error.code).toBe("INVALID_ZONE");
    expect(error.message).toContain('such as "Europe/Berlin"');
  });
});

describe("errors", () => {
  test.each([
    ["", "it is empty; expected 5 or 6 fields"],
    ["* * *", "it has 3 fields; expected 5 or 6: [second] minute hour day-of-month month day-of-week"],
    ["* * * * * * 2026", "it has 7 fields; expected 5 or 6"],
    ["0 25 * * *", 'field 2 (hour) "25": "25" is out of range. Allowed: 0-23,'],
    ["0 0 25 * * *", 'field 3 (hour) "25": "25" is out of range. Allowed: 0-23,'],
    ["1,60 * * * *", 'field 1 (minute) "1,60": "60" is out of range. Allowed: 0-59,'],
    ["0 0 0 * *", 'field 3 (day of month) "0": "0" is out of range. Allowed: 1-31, L, LW, 15W, ?,'],
    ["0 0 * 13 *", 'field 4 (month) "13": "13" is out of range. Allowed: 1-12, JAN-DEC,'],
    [
      "0 0 * * 8",
      'field 5 (day of week) "8": "8" is out of range. Allowed: 0-7 (0 and 7 are Sunday), SUN-SAT',
    ],
    ["0 0 * * MONDAY", 'field 5 (day of week) "MONDAY": cannot read "MONDAY"'],
    ["0 22-2 * * *", 'the range "22-2" runs backwards; write "22-23,0-2"'],
    ["0 0 * * SAT-MON", 'the range "SAT-MON" runs backwards; write "SAT-SAT,SUN-MON"'],
    ["0 0 1 NOV-FEB *", 'the range "NOV-FEB" runs backwards; write "NOV-DEC,JAN-FEB"'],
    ["5/15 * * * *", 'a step needs a range; instead of "5/15" write "5-59/15"'],
    ["*/0 * * * *", 'a step must be a number from 1 to 9999, got "0"'],
    ["*/100000 * * * *", 'a step must be a number from 1 to 9999, got "100000"'],
    ["1,,2 * * * *", "an element is empty; check the commas"],
    ["1- * * * *", "a range lacks an end"],
    ["1--100000000 * * * *", 'field 1 (minute) "1--100000000": cannot read "-100000000"'],
    ["0 0 31 2 *", 'day of month "31" never occurs in month "2"'],
    ["0 0 30W 2 *", 'day of month "30W" never occurs in month "2"'],
    ["0 0 31 4,6,9,11 *", 'day of month "31" never occurs in month "4,6,9,11"'],
    ["0 0 W * *", 'cannot read "W"'],
    ["0 0 L-3 * *", 'cannot read "L"'],
    ["0 0 * * L", 'cannot read "L"'],
    ["0 0 * * 5#6", 'cannot read "5#6"'],
    ["? * * * *", 'cannot read "?"'],
    ["@reboot", "@reboot names an event, not a time; dispatch the job when your program starts instead"],
    [
      "@never",
      "unknown nickname; known are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly",
    ],
  ])("%j", (source, text) => {
    const error = refusal(() => new Cron(source));
    expect(error.code).toBe("INVALID_CRON");
    expect(error.message).toContain(text);
    expect(error.message).toMatch(/^The cron ".*" is not valid: .*\.$/);
  });

  test.each([
    ["0 0 1 NOV-FEB *", "0 0 1 NOV-DEC,JAN-FEB *"],
    ["0 0 * * SAT-MON", "0 0 * * SAT-SAT,SUN-MON"],
    ["0 0 * * 7-2", "0 0 * * 7-7,0-2"],
  ])("the suggestion instead of %s can be parsed", (_, proposed) => {
    expect(() => new Cron(proposed)).not.toThrow();
  });

  test("a date that only some years have is accepted", () => {
    expect(() => new Cron("0 0 29 2 *")).not.toThrow();
    expect(() => new Cron("0 0 31 2 1")).not.toThrow();
    expect(() => new Cron("0 0 * 2 1#5")).not.toThrow();
  });

  test("long input is refused before it is parsed, and shortened in the message", () => {
    for (const source of [",".repeat(10_000), `${"9".repeat(10_000)} * * * *`, "* ".repeat(5_000)]) {
      const error = refusal(() => new Cron(source));
      expect(error.code).toBe("INVALID_CRON");
      expect(error.message).toContain("at most 1000 are read");
      expect(error.message.length).toBeLessThan(250);
    }
  });

  test.each([undefined, null, 5, {}, ["* * * * *"]])("%j is refused", (source) => {
    expect(refusal(() => new Cron(source as string)).code).toBe("INVALID_CRON");
  });
});

describe("describe", () => {
  test.each([
    ["* * * * * *", "Every second."],
    ["*/10 * * * * *", "Every 10 seconds."],
    ["* * * * *", "Every minute."],
    ["*/5 * * * *", "Every 5 minutes."],
    ["@hourly", "Every hour."],
    ["0 */2 * * *", "Every 2 hours (Europe/Berlin)."],
    ["15 * * * *", "At minute 15 of every hour."],
    ["*/25 * * * *", "At minutes 0, 25 and 50 of every hour."],
    ["30 15 * * * *", "At second 30 of minute 15 of every hour."],
    ["* 3-5 9 * * *", "Every second of minutes 3 to 5 from 09:00 to 09:59 (Europe/Berlin)."],
    ["*/5 9-17 * * 1-5", "Every 5 minutes from 09:00 to 17:59 on Monday to Friday (Europe/Berlin)."],
    ["*/15 9,12 * * *", "Every 15 minutes of the hours 9 and 12 (Europe/Berlin)."],
    ["0 8-18 * * *", "Every hour from 08:00 to 18:00 (Europe/Berlin)."],
    ["30 9 * * *", "At 09:30 every day (Europe/Berlin)."],
    ["5 30 9 * * *", "At 09:30:05 every day (Europe/Berlin)."],
    ["0 9,12,15 * * 6,7", "At 09:00, 12:00 and 15:00 on Saturday and Sunday (Europe/Berlin)."],
    ["0 0 1,15 * *", "At 00:00 on the 1st and the 15th of the month (Europe/Berlin)."],
    ["0 0 13 * 5", "At 00:00 on the 13th of the month or on Friday (Europe/Berlin)."],
    ["0 0 */2 * *", "At 00:00 on every 2nd day from the 1st of the month (Europe/Berlin)."],
    ["0 0 LW JAN,MAR *", "At 00:00 on the last weekday of the month in January and March (Europe/Berlin)."],
    [
      "0 0 15W 6-8 *",
      "At 00:00 on the weekday nearest the 15th of the month in June to August (Europe/Berlin).",
    ],
    ["0 0 L * *", "At 00:00 on the last day of the month (Europe/Berlin)."],
    ["0 0 * * 5#2", "At 00:00 on the 2nd Friday of the month (Europe/Berlin)."],
    ["0 0 * * 5L", "At 00:00 on the last Friday of the month (Europe/Berlin)."],
  ])("%s", (cron, sentence) => {
    expect(new Cron(cron, { timezone: "Europe/Berlin" }).describe()).toBe(sentence);
  });
});
