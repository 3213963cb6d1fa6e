import { formatValue, PunctualError } from "./errors.ts";

/** Source of time: nothing else in Punctual reads a clock or sets a timer. */
export interface Clock {
  /** Wall time in UTC milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary fixed moment; never goes back, even when the wall clock is set. */
  monotonic(): number;
  /**
   * Calls `callback` once after `ms`; returns a function that cancels it. `background` timers do not keep the process
   * alive.
   */
  after(ms: number, callback: () => void, options?: { background?: boolean }): () => void;
  /** True for a clock that tests advance: stores then use its time in place of the database's. */
  readonly manual: boolean;
}

/** One moment on the monotonic and the wall clock of this machine. */
export interface ClockReading {
  monotonic: number;
  wall: number;
}

export function readClock(clock: Clock): ClockReading {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/**
 * Returns the milliseconds since a reading, by the clock that counted more: the monotonic clock of Linux stands still
 * while the machine is suspended, and the wall clock may be set back.
 */
export function elapsedSince(reading: ClockReading, clock: Clock): number {
  return Math.max(clock.monotonic() - reading.monotonic, clock.now() - reading.wall);
}

/**
 * Returns by how much another clock is ahead of this one, at least. It showed `theirs` at some moment between `sent`
 * and `received` of this clock. 0: the two may agree, however long the answer took.
 */
export function clockSkew(theirs: number, sent: number, received: number): number {
  return theirs < sent ? theirs - sent : Math.max(0, theirs - received);
}

/** Throws INVALID_OPTION unless the value has everything a clock needs. */
export function checkClock(clock: Clock): Clock {
  const given = clock as Partial<Clock> | null;
  const missing = (["now", "monotonic", "after"] as const).find(
    (name) => typeof given?.[name] !== "function",
  );
  if (missing !== undefined) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected clock with now(), monotonic(), after() and manual, got ${missing} ${formatValue(given?.[missing])}.`,
    );
  }
  if (typeof clock.manual !== "boolean") {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected clock.manual as true (tests move its time) or false (its time passes), got ${formatValue(clock.manual)}.`,
    );
  }
  for (const name of ["now", "monotonic"] as const) {
    const value: unknown = clock[name]();
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) continue;
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected clock.${name}() to give milliseconds as a number, got ${formatValue(value)}.`,
    );
  }
  return clock;
}

/** Node fires a timer with a longer delay at once. */
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

/** Sleeps on the clock; resolves early when the signal aborts. */
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

/** Sleeps real milliseconds, whatever the clock says: locks of other processes do not follow a test clock. */
export function sleepReal(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Yields one turn of the event loop to timers, sockets and signals. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Seconds, or text such as `"200ms"`, `"90s"`, `"1.5 hours"`, `"1h 30m"`. */
export type Duration = number | string;

/** Units in milliseconds. */
export const SECOND = 1000;
export const MINUTE: number = 60 * SECOND;
export const HOUR: number = 60 * MINUTE;
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

/** A thousand years: dates beyond it exceed the calendar of some databases. */
const LONGEST_DURATION = 365_250 * DAY;

const PART = /(\d+(?:\.\d+)?)\s*([a-z]+)\s*/y;

/** Returns a duration in milliseconds. `what` names it in the error. */
export function toMilliseconds(duration: Duration, what = "a duration"): number {
  const ms = typeof duration === "number" ? duration * SECOND : parseDuration(duration);
  if (ms === undefined || !(ms >= 0 && ms <= LONGEST_DURATION)) {
    throw new PunctualError(
      "INVALID_DURATION",
      `Expected ${what} as seconds or text such as "200ms", "90s" or "1 hour", got ${formatValue(duration)}.` +
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
    // Words have a plural ("5 mins"), abbreviations do not ("5 hs").
    const size = UNITS[unit] ?? (unit.length > 3 ? UNITS[unit.replace(/s$/, "")] : undefined);
    if (size === undefined) return undefined;
    total += Number(match[1]) * size;
  }
  return source === "" ? undefined : total;
}

/**
 * A `Date`, or text such as `"2026-12-01T10:00:00Z"`. Text without an offset is read in the job's time zone, by default
 * UTC. When a run is dispatched, moved or retried, `"+5 seconds"` means that long from now.
 */
export type Instant = Date | string;

/** Returns the milliseconds from now for text such as `"+5 seconds"`; null for an instant that is not relative. */
export function toOffset(instant: Instant): number | null {
  if (typeof instant !== "string" || !/^\s*\+/.test(instant)) return null;
  return toMilliseconds(instant.trim().slice(1), 'the duration after "+"');
}

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i;

/** Returns an instant in UTC milliseconds; text without an offset is read as UTC. */
export function toInstant(instant: Instant): number {
  const ms = instant instanceof Date ? instant.getTime() : parseInstant(instant);
  if (ms === undefined || Number.isNaN(ms)) {
    throw new PunctualError(
      "INVALID_INSTANT",
      `Expected a Date or an ISO 8601 text such as "2026-12-01T10:00:00Z", got ${instant instanceof Date ? "an invalid Date" : formatValue(instant)}.` +
        (typeof instant === "number" ? " For a number of seconds from now use delay()." : "") +
        (typeof instant === "string" && /^\s*\+/.test(instant)
          ? " A relative instant is not allowed here."
          : ""),
    );
  }
  return ms;
}

/** Whether an instant is text without an offset: a wall-clock time in a zone that the text does not name. */
export function isWallTime(instant: Instant): boolean {
  return typeof instant === "string" && ISO.exec(instant.trim())?.[4] === undefined;
}

function parseInstant(text: unknown): number | undefined {
  const match = typeof text === "string" ? ISO.exec(text.trim()) : null;
  if (!match) return undefined;
  const [, date, time = "00:00", seconds = ":00", offset = "Z"] = match;
  const zone = /^[+-]\d{4}$/.test(offset) ? `${offset.slice(0, 3)}:${offset.slice(3)}` : offset.toUpperCase();
  const parsed = Date.parse(`${date}T${time}${seconds}${zone}`);
  // Date.parse turns 30 February into 2 March; a date that does not exist is rejected instead.
  const day = new Date(`${date}T00:00:00Z`);
  return Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== date ? undefined : parsed;
}

/** Settles as `work` does, but rejects with `late()` after `ms`, and when the signal aborts. */
export function inTime<Result>(
  work: Promise<Result>,
  ms: number,
  signal: AbortSignal | undefined,
  late: () => unknown,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(ms, () => reject(late()));
    const abort = () => reject(signal!.reason);
    signal?.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => {
      cancel();
      signal?.removeEventListener("abort", abort);
    });
  });
}
