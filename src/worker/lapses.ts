import { type Clock, type ClockReading, readClock } from "../time.ts";

/** How often the clocks are compared. */
const EVERY = 1000;

/** Clocks that are slewed part by less between two looks. */
const GAP = 500;

/** A look that is this much late means that the process was stopped, or its event loop blocked. */
const LATE = 5000;

/**
 * Notices that time has passed without this process: it was stopped, something blocked its event loop, or its host was
 * suspended. A wall clock that somebody set looks like the latter.
 */
export class Lapses {
  readonly #clock: Clock;
  readonly #lapsed: () => void;
  #last: ClockReading;
  #cancel: () => void = () => {};

  constructor(clock: Clock, lapsed: () => void) {
    this.#clock = clock;
    this.#lapsed = lapsed;
    this.#last = readClock(clock);
  }

  start(): void {
    this.#last = readClock(this.#clock);
    this.#wait();
  }

  stop(): void {
    this.#cancel();
  }

  /** Compares the clocks now. */
  check(): void {
    const before = this.#last;
    this.#last = readClock(this.#clock);
    const passed = this.#last.monotonic - before.monotonic;
    const gap = Math.abs(this.#last.wall - before.wall - passed);
    if (gap > GAP || passed > EVERY + LATE) this.#lapsed();
  }

  #wait(): void {
    const next = () => {
      this.check();
      this.#wait();
    };
    this.#cancel = this.#clock.after(EVERY, next, { background: true });
  }
}
