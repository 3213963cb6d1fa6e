import { type Clock, type Duration, type Instant, toInstant, toMilliseconds } from "../time.ts";

interface Timer {
  due: number;
  callback: () => void;
}

/** Turns of the event loop that pending work gets before the clock moves on. */
const QUIET_TURNS = 12;

/** A clock for tests: its time changes only by `advance()` and `set()`. */
export class TestClock implements Clock {
  readonly manual = true;
  #now: number;
  #monotonic = 0;
  readonly #timers = new Set<Timer>();

  constructor(start: Instant = "2026-01-01T00:00:00Z") {
    this.#now = toInstant(start);
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, callback: () => void): () => void {
    // Rounded up, so that `now()` is a whole number of milliseconds when the timer fires.
    const timer = { due: this.#monotonic + Math.max(0, Math.ceil(ms)), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Sets the wall clock forwards or back, as an operator may set a computer's clock. No timer fires. */
  set(instant: Instant): void {
    this.#now = toInstant(instant);
  }

  /**
   * Advances the clock. Every timer that becomes due fires at its own time, and the work it starts may proceed before
   * the next.
   */
  async advance(duration: Duration): Promise<void> {
    const end = this.#monotonic + toMilliseconds(duration, "advance()");
    await settled();
    for (let timer = this.#next(end); timer; timer = this.#next(end)) {
      this.#pass(timer.due);
      this.#timers.delete(timer);
      timer.callback();
      await settled();
    }
    this.#pass(end);
    await settled();
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= end && (!first || timer.due < first.due)) first = timer;
    }
    return first;
  }

  #pass(until: number): void {
    const passed = Math.max(0, until - this.#monotonic);
    this.#monotonic += passed;
    this.#now += passed;
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < QUIET_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}
