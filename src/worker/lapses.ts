import { type Clock, type ClockReading, readClock } from "../time.ts";

/** Interval between two comparisons of the clocks. */
const CHECK_EVERY = 1000;

/** Largest change of the difference between the two clocks that slewing by NTP can cause within an interval. */
const GAP = 500;

/** A comparison that is later than this means that the process was stopped or its event loop was blocked. */
const LATE = 5000;

/**
 * Detects that this process did not run for a while: it was stopped, its event loop was blocked, or its host was
 * suspended. A change of the wall clock looks like a suspended host.
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
    if (gap > GAP || passed > CHECK_EVERY + LATE) this.#lapsed();
  }

  #wait(): void {
    const next = () => {
      this.check();
      this.#wait();
    };
    this.#cancel = this.#clock.after(CHECK_EVERY, next, { background: true });
  }
}
