import { describe, expect, test } from "vitest";
import type { Definition } from "../../src/index.ts";
import { frequencies } from "../../src/job/frequencies.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

function define(): Definition {
  return open().jobs.schedule("job", () => {});
}

/** Seconds, minutes, hours, days, months, days of the week. */
const helpers: [name: keyof typeof frequencies, args: unknown[], cron: string][] = [
  ["everySecond", [], "* * * * * *"],
  ["everyTwoSeconds", [], "*/2 * * * * *"],
  ["everyFiveSeconds", [], "*/5 * * * * *"],
  ["everyTenSeconds", [], "*/10 * * * * *"],
  ["everyFifteenSeconds", [], "*/15 * * * * *"],
  ["everyTwentySeconds", [], "*/20 * * * * *"],
  ["everyThirtySeconds", [], "*/30 * * * * *"],
  ["everyMinute", [], "0 * * * * *"],
  ["everyTwoMinutes", [], "0 */2 * * * *"],
  ["everyThreeMinutes", [], "0 */3 * * * *"],
  ["everyFourMinutes", [], "0 */4 * * * *"],
  ["everyFiveMinutes", [], "0 */5 * * * *"],
  ["everyTenMinutes", [], "0 */10 * * * *"],
  ["everyFifteenMinutes", [], "0 */15 * * * *"],
  ["everyTwentyMinutes", [], "0 */20 * * * *"],
  ["everyThirtyMinutes", [], "0 */30 * * * *"],
  ["everyHour", [], "0 0 * * * *"],
  ["hourly", [], "0 0 * * * *"],
  ["hourlyAt", [17], "0 17 * * * *"],
  ["hourlyAt", [[45, 15]], "0 15,45 * * * *"],
  ["everyTwoHours", [], "0 0 */2 * * *"],
  ["everyTwoHours", [15], "0 15 */2 * * *"],
  ["everyThreeHours", [], "0 0 */3 * * *"],
  ["everyFourHours", [30], "0 30 */4 * * *"],
  ["everySixHours", [], "0 0 */6 * * *"],
  ["everyTwelveHours", [], "0 0 */12 * * *"],
  ["everyOddHour", [], "0 0 1-23/2 * * *"],
  ["everyOddHour", [5], "0 5 1-23/2 * * *"],
  ["everyEvenHour", [], "0 0 0-22/2 * * *"],
  ["daily", [], "0 0 0 * * *"],
  ["dailyAt", ["13:00"], "0 0 13 * * *"],
  ["dailyAt", ["9"], "0 0 9 * * *"],
  ["dailyAt", ["13:05:30"], "30 5 13 * * *"],
  ["twiceDaily", [], "0 0 1,13 * * *"],
  ["twiceDaily", [20, 8], "0 0 8,20 * * *"],
  ["twiceDailyAt", [1, 13, 15], "0 15 1,13 * * *"],
  ["weekly", [], "0 0 0 * * 0"],
  ["weeklyOn", [1, "8:30"], "0 30 8 * * 1"],
  ["weeklyOn", [[5, 1]], "0 0 0 * * 1,5"],
  ["monthly", [], "0 0 0 1 * *"],
  ["monthlyOn", [4, "15:00"], "0 0 15 4 * *"],
  ["monthlyOn", [], "0 0 0 1 * *"],
  ["twiceMonthly", [], "0 0 0 1,16 * *"],
  ["twiceMonthly", [2, 20, "13:00"], "0 0 13 2,20 * *"],
  ["lastDayOfMonth", [], "0 0 0 L * *"],
  ["lastDayOfMonth", ["15:00"], "0 0 15 L * *"],
  ["daysOfMonth", [1, 10, 20], "0 0 0 1,10,20 * *"],
  ["quarterly", [], "0 0 0 1 1-12/3 *"],
  ["quarterlyOn", [4, "14:00"], "0 0 14 4 1-12/3 *"],
  ["yearly", [], "0 0 0 1 1 *"],
  ["yearlyOn", [6, 1, "17:00"], "0 0 17 1 6 *"],
  ["weekdays", [], "0 0 0 * * 1-5"],
  ["weekdays", [[1, 3, 5]], "0 0 0 * * 1,3,5"],
  ["weekends", [], "0 0 0 * * 0,6"],
  ["sundays", [], "0 0 0 * * 0"],
  ["mondays", [], "0 0 0 * * 1"],
  ["tuesdays", [], "0 0 0 * * 2"],
  ["wednesdays", [], "0 0 0 * * 3"],
  ["thursdays", [], "0 0 0 * * 4"],
  ["fridays", [], "0 0 0 * * 5"],
  ["saturdays", [], "0 0 0 * * 6"],
  ["seconds", [30], "30 * * * * *"],
  ["seconds", [[0, 15, 0]], "0,15 * * * * *"],
  ["minutes", [[0, 30]], "0 0,30 * * * *"],
  ["hours", [9], "0 0 9 * * *"],
  ["hours", [[18, 9, 12]], "0 0 9,12,18 * * *"],
  ["days", [15], "0 0 0 15 * *"],
  ["days", [[1, 15]], "0 0 0 1,15 * *"],
  ["months", [3], "0 0 0 1 3 *"],
  ["months", [[1, 7]], "0 0 0 1 1,7 *"],
];

describe("each helper alone", () => {
  test.each(helpers)("%s(...%j) is %s", (name, args, cron) => {
    const job = define() as unknown as Record<string, (...args: unknown[]) => Definition>;
    const same = job[name]!(...args);
    expect(same).toBe(job);
    expect(same.plan.toCron()).toBe(cron);
    // The table contains a cron that the parser accepts.
    expect(define().cron(cron).plan.toCron()).toBe(cron);
  });

  test("the table has every helper", () => {
    const named = new Set(helpers.map(([name]) => name));
    expect(Object.keys(frequencies).filter((name) => !named.has(name as never))).toEqual([]);
  });
});

describe("the rule of unset fields", () => {
  const combined: [what: string, shape: (job: Definition) => Definition, cron: string][] = [
    ["five minutes, hours", (job) => job.everyFiveMinutes().hours([9, 10]), "0 */5 9,10 * * *"],
    ["hours first", (job) => job.hours([9, 10]).everyFiveMinutes(), "0 */5 9,10 * * *"],
    [
      "the whole chain",
      (job) => job.everyFiveMinutes().hours([9, 12, 15]).weekdays().timezone("Europe/Berlin"),
      "0 */5 9,12,15 * * 1-5",
    ],
    ["payroll", (job) => job.daily().hours(9).days([1, 15]).months([1, 7]), "0 0 9 1,15 1,7 *"],
    ["reminders", (job) => job.daily().hours([9, 12, 15, 18]), "0 0 9,12,15,18 * * *"],
    ["daily on weekdays", (job) => job.daily().weekdays(), "0 0 0 * * 1-5"],
    ["weekdays daily", (job) => job.weekdays().daily(), "0 0 0 * * 1-5"],
    ["hourly on Mondays", (job) => job.hourly().mondays(), "0 0 * * * 1"],
    ["Mondays at a time", (job) => job.mondays().dailyAt("13:30"), "0 30 13 * * 1"],
    ["every second of an hour", (job) => job.everySecond().hours(9), "* * 9 * * *"],
    ["every ten seconds of a minute", (job) => job.everyTenSeconds().minutes(5), "*/10 5 * * * *"],
    ["minutes of hours", (job) => job.minutes([0, 30]).hours(8), "0 0,30 8 * * *"],
    ["a second of a day", (job) => job.seconds(15).hours(8), "15 * 8 * * *"],
    ["monthly or Mondays, as cron unites them", (job) => job.monthly().mondays(), "0 0 0 1 * 1"],
    ["days of a month", (job) => job.days(24).months(12), "0 0 0 24 12 *"],
    ["weekdays of a month", (job) => job.fridays().months(12), "0 0 0 * 12 5"],
    ["the last of a field wins", (job) => job.hours(9).hours(10), "0 0 10 * * *"],
    ["one helper after another", (job) => job.everyTwoHours(15).everyFiveMinutes(), "0 */5 */2 * * *"],
    ["an edit of a cron", (job) => job.cron("*/5 9-17 * * *").weekdays(), "0 */5 9-17 * * 1-5"],
    ["a cron after an edit replaces it", (job) => job.weekdays().cron("*/5 * * * *"), "0 */5 * * * *"],
    ["quarterly at an hour", (job) => job.quarterly().hours(6), "0 0 6 1 1-12/3 *"],
    ["every five minutes of one weekend day", (job) => job.everyFiveMinutes().sundays(), "0 */5 * * * 0"],
  ];

  test.each(combined)("%s", (_what, shape, cron) => {
    expect(shape(define()).plan.toCron()).toBe(cron);
  });

  test("without a field there is no schedule", () => {
    expect(define().plan.toCron()).toBeNull();
    expect(define().timezone("Europe/Berlin").plan.toCron()).toBeNull();
  });

  test("the status shows the schedule with the job", async () => {
    const { jobs } = open();
    jobs
      .schedule("job", () => {})
      .everyFiveMinutes()
      .hours([9, 10]);
    await jobs.run();
    expect((await jobs.status()).jobs[0]?.cron).toBe("0 */5 9,10 * * *");
  });
});

describe("cron()", () => {
  test.each([
    ["0 9 * * *", "0 0 9 * * *"],
    ["*/5 * * * * *", "*/5 * * * * *"],
    ["  0   9\t* * mon-fri ", "0 0 9 * * MON-FRI"],
    ["@daily", "0 0 0 * * *"],
    ["@hourly", "0 0 * * * *"],
    ["0 0 L * *", "0 0 0 L * *"],
    ["1-5/2 * * * *", "0 1-5/2 * * * *"],
  ])("%j is %s", (expression, cron) => {
    expect(define().cron(expression).plan.toCron()).toBe(cron);
  });
});

describe("an invalid argument is refused", () => {
  const bad: [name: keyof typeof frequencies, args: unknown[], ...parts: string[]][] = [
    ["seconds", [60], "seconds from 0 to 59", "got 60"],
    ["minutes", [-1], "minutes from 0 to 59", "got -1"],
    ["minutes", [1.5], "minutes from 0 to 59", "got 1.5"],
    ["hours", [[9, 24]], "hours from 0 to 23", "got [9,24]"],
    ["hours", [[]], "hours from 0 to 23", "got []"],
    ["months", [0], "months from 1 to 12", "got 0"],
    ["weekdays", [8], "days of the week (0 = Sunday) from 0 to 7", "got 8"],
    ["hourlyAt", [60], "minutes from 0 to 59", "got 60"],
    ["dailyAt", ["24:00"], "hours from 0 to 23", "24:00"],
    ["dailyAt", ["noon"], 'a time of day such as "13:00"', 'got "noon"'],
    ["dailyAt", [undefined], "a time of day", "got undefined"],
    ["monthlyOn", [32], "days of the month from 1 to 31", "got 32"],
    ["yearlyOn", [13], "months from 1 to 12", "got 13"],
    ["daysOfMonth", [], "days of the month from 1 to 31", "got []"],
    ["twiceDaily", [1, 25], "hours from 0 to 23", "got [1,25]"],
  ];

  test.each(bad)("%s(...%j)", async (name, args, ...parts) => {
    const job = define() as unknown as Record<string, (...args: unknown[]) => unknown>;
    await expectRefusal(() => job[name]!(...args), "INVALID_CRON", ...parts);
  });

  test.each([["9"], ["9,10"], [undefined], [{ from: 9 }], [null]])("hours(%j) is refused", async (hours) => {
    await expectRefusal(() => define().hours(hours as never), "INVALID_CRON", "hours from 0 to 23", "got");
  });

  test("at() takes an instant; the error for a time of day names dailyAt()", async () => {
    await expectRefusal(() => define().at("13:00"), "INVALID_INSTANT", 'got "13:00"', 'dailyAt("13:00")');
    await expectRefusal(() => define().at("9"), "INVALID_INSTANT", 'dailyAt("9")');
  });

  test("days() takes dates; the error for week days names weekdays()", async () => {
    await expectRefusal(() => define().days([0, 6]), "INVALID_CRON", "days of the month", "weekdays([…])");
  });
});
