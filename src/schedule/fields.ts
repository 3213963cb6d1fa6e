import { formatValue, PunctualError } from "../errors.ts";
import { add, type Sixty } from "./bits.ts";
import { everOccurs } from "./civil.ts";

/** Days whose date depends on the month. Bit 0 is the 1st in `nearest`, Sunday in the weekday masks. */
export interface MonthDays {
  /** `L`: the last day. */
  last: boolean;
  /** `LW`: the last Monday to Friday. */
  lastWorkday: boolean;
  /** `15W`: the Monday to Friday nearest the 15th. */
  nearest: number;
  /** `5#2`, the second Friday: one weekday mask per week of the month. */
  nth: [number, number, number, number, number];
  /** `5L`: the last Friday. */
  lastWeekday: number;
}

/** A cron expression as masks. Bit 0 is the 1st in `day`, January in `month`, Sunday in `weekday`. */
export interface Fields {
  /** Normal form of the expression: six fields in upper case. */
  readonly text: string;
  readonly second: Sixty;
  readonly minute: Sixty;
  readonly hour: number;
  readonly day: number;
  readonly month: number;
  readonly weekday: number;
  readonly monthDays: MonthDays | undefined;
  readonly anyDay: boolean;
  readonly anyWeekday: boolean;
  /**
   * Whether the schedule follows real time across clock changes: its minute or hour field begins with `*`. Decided from
   * the text, because the masks of `*` and `0-59` are equal.
   */
  readonly interval: boolean;
}

interface FieldSpec {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly names: readonly string[];
  readonly allowed: string;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const SPECS: readonly FieldSpec[] = [
  { name: "second", low: 0, high: 59, names: [], allowed: "0-59" },
  { name: "minute", low: 0, high: 59, names: [], allowed: "0-59" },
  { name: "hour", low: 0, high: 23, names: [], allowed: "0-23" },
  { name: "day of month", low: 1, high: 31, names: [], allowed: "1-31, L, LW, 15W, ?" },
  { name: "month", low: 1, high: 12, names: MONTHS, allowed: "1-12, JAN-DEC" },
  {
    name: "day of week",
    low: 0,
    high: 7,
    names: WEEKDAYS,
    allowed: "0-7 (0 and 7 are Sunday), SUN-SAT, 5#2, 5L, ?",
  },
];

/** Masks of `*`. */
const WHOLE: readonly Sixty[] = SPECS.map(({ low, high }) => {
  const mask: Sixty = { low: 0, high: 0 };
  for (let value = low; value <= high; value++) add(mask, value);
  return mask;
});

/** Positions in an expression of six fields. */
const DAY_OF_MONTH = 3;
const MONTH = 4;
const DAY_OF_WEEK = 5;

const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ["@YEARLY", "0 0 0 1 1 *"],
  ["@ANNUALLY", "0 0 0 1 1 *"],
  ["@MONTHLY", "0 0 0 1 * *"],
  ["@WEEKLY", "0 0 0 * * 0"],
  ["@DAILY", "0 0 0 * * *"],
  ["@MIDNIGHT", "0 0 0 * * *"],
  ["@HOURLY", "0 0 * * * *"],
]);

/** Longest expression. One that lists every second, minute and hour has 400 characters. */
const LONGEST = 1000;

/** The field that is being parsed, for the error message. */
interface FieldPosition {
  readonly source: string;
  readonly texts: readonly string[];
  readonly index: number;
}

/** Parses an expression of five or six fields, or a nickname such as `@daily`. */
export function parseCron(source: string): Fields {
  const texts = split(source);
  let monthDays: MonthDays | undefined;
  const masks = texts.map((text, index) => {
    // A shortcut: thousands of definitions may be parsed at once, and most of their fields are `*`.
    if (text === "*") return WHOLE[index]!;
    const mask: Sixty = { low: 0, high: 0 };
    const position: FieldPosition = { source, texts, index };
    for (const element of text.split(",")) {
      if (!dependsOnMonth(element, index)) addElement(mask, element, position);
      else {
        monthDays ??= noMonthDays();
        addMonthDay(monthDays, element, index);
      }
    }
    return mask;
  });
  const weekday = masks[DAY_OF_WEEK]!.low;
  const fields: Fields = {
    text: texts.join(" "),
    second: masks[0]!,
    minute: masks[1]!,
    hour: masks[2]!.low,
    day: masks[DAY_OF_MONTH]!.low >>> 1,
    month: masks[MONTH]!.low >>> 1,
    weekday: (weekday | (weekday >>> 7)) & 127,
    monthDays,
    anyDay: texts[DAY_OF_MONTH] === "*",
    anyWeekday: texts[DAY_OF_WEEK] === "*",
    interval: texts[1]!.startsWith("*") || texts[2]!.startsWith("*"),
  };
  if (!everOccurs(fields)) {
    refuse(
      source,
      `day of month ${formatValue(texts[DAY_OF_MONTH])} never occurs in month ${formatValue(texts[MONTH])}`,
    );
  }
  return fields;
}

function split(source: string): string[] {
  if (typeof source !== "string") refuse(source, "expected text with 5 or 6 fields");
  if (source.length > LONGEST)
    refuse(source, `it has ${source.length} characters; at most ${LONGEST} are read`);
  const text = source.trim().toUpperCase();
  if (text === "") refuse(source, 'it is empty; expected 5 or 6 fields, such as "*/5 * * * *"');
  if (text === "@REBOOT") {
    refuse(source, "@reboot names an event, not a time; dispatch the job when your program starts instead");
  }
  if (text.startsWith("@")) {
    const fields = NICKNAMES.get(text);
    if (fields !== undefined) return fields.split(" ");
    refuse(source, `unknown nickname; known are ${[...NICKNAMES.keys()].join(", ").toLowerCase()}`);
  }
  const texts = (/\t| {2}/.test(text) ? text.replace(/[ \t]+/g, " ") : text).split(" ");
  if (texts.length === 5) texts.unshift("0");
  if (texts.length !== 6) {
    const found = `it has ${texts.length} field${texts.length === 1 ? "" : "s"}`;
    const order = "[second] minute hour day-of-month month day-of-week";
    refuse(source, `${found}; expected 5 or 6: ${order}${texts.length === 7 ? " (there is no year)" : ""}`);
  }
  if (texts[DAY_OF_MONTH] === "?") texts[DAY_OF_MONTH] = "*";
  if (texts[DAY_OF_WEEK] === "?") texts[DAY_OF_WEEK] = "*";
  return texts;
}

function noMonthDays(): MonthDays {
  return { last: false, lastWorkday: false, nearest: 0, nth: [0, 0, 0, 0, 0], lastWeekday: 0 };
}

/** `L`, `LW`, `15W` */
const MONTH_DAY = /^(?:LW?|(?:0?[1-9]|[12]\d|3[01])W)$/;
/** `5L`, `5#2` */
const MONTH_WEEKDAY = /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:L|#[1-5])$/;

function dependsOnMonth(element: string, index: number): boolean {
  if (index === DAY_OF_MONTH) return MONTH_DAY.test(element);
  return index === DAY_OF_WEEK && MONTH_WEEKDAY.test(element);
}

function addMonthDay(days: MonthDays, element: string, index: number): void {
  if (index === DAY_OF_MONTH) {
    if (element === "L") days.last = true;
    else if (element === "LW") days.lastWorkday = true;
    else days.nearest |= 1 << (Number.parseInt(element, 10) - 1);
    return;
  }
  const named = WEEKDAYS.indexOf(element.slice(0, 3));
  const weekday = named < 0 ? Number.parseInt(element, 10) % 7 : named;
  if (element.endsWith("L")) days.lastWeekday |= 1 << weekday;
  else days.nth[+element.at(-1)! - 1]! |= 1 << weekday;
}

function addElement(mask: Sixty, element: string, position: FieldPosition): void {
  const spec = SPECS[position.index]!;
  if (element === "") fail(position, "an element is empty; check the commas");
  const slash = element.indexOf("/");
  const range = slash < 0 ? element : element.slice(0, slash);
  const step = slash < 0 ? 1 : readStep(element.slice(slash + 1), position);
  const dash = range.indexOf("-");
  let from = spec.low;
  let to = spec.high;
  if (range !== "*") {
    const first = dash < 0 ? range : range.slice(0, dash);
    const second = dash < 0 ? range : range.slice(dash + 1);
    from = readValue(first, position);
    to = readValue(second, position);
    if (dash < 0 && slash >= 0) {
      fail(
        position,
        `a step needs a range; instead of ${formatValue(element)} write "${range}-${spec.high}/${step}"`,
      );
    }
    // "MON-SUN" is a range up to 7; as the first day of a week, SUN is 0.
    if (second === "SUN" && dash >= 0) to = 7;
    if (from > to) {
      const named = /^\d/.test(first) ? [spec.low, spec.high] : [spec.names[0], spec.names.at(-1)];
      const instead = `${first}-${named[1]},${named[0]}-${second}`;
      fail(position, `the range ${formatValue(range)} runs backwards; write "${instead}"`);
    }
  }
  for (let value = from; value <= to; value += step) add(mask, value);
}

function readStep(text: string, position: FieldPosition): number {
  if (!/^\d{1,4}$/.test(text) || +text === 0)
    fail(position, `a step must be a number from 1 to 9999, got ${formatValue(text)}`);
  return +text;
}

function readValue(text: string, position: FieldPosition): number {
  const spec = SPECS[position.index]!;
  if (/^\d+$/.test(text)) {
    if (text.length > 4 || +text < spec.low || +text > spec.high)
      fail(position, `${formatValue(text)} is out of range`);
    return +text;
  }
  const index = spec.names.indexOf(text);
  if (index < 0) fail(position, text === "" ? "a range lacks an end" : `cannot read ${formatValue(text)}`);
  return index + spec.low;
}

function fail({ source, texts, index }: FieldPosition, problem: string): never {
  const spec = SPECS[index]!;
  // Positions as the user counts them: an expression of five fields has no second.
  const number = index + 1 - (source.trim().split(/[ \t]+/).length === 5 ? 1 : 0);
  const field = `field ${number} (${spec.name}) ${formatValue(texts[index])}:`;
  refuse(source, `${field} ${problem}. Allowed: ${spec.allowed}, *, a-b, a-b/n, */n and lists of them`);
}

function refuse(source: unknown, problem: string): never {
  throw new PunctualError("INVALID_CRON", `The cron ${formatValue(source)} is not valid: ${problem}.`);
}
