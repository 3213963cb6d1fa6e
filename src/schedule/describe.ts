import { firstFrom, lowest, type Sixty } from "./bits.ts";
import type { Fields } from "./fields.ts";

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** Clock times that are listed at most; beyond that the sentence describes hours and minutes separately. */
const MOST_TIMES = 6;

/** Returns the schedule as one English sentence. */
export function describe(fields: Fields, timezone: string): string {
  const texts = fields.text.split(" ");
  const days = dayPhrase(fields, texts[3]!);
  const months = fields.month === 0xfff ? "" : `in ${join(ranges(ones(fields.month), (n) => MONTHS[n]!))}`;
  const { phrase, fixed } = clockPhrase(fields, texts);
  const when = [phrase, days || (fixed ? "every day" : ""), months].filter((part) => part !== "").join(" ");
  // The zone matters only if an hour, a day or a month is given.
  const zoned = fixed || texts.slice(2).some((text) => text !== "*");
  return `${when[0]!.toUpperCase()}${when.slice(1)}${zoned ? ` (${timezone})` : ""}.`;
}

function clockPhrase(fields: Fields, texts: string[]): { phrase: string; fixed: boolean } {
  const seconds = sixty(fields.second);
  const minutes = sixty(fields.minute);
  const hours = ones(fields.hour);
  const everyHour = evenStep(texts[2]!, 24);
  const single = seconds.length === 1 ? seconds[0]! : -1;
  if (single >= 0 && everyHour === 0 && minutes.length * hours.length <= MOST_TIMES) {
    const times = hours.flatMap((hour) => minutes.map((minute) => clock(hour, minute, single)));
    return { phrase: `at ${join(times)}`, fixed: true };
  }
  const levels = [
    { unit: "second", values: seconds, every: evenStep(texts[0]!, 60) },
    { unit: "minute", values: minutes, every: evenStep(texts[1]!, 60) },
    { unit: "hour", values: hours, every: everyHour },
  ];
  const isZero = (values: number[]) => values.length === 1 && values[0] === 0;
  while (levels.length > 1 && isZero(levels[0]!.values)) levels.shift();
  const [finest, ...coarser] = levels;
  const words = [finest!.every > 0 ? everyPhrase(finest!.unit, finest!.every) : atPhrase(finest!)];
  let paced = finest!.every > 0;
  for (const { unit, values, every } of coarser) {
    if (every === 1 && paced) continue;
    if (every > 0) words.push(every === 1 ? `of every ${unit}` : `of every ${ordinal(every)} ${unit}`);
    else words.push(unit === "hour" ? hourPhrase(values) : `of ${counted(unit, values)}`);
    paced = every > 0;
  }
  return { phrase: words.join(" "), fixed: false };
}

/** Returns n for a field with `*` and a step n that divides its size, 1 for `*` alone, 0 otherwise. */
function evenStep(text: string, size: number): number {
  if (text === "*") return 1;
  const step = /^\*\/(\d+)$/.exec(text)?.[1];
  return step !== undefined && size % +step === 0 && +step < size ? +step : 0;
}

function everyPhrase(unit: string, every: number): string {
  return every === 1 ? `every ${unit}` : `every ${every} ${unit}s`;
}

function atPhrase(level: { unit: string; values: number[] }): string {
  if (level.unit !== "hour") return `at ${counted(level.unit, level.values)}`;
  const clocks = ranges(level.values, (hour) => clock(hour, 0, 0));
  return clocks.length === 1 ? `every hour from ${clocks[0]}` : `on the hour at ${join(clocks)}`;
}

function hourPhrase(hours: number[]): string {
  const first = hours[0]!;
  const last = hours[hours.length - 1]!;
  if (last - first === hours.length - 1) return `from ${clock(first, 0, 0)} to ${clock(last, 59, 0)}`;
  return `of the hours ${join(ranges(hours, String))}`;
}

function dayPhrase(fields: Fields, dayText: string): string {
  const dates = fields.anyDay ? [] : datePhrases(fields, dayText);
  const weekdays = fields.anyWeekday ? [] : weekdayPhrases(fields);
  const both = dates.length > 0 && weekdays.length > 0 ? " or on " : "";
  const ofMonth = dates.length > 0 ? " of the month" : "";
  const days = `${join(dates)}${ofMonth}${both}${join(weekdays)}`;
  return days === "" ? "" : `on ${days}`;
}

function datePhrases(fields: Fields, text: string): string[] {
  const step = /^\*\/(\d+)$/.exec(text)?.[1];
  if (step !== undefined && +step > 1 && +step < 31) return [`every ${ordinal(+step)} day from the 1st`];
  const phrases = ranges(ones(fields.day), (day) => `the ${ordinal(day + 1)}`);
  const special = fields.monthDays;
  if (!special) return phrases;
  for (const day of ones(special.nearest)) phrases.push(`the weekday nearest the ${ordinal(day + 1)}`);
  if (special.lastWorkday) phrases.push("the last weekday");
  if (special.last) phrases.push("the last day");
  return phrases;
}

function weekdayPhrases(fields: Fields): string[] {
  // A week begins on Monday here, so that Saturday and Sunday are adjacent.
  const mondayFirst = (mask: number) => ones((mask >>> 1) | ((mask & 1) << 6));
  const name = (day: number) => WEEKDAYS[(day + 1) % 7]!;
  const phrases = ranges(mondayFirst(fields.weekday), name);
  const special = fields.monthDays;
  if (!special) return phrases;
  special.nth.forEach((mask, week) => {
    for (const day of mondayFirst(mask)) phrases.push(`the ${ordinal(week + 1)} ${name(day)} of the month`);
  });
  for (const day of mondayFirst(special.lastWeekday)) phrases.push(`the last ${name(day)} of the month`);
  return phrases;
}

function ones(mask: number): number[] {
  const values: number[] = [];
  for (let left = mask; left !== 0; left &= left - 1) values.push(lowest(left));
  return values;
}

function sixty(mask: Sixty): number[] {
  const values: number[] = [];
  for (let value = firstFrom(mask, 0); value >= 0; value = value < 59 ? firstFrom(mask, value + 1) : -1) {
    values.push(value);
  }
  return values;
}

/** Lists the values; three or more consecutive ones become "a to b". */
function ranges(values: number[], name: (value: number) => string): string[] {
  const phrases: string[] = [];
  for (let i = 0; i < values.length; ) {
    let end = i;
    while (values[end + 1] === values[end]! + 1) end++;
    if (end - i >= 2) phrases.push(`${name(values[i]!)} to ${name(values[end]!)}`);
    else for (let k = i; k <= end; k++) phrases.push(name(values[k]!));
    i = end + 1;
  }
  return phrases;
}

function counted(unit: string, values: number[]): string {
  return `${unit}${values.length === 1 ? "" : "s"} ${join(ranges(values, String))}`;
}

function join(phrases: string[]): string {
  return phrases.length < 2 ? (phrases[0] ?? "") : `${phrases.slice(0, -1).join(", ")} and ${phrases.at(-1)}`;
}

function clock(hour: number, minute: number, second: number): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(hour)}:${two(minute)}${second === 0 ? "" : `:${two(second)}`}`;
}

function ordinal(n: number): string {
  const teen = n % 100 > 10 && n % 100 < 14;
  return `${n}${(!teen && ["th", "st", "nd", "rd"][n % 10]) || "th"}`;
}
