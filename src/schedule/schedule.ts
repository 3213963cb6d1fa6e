import { Cron } from "./cron.ts";
import { nearestOpen, type Window } from "./window.ts";
import { type Zone, zoneOf } from "./zones.ts";

/** What becomes of ticks that were missed: the latest runs, none runs, all run. */
export interface Misfire {
  policy: "once" | "skip" | "all";
  /** How many of them `all` runs, the latest ones. */
  limit: number;
  /** Ticks missed by more milliseconds than this are let go; null: none is. */
  within: number | null;
}

export interface ScheduleParts {
  job: string;
  cron: string;
  timezone: string;
  windows: readonly Window[];
  startingAt: number | null;
  endingAt: number | null;
  misfire: Misfire;
  /** JSON text; null: the arguments of the definition. */
  args: string | null;
  queue: string | null;
}

/** Changes with whatever decides when it ticks. */
export function fingerprintOf({
  job: _,
  args: __,
  queue: ___,
  misfire: ____,
  ...when
}: ScheduleParts): string {
  return digest(JSON.stringify(when)).toString(36);
}

/** So many ticks outside its windows in a row, and a schedule is taken for one that never ticks. */
const TRIES = 5000;

/** When a job ticks, ready to be asked. */
export class Schedule {
  readonly parts: ScheduleParts;
  readonly #cron: Cron;
  readonly #zone: Zone;

  constructor(parts: ScheduleParts) {
    this.parts = parts;
    this.#cron = new Cron(parts.cron, { timezone: parts.timezone });
    this.#zone = zoneOf(parts.timezone);
  }

  /** The first tick after an instant; null: there is none. */
  next(after: number): number | null {
    const { windows, startingAt, endingAt } = this.parts;
    let from = startingAt === null ? after : Math.max(after, startingAt - 1);
    for (let tries = 0; tries < TRIES; tries++) {
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

  /** The last tick up to an instant, but not before `since`; null: there is none. */
  latest(upTo: number, since: number): number | null {
    const { endingAt, windows } = this.parts;
    let before = (endingAt === null ? upTo : Math.min(upTo, endingAt)) + 1;
    for (let tries = 0; tries < TRIES; tries++) {
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
 * A whole number of 53 bits that changes with the text (cyrb53). It tells versions of one definition from each other: nobody
 * gains by making two alike, and `node:crypto` would cost every process 3 MB.
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
