import { type Clock, type Duration, type Instant, toInstant, toMilliseconds } from "../time.ts";

interface Timer {
  due: number;
  callback: () => void;
}

/** How many turns of the event loop in a row must bring nothing new before time goes on. */
const QUIET_TURNS = 12;

/** A clock that stands still until it is moved. Timers fire in order as it passes them. */
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
    // Whole milliseconds, so that the wall clock shows no fraction of one while the timer fires.
    const timer = { due: this.#monotonic + Math.max(0, Math.ceil(ms)), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Sets the wall clock, as somebody may set a computer's: forwards or back, and no timer fires for it. */
  set(instant: Instant): void {
    this.#now = toInstant(instant);
  }

  /** Lets time pass; every timer on the way fires at its own moment, and what it starts is given its turn. */
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
