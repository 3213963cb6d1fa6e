import type { Emitter } from "../events/events.ts";
import { type Clock, sleep } from "../time.ts";
import { type Deadline, Overdue } from "./deadline.ts";

/** A sleep that anybody may end. */
export class Sleep {
  readonly #clock: Clock;
  #end: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends after so many milliseconds, then calls `overslept`; or earlier, by `end()`. */
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

  /** Until this moment, or until `isOver` says so, who is asked whenever somebody ends the sleep. */
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

const FIRST_WAIT = 50;
/** Outcomes wait this long at most after the database is back: less than `REAP_AFTER_OUTAGE`. */
const LONGEST_WAIT = 2000;

/** Milliseconds before the database is asked again: longer each time, and not the same for all workers. */
export function waitBefore(triesBefore: number): number {
  const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(triesBefore, 10));
  return wait * (0.5 + Math.random() / 2);
}

export function beforeTrying(clock: Clock, triesBefore: number, signal: AbortSignal): Promise<void> {
  return sleep(clock, waitBefore(triesBefore), signal);
}

/** Asks until there is an answer or the worker's deadline has passed, however long the database is away. */
export async function untilAnswered<Answer>(
  ask: () => Promise<Answer>,
  during: string,
  { clock, events, deadline }: { clock: Clock; events: Emitter; deadline: Deadline },
): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    // A statement that begins now would keep the process alive for as long as the store is patient.
    if (deadline.isOver) throw new Overdue();
    try {
      const answer = await ask();
      events.succeeded(during);
      return answer;
    } catch (error) {
      if (deadline.isOver) throw error;
      events.failed(error, during);
      await beforeTrying(clock, tries, deadline.signal);
    }
  }
}
