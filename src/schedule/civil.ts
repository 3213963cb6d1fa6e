import { DAY, SECOND } from "../time.ts";
import { firstFrom, has, highest, lastUpTo, lowest } from "./bits.ts";
import type { Fields } from "./fields.ts";

/*
 * Civil time is seconds on a wall clock without a zone, counted as if the clock showed UTC. Days are counted from
 * 1970-01-01, months from January of the year 0, weekdays from Sunday.
 */

export const DAY_SECONDS: number = DAY / SECOND;
/** Days of each month, and days of the year before it, without the leap day. */
const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const BEFORE = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
/** Days from 0001-01-01 to 1970-01-01. */
const DAYS_TO_1970 = 719_162;

/** First and last month that a `Date` can represent. */
const FIRST_MONTH = -271_821 * 12;
const LAST_MONTH = 275_760 * 12 + 8;

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function lengthOf(month: number): number {
  const year = Math.floor(month / 12);
  return month - year * 12 === 1 && isLeap(year) ? 29 : LENGTHS[month - year * 12]!;
}

function firstDayOf(month: number): number {
  const year = Math.floor(month / 12);
  const inYear = month - year * 12;
  const past = year - 1;
  const leapDays = Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400);
  return past * 365 + leapDays - DAYS_TO_1970 + BEFORE[inYear]! + (inYear > 1 && isLeap(year) ? 1 : 0);
}

function monthOf(day: number): number {
  // A guess by the mean length of a month, 365.2425 / 12 days.
  let month = 1970 * 12 + Math.floor(day / 30.436_875);
  while (firstDayOf(month) > day) month--;
  while (firstDayOf(month + 1) <= day) month++;
  return month;
}

/**
 * Returns the matching days of a month as a mask; bit 0 is its first day. `first` is the day number of its first day.
 */
function daysIn(fields: Fields, month: number, first: number): number {
  const inYear = month - Math.floor(month / 12) * 12;
  if (((fields.month >>> inYear) & 1) === 0) return 0;
  // 1970-01-01 was a Thursday, weekday 4. Days before it are negative.
  return matchingDays(fields, (((first + 4) % 7) + 7) % 7, lengthOf(month));
}

/** Returns the matching days of a month that has `length` days and begins on `weekday`, as a mask. */
function matchingDays(fields: Fields, weekday: number, length: number): number {
  const all = 0x7fffffff >>> (31 - length);
  if (fields.anyDay && fields.anyWeekday) return all;
  let days = fields.anyDay ? 0 : fields.day;
  if (!fields.anyWeekday) {
    const week = rotate(fields.weekday, weekday);
    days |= week | (week << 7) | (week << 14) | (week << 21) | (week << 28);
  }
  if (fields.monthDays) days |= monthDays(fields.monthDays, weekday, length);
  return days & all;
}

/** Returns the days that `L`, `LW`, `15W`, `5#2` and `5L` select in such a month, as a mask. */
function monthDays(special: NonNullable<Fields["monthDays"]>, weekday: number, length: number): number {
  let days = special.last ? 1 << (length - 1) : 0;
  if (special.lastWorkday) days |= 1 << nearestWorkday(length - 1, weekday, length);
  // `left & (left - 1)` removes the lowest day.
  for (let left = special.nearest; left !== 0; left &= left - 1) {
    const day = lowest(left);
    if (day < length) days |= 1 << nearestWorkday(day, weekday, length);
  }
  for (let week = 0; week < 5; week++) days |= rotate(special.nth[week]!, weekday) << (7 * week);
  return days | (rotate(special.lastWeekday, (weekday + length - 7) % 7) << (length - 7));
}

/**
 * Returns the weekday (Monday to Friday) nearest to `day` in the same month: Saturday the 1st becomes Monday the 3rd.
 */
function nearestWorkday(day: number, firstWeekday: number, length: number): number {
  const weekday = (firstWeekday + day) % 7;
  if (weekday === 6) return day > 0 ? day - 1 : day + 2;
  if (weekday === 0) return day < length - 1 ? day + 1 : day - 2;
  return day;
}

/** Rotates a weekday mask so that bit 0 is `weekday` in place of Sunday. */
function rotate(weekdays: number, weekday: number): number {
  return ((weekdays >>> weekday) | (weekdays << (7 - weekday))) & 127;
}

/** Whether any month of any year has a matching day. */
export function everOccurs(fields: Fields): boolean {
  for (let month = 0; month < 12; month++) {
    if (((fields.month >>> month) & 1) === 0) continue;
    const length = month === 1 ? 29 : LENGTHS[month]!;
    for (let weekday = 0; weekday < 7; weekday++)
      if (matchingDays(fields, weekday, length) !== 0) return true;
  }
  return false;
}

/** Returns the first match at or after a civil second; `Infinity` without one. */
export function firstMatch(fields: Fields, from: number): number {
  const today = Math.floor(from / DAY_SECONDS);
  let month = monthOf(today);
  let first = firstDayOf(month);
  // The matching days from today on.
  let days = daysIn(fields, month, first) & (-1 << (today - first));
  if (((days >>> (today - first)) & 1) === 1) {
    const time = firstTime(fields, from - today * DAY_SECONDS);
    if (time >= 0) return today * DAY_SECONDS + time;
    // No match is left today: it is the lowest of the days.
    days &= days - 1;
  }
  while (days === 0) {
    if (++month > LAST_MONTH) return Number.POSITIVE_INFINITY;
    first = firstDayOf(month);
    days = daysIn(fields, month, first);
  }
  return (first + lowest(days)) * DAY_SECONDS + firstTime(fields, 0);
}

/** Returns the last match at or before a civil second; `-Infinity` without one. */
export function lastMatch(fields: Fields, upTo: number): number {
  const today = Math.floor(upTo / DAY_SECONDS);
  let month = monthOf(today);
  let first = firstDayOf(month);
  // The matching days up to today.
  let days = daysIn(fields, month, first) & (0x7fffffff >>> (30 - (today - first)));
  if (((days >>> (today - first)) & 1) === 1) {
    const time = lastTime(fields, upTo - today * DAY_SECONDS);
    if (time >= 0) return today * DAY_SECONDS + time;
    days ^= 1 << (today - first);
  }
  while (days === 0) {
    if (--month < FIRST_MONTH) return Number.NEGATIVE_INFINITY;
    first = firstDayOf(month);
    days = daysIn(fields, month, first);
  }
  return (first + highest(days)) * DAY_SECONDS + lastTime(fields, DAY_SECONDS - 1);
}

/** Returns the first matching second of a day at or after `time`, or -1. */
function firstTime(fields: Fields, time: number): number {
  let hour = Math.floor(time / 3600);
  let minute = Math.floor(time / 60) % 60;
  if (((fields.hour >>> hour) & 1) === 1) {
    if (has(fields.minute, minute)) {
      const second = firstFrom(fields.second, time % 60);
      if (second >= 0) return hour * 3600 + minute * 60 + second;
    }
    minute = firstFrom(fields.minute, minute + 1);
    if (minute >= 0) return hour * 3600 + minute * 60 + firstFrom(fields.second, 0);
  }
  hour = lowest(fields.hour & (-2 << hour));
  return hour < 0 ? -1 : hour * 3600 + firstFrom(fields.minute, 0) * 60 + firstFrom(fields.second, 0);
}

/** Returns the last matching second of a day at or before `time`, or -1. */
function lastTime(fields: Fields, time: number): number {
  let hour = Math.floor(time / 3600);
  let minute = Math.floor(time / 60) % 60;
  if (((fields.hour >>> hour) & 1) === 1) {
    if (has(fields.minute, minute)) {
      const second = lastUpTo(fields.second, time % 60);
      if (second >= 0) return hour * 3600 + minute * 60 + second;
    }
    minute = lastUpTo(fields.minute, minute - 1);
    if (minute >= 0) return hour * 3600 + minute * 60 + lastUpTo(fields.second, 59);
  }
  hour = highest(fields.hour & ((1 << hour) - 1));
  return hour < 0 ? -1 : hour * 3600 + lastUpTo(fields.minute, 59) * 60 + lastUpTo(fields.second, 59);
}
