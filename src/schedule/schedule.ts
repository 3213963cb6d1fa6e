import { Cron } from "./cron.ts";
import { nearestOpen, type Window } from "./window.ts";
import { type Zone, zoneOf } from "./zones.ts";

/** Choice of the missed ticks that still become runs: the latest one, none, or all. */
export interface Misfire {
  policy: "once" | "skip" | "all";
  /** Most runs that `all` creates, for the latest ticks. */
  limit: number;
  /** Ticks missed by more than this many milliseconds create no run; null: no such bound. */
  within: number | null;
}

/** Everything that defines a schedule. */
export interface ScheduleParts {
  job: string;
  cron: string;
  timezone: string;
  windows: readonly Window[];
  startingAt: number | null;
  endingAt: number | null;
  misfire: Misfire;
  /** JSON text; null: the arguments of the job. */
  args: string | null;
  queue: string | null;
}

/** Returns a text that changes with everything that decides when the schedule ticks. */
export function fingerprintOf({
  job: _,
  args: __,
  queue: ___,
  misfire: ____,
  ...when
}: ScheduleParts): string {
  return digest(JSON.stringify(when)).toString(36);
}

/** After this many ticks in a row outside its windows, a schedule counts as one that never ticks. */
const MOST_OUTSIDE_WINDOWS = 5000;

/** Computes the ticks of a job. */
export class Schedule {
  readonly parts: ScheduleParts;
  readonly #cron: Cron;
  readonly #zone: Zone;

  constructor(parts: ScheduleParts) {
    this.parts = parts;
    this.#cron = new Cron(parts.cron, { timezone: parts.timezone });
    this.#zone = zoneOf(parts.timezone);
  }

  /** Returns the first tick after an instant; null without one. */
  next(after: number): number | null {
    const { windows, startingAt, endingAt } = this.parts;
    let from = startingAt === null ? after : Math.max(after, startingAt - 1);
    for (let tries = 0; tries < MOST_OUTSIDE_WINDOWS; tries++) {
      const tick = this.#cron.nextMs(from);
      if (tick === undefined || (endingAt !== null && tick > endingAt)) return null;
      const opens = Math.max(
        tick,
        ...windows.map((window) => nearestOpen(window, this.#zone, tick, "ahead")),
      );
      if (opens === tick) return tick;
      from = Math.max(tick, opens - 1);
    }
    return null;
  }

  /** Returns the last tick at or before `upTo`, but not before `since`; null without one. */
  latest(upTo: number, since: number): number | null {
    const { endingAt, windows } = this.parts;
    let before = (endingAt === null ? upTo : Math.min(upTo, endingAt)) + 1;
    for (let tries = 0; tries < MOST_OUTSIDE_WINDOWS; tries++) {
      const tick = this.#cron.previousMs(before);
      if (tick === undefined || tick < since) return null;
      const open = Math.min(tick, ...windows.map((window) => nearestOpen(window, this.#zone, tick, "back")));
      if (open === tick) return tick;
      before = Math.min(tick, open + 1);
    }
    return null;
  }

  describe(): string {
    return this.#cron.describe();
  }
}

/**
 * Returns a 53-bit hash of the text (cyrb53). It distinguishes versions of one definition, so that a cryptographic hash
 * is not needed; loading `node:crypto` would cost every process 3 MB.
 */
export function digest(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  const mixed = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  const other =
    Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(mixed ^ (mixed >>> 13), 3_266_489_909);
  return (other >>> 11) * 2 ** 32 + (mixed >>> 0);
}
