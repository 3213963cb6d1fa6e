import { backoffWait } from "../backoff.ts";
import type { Emitter } from "../events/events.ts";
import { type Clock, sleep } from "../time.ts";
import { type Deadline, Overdue } from "./deadline.ts";

/** A sleep that a wake-up ends. */
export class Sleep {
  readonly #clock: Clock;
  #end: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sleeps for `ms` milliseconds, then calls `overslept`; or until `end()` is called. */
  for(ms: number, overslept: () => void): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(Math.max(0, ms), () => {
        overslept();
        this.end();
      });
      this.#end = () => {
        this.#end = null;
        cancel();
        resolve();
      };
    });
  }

  /** Sleeps until `moment` on the monotonic clock. Every `end()` asks `isOver` whether to sleep on. */
  async until(moment: number, isOver: () => boolean): Promise<void> {
    for (;;) {
      const left = moment - this.#clock.monotonic();
      if (left <= 0 || isOver()) return;
      await this.for(left, () => {});
    }
  }

  end(): void {
    this.#end?.();
  }
}

/** `longest` bounds the delay of outcomes once the database is back; it is less than `REAP_AFTER_OUTAGE`. */
const BACKOFF = { first: 50, longest: 2000 };

/** Milliseconds to wait before a statement is sent again that has failed `failures` times (1 or more). */
export function waitAfter(failures: number, random: () => number): number {
  return backoffWait(failures, BACKOFF, random);
}

export interface RetryParts {
  clock: Clock;
  random(): number;
  deadline: Deadline;
}

/** Waits before a retry; ends early when the deadline passes. */
export function waitToRetry(failures: number, { clock, random, deadline }: RetryParts): Promise<void> {
  return sleep(clock, waitAfter(failures, random), deadline.signal);
}

/** Repeats `ask` until the database answers. Throws when the worker's deadline has passed. */
export async function untilAnswered<Answer>(
  ask: () => Promise<Answer>,
  during: string,
  parts: RetryParts & { events: Emitter },
): Promise<Answer> {
  const { events, deadline } = parts;
  for (let failures = 1; ; failures++) {
    // A statement sent after the deadline would keep the process alive for as long as the store retries.
    if (deadline.isOver) throw new Overdue();
    try {
      const answer = await ask();
      events.succeeded(during);
      return answer;
    } catch (error) {
      if (deadline.isOver) throw error;
      events.failed(error, during);
      await waitToRetry(failures, parts);
    }
  }
}
