import { PunctualError, show } from "../errors.ts";
import type { Fields } from "../schedule/plan.ts";
import { secondOfDay } from "../schedule/window.ts";

/** One number, or several. */
export type Numbers = number | readonly number[];

const list = (numbers: Numbers, least: number, most: number, what: string): string => {
  const all: readonly number[] = Array.isArray(numbers) ? numbers : [numbers];
  if (all.length === 0 || all.some((n) => !Number.isInteger(n) || n < least || n > most)) {
    throw new PunctualError(
      "INVALID_CRON",
      `Expected ${what} from ${least} to ${most}, got ${show(numbers)}.`,
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

/** `"13:00"`, `"13:00:30"` or `"13"`. */
const time = (text: string): Fields => {
  const at = secondOfDay(text);
  return { second: `${at % 60}`, minute: `${Math.floor(at / 60) % 60}`, hour: `${Math.floor(at / 3600)}` };
};

const everySeconds = (n: number): Fields => ({ second: n === 1 ? "*" : `*/${n}` });
const everyMinutes = (n: number): Fields => ({ minute: n === 1 ? "*" : `*/${n}` });
const everyHours = (n: number, at: Numbers): Fields => ({
  minute: minute(at),
  hour: n === 1 ? "*" : `*/${n}`,
});
const on = (day: string): Fields => ({ weekday: day });
const midnight: Fields = { minute: "0", hour: "0" };

/** Every helper that names when a job ticks: one line each; the builder's methods and their types come from here. */
export const frequencies = {
  everySecond: (): Fields => everySeconds(1),
  everyTwoSeconds: (): Fields => everySeconds(2),
  everyFiveSeconds: (): Fields => everySeconds(5),
  everyTenSeconds: (): Fields => everySeconds(10),
  everyFifteenSeconds: (): Fields => everySeconds(15),
  everyTwentySeconds: (): Fields => everySeconds(20),
  everyThirtySeconds: (): Fields => everySeconds(30),
  everyMinute: (): Fields => everyMinutes(1),
  everyTwoMinutes: (): Fields => everyMinutes(2),
  everyThreeMinutes: (): Fields => everyMinutes(3),
  everyFourMinutes: (): Fields => everyMinutes(4),
  everyFiveMinutes: (): Fields => everyMinutes(5),
  everyTenMinutes: (): Fields => everyMinutes(10),
  everyFifteenMinutes: (): Fields => everyMinutes(15),
  everyTwentyMinutes: (): Fields => everyMinutes(20),
  everyThirtyMinutes: (): Fields => everyMinutes(30),
  everyHour: (): Fields => everyHours(1, 0),
  hourly: (): Fields => everyHours(1, 0),
  hourlyAt: (at: Numbers): Fields => everyHours(1, at),
  everyTwoHours: (at: Numbers = 0): Fields => everyHours(2, at),
  everyThreeHours: (at: Numbers = 0): Fields => everyHours(3, at),
  everyFourHours: (at: Numbers = 0): Fields => everyHours(4, at),
  everySixHours: (at: Numbers = 0): Fields => everyHours(6, at),
  everyTwelveHours: (at: Numbers = 0): Fields => everyHours(12, at),
  everyOddHour: (at: Numbers = 0): Fields => ({ minute: minute(at), hour: "1-23/2" }),
  everyEvenHour: (at: Numbers = 0): Fields => ({ minute: minute(at), hour: "0-22/2" }),
  daily: (): Fields => midnight,
  dailyAt: (at: string): Fields => time(at),
  twiceDaily: (first = 1, then = 13): Fields => ({ minute: "0", hour: hour([first, then]) }),
  twiceDailyAt: (first = 1, then = 13, at = 0): Fields => ({ minute: minute(at), hour: hour([first, then]) }),
  weekly: (): Fields => ({ ...midnight, weekday: "0" }),
  weeklyOn: (day: Numbers, at = "0:00"): Fields => ({ ...time(at), weekday: weekday(day) }),
  monthly: (): Fields => ({ ...midnight, day: "1" }),
  monthlyOn: (day: Numbers = 1, at = "0:00"): Fields => ({ ...time(at), day: date(day) }),
  twiceMonthly: (first = 1, then = 16, at = "0:00"): Fields => ({ ...time(at), day: date([first, then]) }),
  lastDayOfMonth: (at = "0:00"): Fields => ({ ...time(at), day: "L" }),
  daysOfMonth: (...days: number[]): Fields => ({ ...midnight, day: date(days) }),
  quarterly: (): Fields => ({ ...midnight, day: "1", month: "1-12/3" }),
  quarterlyOn: (day = 1, at = "0:00"): Fields => ({ ...time(at), day: date(day), month: "1-12/3" }),
  yearly: (): Fields => ({ ...midnight, day: "1", month: "1" }),
  yearlyOn: (inMonth = 1, day = 1, at = "0:00"): Fields => ({
    ...time(at),
    day: date(day),
    month: month(inMonth),
  }),
  weekdays: (days?: Numbers): Fields => on(days === undefined ? "1-5" : weekday(days)),
  weekends: (): Fields => on("0,6"),
  sundays: (): Fields => on("0"),
  mondays: (): Fields => on("1"),
  tuesdays: (): Fields => on("2"),
  wednesdays: (): Fields => on("3"),
  thursdays: (): Fields => on("4"),
  fridays: (): Fields => on("5"),
  saturdays: (): Fields => on("6"),
  seconds: (at: Numbers): Fields => ({ second: second(at) }),
  minutes: (at: Numbers): Fields => ({ minute: minute(at) }),
  hours: (at: Numbers): Fields => ({ hour: hour(at) }),
  days: (dates: Numbers): Fields => ({
    day: list(dates, 1, 31, "days of the month (for days of the week use weekdays([…]))"),
  }),
  months: (of: Numbers): Fields => ({ month: month(of) }),
};

/** The helpers as methods of a builder. */
export type Frequencies<Builder> = {
  [Name in keyof typeof frequencies]: (...args: Parameters<(typeof frequencies)[Name]>) => Builder;
};
