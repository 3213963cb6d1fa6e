import { formatValue, PunctualError } from "../errors.ts";
import type { FieldTexts } from "../schedule/plan.ts";
import { secondOfDay } from "../schedule/window.ts";

/** One number or a list of numbers. */
export type Numbers = number | readonly number[];

/** Returns the numbers as a list in a cron field. */
const list = (numbers: Numbers, least: number, most: number, what: string): string => {
  const all: readonly number[] = Array.isArray(numbers) ? numbers : [numbers];
  if (all.length === 0 || all.some((n) => !Number.isInteger(n) || n < least || n > most)) {
    throw new PunctualError(
      "INVALID_CRON",
      `Expected ${what} from ${least} to ${most}, got ${formatValue(numbers)}.`,
    );
  }
  return [...new Set(all)].sort((a, b) => a - b).join(",");
};

const second = (n: Numbers): string => list(n, 0, 59, "seconds");
const minute = (n: Numbers): string => list(n, 0, 59, "minutes");
const hour = (n: Numbers): string => list(n, 0, 23, "hours");
const date = (n: Numbers): string => list(n, 1, 31, "days of the month");
const month = (n: Numbers): string => list(n, 1, 12, "months");
const weekday = (n: Numbers): string => list(n, 0, 7, "days of the week (0 = Sunday)");

/** Reads a time of day: `"13:00"`, `"13:00:30"` or `"13"`. */
const time = (text: string): FieldTexts => {
  const at = secondOfDay(text);
  return { second: `${at % 60}`, minute: `${Math.floor(at / 60) % 60}`, hour: `${Math.floor(at / 3600)}` };
};

const everySeconds = (n: number): FieldTexts => ({ second: n === 1 ? "*" : `*/${n}` });
const everyMinutes = (n: number): FieldTexts => ({ minute: n === 1 ? "*" : `*/${n}` });
const everyHours = (n: number, at: Numbers): FieldTexts => ({
  minute: minute(at),
  hour: n === 1 ? "*" : `*/${n}`,
});
const on = (day: string): FieldTexts => ({ weekday: day });
const midnight: FieldTexts = { minute: "0", hour: "0" };

/**
 * The frequency methods of a job, with the cron fields that each sets. The builder's methods and types derive from it.
 */
export const frequencies = {
  everySecond: (): FieldTexts => everySeconds(1),
  everyTwoSeconds: (): FieldTexts => everySeconds(2),
  everyFiveSeconds: (): FieldTexts => everySeconds(5),
  everyTenSeconds: (): FieldTexts => everySeconds(10),
  everyFifteenSeconds: (): FieldTexts => everySeconds(15),
  everyTwentySeconds: (): FieldTexts => everySeconds(20),
  everyThirtySeconds: (): FieldTexts => everySeconds(30),
  everyMinute: (): FieldTexts => everyMinutes(1),
  everyTwoMinutes: (): FieldTexts => everyMinutes(2),
  everyThreeMinutes: (): FieldTexts => everyMinutes(3),
  everyFourMinutes: (): FieldTexts => everyMinutes(4),
  everyFiveMinutes: (): FieldTexts => everyMinutes(5),
  everyTenMinutes: (): FieldTexts => everyMinutes(10),
  everyFifteenMinutes: (): FieldTexts => everyMinutes(15),
  everyTwentyMinutes: (): FieldTexts => everyMinutes(20),
  everyThirtyMinutes: (): FieldTexts => everyMinutes(30),
  everyHour: (): FieldTexts => everyHours(1, 0),
  hourly: (): FieldTexts => everyHours(1, 0),
  hourlyAt: (at: Numbers): FieldTexts => everyHours(1, at),
  everyTwoHours: (at: Numbers = 0): FieldTexts => everyHours(2, at),
  everyThreeHours: (at: Numbers = 0): FieldTexts => everyHours(3, at),
  everyFourHours: (at: Numbers = 0): FieldTexts => everyHours(4, at),
  everySixHours: (at: Numbers = 0): FieldTexts => everyHours(6, at),
  everyTwelveHours: (at: Numbers = 0): FieldTexts => everyHours(12, at),
  everyOddHour: (at: Numbers = 0): FieldTexts => ({ minute: minute(at), hour: "1-23/2" }),
  everyEvenHour: (at: Numbers = 0): FieldTexts => ({ minute: minute(at), hour: "0-22/2" }),
  daily: (): FieldTexts => midnight,
  dailyAt: (at: string): FieldTexts => time(at),
  twiceDaily: (first = 1, then = 13): FieldTexts => ({ minute: "0", hour: hour([first, then]) }),
  twiceDailyAt: (first = 1, then = 13, at = 0): FieldTexts => ({
    minute: minute(at),
    hour: hour([first, then]),
  }),
  weekly: (): FieldTexts => ({ ...midnight, weekday: "0" }),
  weeklyOn: (day: Numbers, at = "0:00"): FieldTexts => ({ ...time(at), weekday: weekday(day) }),
  monthly: (): FieldTexts => ({ ...midnight, day: "1" }),
  monthlyOn: (day: Numbers = 1, at = "0:00"): FieldTexts => ({ ...time(at), day: date(day) }),
  twiceMonthly: (first = 1, then = 16, at = "0:00"): FieldTexts => ({
    ...time(at),
    day: date([first, then]),
  }),
  lastDayOfMonth: (at = "0:00"): FieldTexts => ({ ...time(at), day: "L" }),
  daysOfMonth: (...days: number[]): FieldTexts => ({ ...midnight, day: date(days) }),
  quarterly: (): FieldTexts => ({ ...midnight, day: "1", month: "1-12/3" }),
  quarterlyOn: (day = 1, at = "0:00"): FieldTexts => ({ ...time(at), day: date(day), month: "1-12/3" }),
  yearly: (): FieldTexts => ({ ...midnight, day: "1", month: "1" }),
  yearlyOn: (inMonth = 1, day = 1, at = "0:00"): FieldTexts => ({
    ...time(at),
    day: date(day),
    month: month(inMonth),
  }),
  weekdays: (days?: Numbers): FieldTexts => on(days === undefined ? "1-5" : weekday(days)),
  weekends: (): FieldTexts => on("0,6"),
  sundays: (): FieldTexts => on("0"),
  mondays: (): FieldTexts => on("1"),
  tuesdays: (): FieldTexts => on("2"),
  wednesdays: (): FieldTexts => on("3"),
  thursdays: (): FieldTexts => on("4"),
  fridays: (): FieldTexts => on("5"),
  saturdays: (): FieldTexts => on("6"),
  seconds: (at: Numbers): FieldTexts => ({ second: second(at) }),
  minutes: (at: Numbers): FieldTexts => ({ minute: minute(at) }),
  hours: (at: Numbers): FieldTexts => ({ hour: hour(at) }),
  days: (dates: Numbers): FieldTexts => ({
    day: list(dates, 1, 31, "days of the month (for days of the week use weekdays([…]))"),
  }),
  months: (of: Numbers): FieldTexts => ({ month: month(of) }),
};

/** The frequencies as methods that return the builder. */
export type Frequencies<Builder> = {
  [Name in keyof typeof frequencies]: (...args: Parameters<(typeof frequencies)[Name]>) => Builder;
};
