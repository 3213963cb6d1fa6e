import { Cron as Croner } from "croner";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Cron } from "../../src/schedule/cron.ts";

/** A field with the values that it matches, so that a test can judge without the parser. */
interface Field {
  text: string;
  values: Set<number>;
}

function stepped(from: number, to: number, step: number): Set<number> {
  const values = new Set<number>();
  for (let value = from; value <= to; value += step) values.add(value);
  return values;
}

/** Values from `low` to `high`; `*` reaches up to `end`. */
function field(low: number, high: number, end = high): fc.Arbitrary<Field> {
  const value = fc.integer({ min: low, max: high });
  const step = fc.integer({ min: 1, max: high });
  const range = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant({ text: "*", values: stepped(low, end, 1) }) },
    {
      weight: 3,
      arbitrary: fc
        .array(value, { minLength: 1, maxLength: 4 })
        .map((list) => ({ text: list.join(), values: new Set(list) })),
    },
    { weight: 1, arbitrary: step.map((n) => ({ text: `*/${n}`, values: stepped(low, end, n) })) },
    { weight: 1, arbitrary: range.map(([a, b]) => ({ text: `${a}-${b}`, values: stepped(a, b, 1) })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(range, step)
        .map(([[a, b], n]) => ({ text: `${a}-${b}/${n}`, values: stepped(a, b, n) })),
    },
  );
}

const second = fc.oneof(fc.constant({ text: "0", values: new Set([0]) }), field(0, 59));
const minute = field(0, 59);
const hour = field(0, 23);
// No later than the 28th, so that every date exists in every month.
const day = field(1, 28, 31);
const weekday = field(0, 6);
const monthDay = fc.constantFrom("L", "LW", "1W", "15W", "28W", "L,10", "3,5W");
const monthWeekday = fc.constantFrom("1#1", "5#2", "0#3", "6L", "2L,4", "MON#4", "FRI-SUN", "7");

const texts = (values: fc.Arbitrary<Field>) => values.map(({ text }) => text);
const expression: fc.Arbitrary<string> = fc
  .tuple(
    texts(second),
    texts(minute),
    texts(hour),
    fc.oneof({ weight: 3, arbitrary: texts(day) }, { weight: 1, arbitrary: monthDay }),
    fc.oneof({ weight: 3, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: texts(field(1, 12)) }),
    fc.oneof({ weight: 3, arbitrary: texts(weekday) }, { weight: 1, arbitrary: monthWeekday }),
  )
  .map((fields) => fields.join(" "));

const zone = fc.constantFrom(
  "UTC",
  "America/New_York",
  "America/St_Johns",
  "America/Havana",
  "America/Sao_Paulo",
  "America/Santiago",
  "Europe/London",
  "Europe/Berlin",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Asia/Tehran",
  "Asia/Gaza",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Australia/Sydney",
  "Pacific/Apia",
  "Pacific/Chatham",
  "Antarctica/Troll",
  "Antarctica/Casey",
);

const instant = fc.integer({ min: Date.UTC(2005, 0), max: Date.UTC(2035, 0) });

/** Clock changes in UTC. */
const CHANGES: readonly (readonly [zone: string, at: string])[] = [
  ["America/New_York", "2026-03-08T07:00Z"],
  ["America/New_York", "2026-11-01T06:00Z"],
  ["Europe/Berlin", "2026-03-29T01:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00Z"],
  ["Australia/Sydney", "2026-10-03T16:00Z"],
  ["Australia/Sydney", "2026-04-04T16:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00Z"],
  ["Pacific/Chatham", "2026-09-26T14:00Z"],
  ["Pacific/Chatham", "2026-04-04T14:00Z"],
  ["Antarctica/Troll", "2026-03-29T01:00Z"],
  ["Antarctica/Troll", "2026-10-25T01:00Z"],
  ["America/Havana", "2026-03-08T05:00Z"],
  ["America/Havana", "2026-11-01T05:00Z"],
  ["America/Sao_Paulo", "2018-11-04T03:00Z"],
  ["Asia/Beirut", "2026-03-28T22:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00Z"],
  ["Antarctica/Casey", "2009-10-17T18:00Z"],
  ["Antarctica/Casey", "2010-03-04T15:00Z"],
];
const MINUTE = 60_000;
/** How many minutes on either side of a change are compared. */
const AROUND = 30 * 60;

/** The wall-clock time of each minute around a change, in civil minutes. */
function wallClock(timeZone: string, change: number): { start: number; wall: number[] } {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const start = change - AROUND * MINUTE;
  const wall = Array.from({ length: 2 * AROUND }, (_, i) => {
    const parts = format.formatToParts(start + i * MINUTE);
    const read = (type: string) => Number(parts.find((part) => part.type === type)?.value);
    const civil = Date.UTC(read("year"), read("month") - 1, read("day"), read("hour"), read("minute"));
    return civil / MINUTE;
  });
  return { start, wall };
}

interface Job {
  minute: Field;
  hour: Field;
  day: Field;
  weekday: Field;
}

function isDue(job: Job, civil: number): boolean {
  const date = new Date(civil * MINUTE);
  if (!job.minute.values.has(date.getUTCMinutes()) || !job.hour.values.has(date.getUTCHours())) return false;
  const isDay = job.day.values.has(date.getUTCDate());
  const isWeekday = job.weekday.values.has(date.getUTCDay());
  if (job.day.text === "*" || job.weekday.text === "*") return isDay && isWeekday;
  return isDay || isWeekday;
}

/** The rule for clock changes, evaluated minute by minute. */
function ticksByHand(job: Job, start: number, wall: readonly number[]): number[] {
  const interval = job.minute.text.startsWith("*") || job.hour.text.startsWith("*");
  const ticks: number[] = [];
  let shownBefore = Number.NEGATIVE_INFINITY;
  for (let i = 1; i < wall.length; i++) {
    const now = wall[i]!;
    const last = wall[i - 1]!;
    const jump = now - last - 1;
    if (jump < 0) shownBefore = jump >= -180 ? last : Number.NEGATIVE_INFINITY;
    let due = isDue(job, now) && (interval || now > shownBefore);
    if (!interval && jump > 0 && jump < 180) {
      for (let skipped = last + 1; skipped < now; skipped++) due ||= isDue(job, skipped);
    }
    if (due) ticks.push(start + i * MINUTE);
  }
  return ticks;
}

describe("next and previous", () => {
  test("are strict, and each other's inverse", () => {
    fc.assert(
      fc.property(expression, zone, instant, (text, timezone, at) => {
        const cron = new Cron(text, { timezone });
        const next = cron.nextMs(at)!;
        const previous = cron.previousMs(at)!;
        expect(next).toBeGreaterThan(at);
        expect(previous).toBeLessThan(at);
        expect(cron.previousMs(next + 1)).toBe(next);
        expect(cron.nextMs(previous - 1)).toBe(previous);
        expect(cron.previousMs(next)).toBe(cron.matches(at) && at % 1000 === 0 ? at : previous);
        expect(cron.matches(next) && cron.matches(previous)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  }, 60_000);

  test("find every tick around a clock change, as a check minute by minute does", () => {
    const changes = CHANGES.map(([timezone, at]) => ({ timezone, ...wallClock(timezone, Date.parse(at)) }));
    fc.assert(
      fc.property(
        fc.record({ minute, hour, day, weekday }),
        fc.constantFrom(...changes),
        (job, { timezone, start, wall }) => {
          const text = `${job.minute.text} ${job.hour.text} ${job.day.text} * ${job.weekday.text}`;
          const expected = ticksByHand(job, start, wall);
          const cron = new Cron(text, { timezone });
          const end = start + wall.length * MINUTE;
          const forward: number[] = [];
          for (let at = cron.nextMs(start)!; at < end; at = cron.nextMs(at)!) forward.push(at);
          const backward: number[] = [];
          for (let at = cron.previousMs(end)!; at > start; at = cron.previousMs(at)!) backward.unshift(at);
          expect([text, timezone, forward]).toEqual([text, timezone, expected]);
          expect(backward).toEqual(expected);
        },
      ),
      { numRuns: 1000 },
    );
  }, 60_000);

  test("do not depend on where the search starts", () => {
    const changes = CHANGES.map(([timezone, at]) => ({ timezone, change: Date.parse(at) }));
    fc.assert(
      fc.property(
        expression,
        fc.constantFrom(...changes),
        fc.integer({ min: -6 * 3600, max: 6 * 3600 }),
        fc.nat(999),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (text, { timezone, change }, seconds, ms, part) => {
          const cron = new Cron(text, { timezone });
          const at = change + seconds * 1000 + ms;
          const next = cron.nextMs(at)!;
          expect(next).toBeGreaterThan(at);
          expect(cron.nextMs(at + Math.floor((next - at) * part))).toBe(next);
        },
      ),
      { numRuns: 2000 },
    );
  }, 60_000);
});

describe("beside croner", () => {
  // Croner treats lists of fixed times as intervals at clock changes, so both are compared only far from them.
  const calm = fc.tuple(
    fc.constantFrom(
      "UTC",
      "Asia/Kolkata",
      "Asia/Tokyo",
      "America/New_York",
      "Europe/Berlin",
      "Pacific/Chatham",
    ),
    fc.integer({ min: 2010, max: 2034 }),
    fc.constantFrom(0, 6),
    fc.integer({ min: 0, max: 30 * 86_400 }),
  );

  test("both return the same ticks", () => {
    fc.assert(
      fc.property(expression, calm, (text, [timezone, year, month, seconds]) => {
        // In February croner loses days after a 29th, 30th or 31st that a step from * includes.
        fc.pre(!/^\S+ \S+ \S+ \*\//.test(text));
        const from = Date.UTC(year, month, 1, 0, 0, seconds);
        const until = Date.UTC(year, month + 1, 25);
        const calmly = (dates: Date[]) => dates.filter((date) => date.getTime() < until).map(Number);
        const theirs = calmly(new Croner(text, { timezone }).nextRuns(3, new Date(from)));
        expect([text, timezone, calmly(new Cron(text, { timezone }).upcoming(3, from))]).toEqual([
          text,
          timezone,
          theirs,
        ]);
      }),
      { numRuns: 2000, seed: 20_261_115 },
    );
  }, 60_000);
});
