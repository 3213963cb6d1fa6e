import { PunctualError, show } from "./errors.ts";

/** The only source of time. */
export interface Clock {
  /** Wall time in UTC milliseconds. */
  now(): number;
  /** Milliseconds since any fixed moment; never goes back, whatever becomes of the wall time. */
  monotonic(): number;
  /** Calls back once after `ms`; returns how to call it off. `background` timers do not keep the process alive. */
  after(ms: number, callback: () => void, options?: { background?: boolean }): () => void;
  /** True for a clock that tests move by hand: stores then use its time in place of the database's. */
  readonly manual: boolean;
}

/** One moment on both clocks of this host. */
export interface ClockReading {
  monotonic: number;
  wall: number;
}

export function readClock(clock: Clock): ClockReading {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/**
 * Milliseconds since a reading, by the clock that counted more: the monotonic clock of Linux stands still while the host
 * is suspended, and the wall clock may be set.
 */
export function elapsedSince(reading: ClockReading, clock: Clock): number {
  return Math.max(clock.monotonic() - reading.monotonic, clock.now() - reading.wall);
}

/** Refuses what cannot be a clock, before a worker depends on it. */
export function checkClock(clock: Clock): Clock {
  const given = clock as Partial<Clock> | null;
  const missing = (["now", "monotonic", "after"] as const).find(
    (name) => typeof given?.[name] !== "function",
  );
  if (missing !== undefined) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected clock with now(), monotonic(), after() and manual, got ${missing} ${show(given?.[missing])}.`,
    );
  }
  if (typeof clock.manual !== "boolean") {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected clock.manual as true (tests move its time) or false (its time passes), got ${show(clock.manual)}.`,
    );
  }
  for (const name of ["now", "monotonic"] as const) {
    const value: unknown = clock[name]();
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) continue;
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected clock.${name}() to give milliseconds as a number, got ${show(value)}.`,
    );
  }
  return clock;
}

/** Node fires a longer timer at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

export const systemClock: Clock = {
  manual: false,
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback, options) {
    const due = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const arm = () => {
      const left = due - performance.now();
      timer = setTimeout(
        () => (left > LONGEST_TIMER ? arm() : callback()),
        Math.min(Math.max(0, left), LONGEST_TIMER),
      );
      if (options?.background) timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};

/** Waits on the clock; ends early, without an error, when the signal aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Real milliseconds, whatever the clock says: for waiting out another process's database lock. */
export function backOff(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Lets timers, sockets and signals have their turn. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Seconds, or text such as `"200ms"`, `"90s"`, `"1.5 hours"`, `"1h 30m"`. */
export type Duration = number | string;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY: number = 24 * HOUR;

const UNITS: Record<string, number> = {
  ms: 1,
  millisecond: 1,
  s: SECOND,
  sec: SECOND,
  second: SECOND,
  m: MINUTE,
  min: MINUTE,
  minute: MINUTE,
  h: HOUR,
  hour: HOUR,
  d: DAY,
  day: DAY,
  w: 7 * DAY,
  week: 7 * DAY,
};

/** What lies further away than this does not fit the calendars of every database. */
const LONGEST_DURATION = 365_250 * DAY;

const PART = /(\d+(?:\.\d+)?)\s*([a-z]+)\s*/y;

/** A duration in milliseconds. */
export function toMilliseconds(duration: Duration, what = "a duration"): number {
  const ms = typeof duration === "number" ? duration * SECOND : parseDuration(duration);
  if (ms === undefined || !(ms >= 0 && ms <= LONGEST_DURATION)) {
    throw new PunctualError(
      "INVALID_DURATION",
      `Expected ${what} as seconds or text such as "200ms", "90s" or "1 hour", got ${show(duration)}.` +
        (ms !== undefined && ms > LONGEST_DURATION ? " The longest is 1,000 years." : ""),
    );
  }
  return Math.round(ms);
}

function parseDuration(text: unknown): number | undefined {
  if (typeof text !== "string" || text.length > 100) return undefined;
  const source = text.trim().toLowerCase();
  let total = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < source.length) {
    const match = PART.exec(source);
    const unit = match?.[2];
    if (!match || !unit) return undefined;
    // Only words have a plural: "5 mins", not "5 hs".
    const size = UNITS[unit] ?? (unit.length > 3 ? UNITS[unit.replace(/s$/, "")] : undefined);
    if (size === undefined) return undefined;
    total += Number(match[1]) * size;
  }
  return source === "" ? undefined : total;
}

/**
 * A `Date`, or text such as `"2026-12-01T10:00:00Z"`; without an offset it is read in the job's zone, UTC unless it has one.
 * Where a run is dispatched, moved or retried also `"+5 seconds"`: that long from now.
 */
export type Instant = Date | string;

/** Milliseconds from now for text such as `"+5 seconds"`; null: the instant is not relative. */
export function toOffset(instant: Instant): number | null {
  if (typeof instant !== "string" || !/^\s*\+/.test(instant)) return null;
  return toMilliseconds(instant.trim().slice(1), 'the duration after "+"');
}

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i;

/** An instant in UTC milliseconds. */
export function toInstant(instant: Instant): number {
  const ms = instant instanceof Date ? instant.getTime() : parseInstant(instant);
  if (ms === undefined || Number.isNaN(ms)) {
    throw new PunctualError(
      "INVALID_INSTANT",
      `Expected a Date or an ISO 8601 text such as "2026-12-01T10:00:00Z", got ${instant instanceof Date ? "an invalid Date" : show(instant)}.` +
        (typeof instant === "number" ? " For a number of seconds from now use delay()." : "") +
        (typeof instant === "string" && /^\s*\+/.test(instant)
          ? " A relative instant has no meaning here."
          : ""),
    );
  }
  return ms;
}

/** Whether an instant is text without an offset: a time on somebody's wall clock. */
export function isWallTime(instant: Instant): boolean {
  return typeof instant === "string" && ISO.exec(instant.trim())?.[4] === undefined;
}

function parseInstant(text: unknown): number | undefined {
  const match = typeof text === "string" ? ISO.exec(text.trim()) : null;
  if (!match) return undefined;
  const [, date, time = "00:00", seconds = ":00", offset = "Z"] = match;
  const zone = /^[+-]\d{4}$/.test(offset) ? `${offset.slice(0, 3)}:${offset.slice(3)}` : offset.toUpperCase();
  const parsed = Date.parse(`${date}T${time}${seconds}${zone}`);
  // Date.parse rolls 30 February over into March; a date that does not exist is a mistake, not a wish.
  const day = new Date(`${date}T00:00:00Z`);
  return Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== date ? undefined : parsed;
}
