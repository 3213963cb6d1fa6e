import type { Clock } from "../time.ts";

/** For how long a child that is asked for signs of life has given none. */
export class Silence {
  readonly #clock: Clock;
  #askedAt = 0;
  #length = 0;
  /** Monotonic: when it was first asked since its last sign; null: it has answered. */
  since: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It is asked now, as every so many milliseconds. A pause of our own counts as one of these at most: its answer may lie unread. */
  ask(every: number): number {
    const now = this.#clock.monotonic();
    if (this.since === null) this.since = now;
    else this.#length += Math.min(now - this.#askedAt, every);
    this.#askedAt = now;
    return this.#length;
  }

  /** It gave a sign of life. */
  end(): void {
    this.since = null;
    this.#length = 0;
  }
}
