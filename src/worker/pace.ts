/** Prefetched runs are to start within this time. */
const PREFETCH_WINDOW = 100;

/** Longest a prefetched run may wait, even on slow links. */
export const HELD_AT_MOST = 200;

/** Fraction of the prefetched runs that counts as "next". */
const NEXT = 0.1;

/** Most runs that one claim prefetches: if this process dies, they wait for their leases to expire. */
export const MOST_PREFETCHED = 500;

/** Longest an outcome waits for others before it is written. */
const GATHERED_AT_MOST = 50;

/** Shorter waits are not worth a timer. */
const GATHERED_AT_LEAST = 5;

/** Minimum sample before the rate is trusted: busy milliseconds, or runs. */
const SAMPLE_TIME = 5;
const SAMPLE_RUNS = 10;

/** Measures how fast this worker finishes runs while it has any, to decide how many it may prefetch. */
export class Pace {
  #rate = 0;
  #running = 0;
  #done = 0;
  /** How long runs were under way. */
  #busy = 0;
  /** Since when runs are under way. */
  #since = 0;
  /** How long the last exchange took. */
  #exchange = 0;
  /** Most prefetched runs, of all streams. */
  readonly #most: number;

  constructor(streams: number) {
    this.#most = MOST_PREFETCHED * streams;
  }

  started(now: number): void {
    if (this.#running++ === 0) this.#since = now;
  }

  done(now: number): void {
    this.#done++;
    if (--this.#running === 0) this.#busy += now - this.#since;
  }

  /** `took`: milliseconds from sending an exchange to its answer. */
  exchanged(took: number): void {
    this.#exchange = took;
  }

  /**
   * Returns until when outcomes gather while other runs are buffered. The slower the exchanges, the more outcomes go in
   * one. `answeredAt`: when the answer to the last exchange came.
   */
  gatherUntil(answeredAt: number): number {
    const gathering = Math.min(GATHERED_AT_MOST, this.#exchange / 2);
    return answeredAt + (gathering >= GATHERED_AT_LEAST ? gathering : 0);
  }

  /**
   * Returns how many runs may be prefetched: as many as will start within `PREFETCH_WINDOW`, or until the next
   * exchange on slow links.
   */
  prefetch(now: number): number {
    const busy = this.#busy + (this.#running > 0 ? now - this.#since : 0);
    if (busy >= SAMPLE_TIME || (busy > 0 && this.#done >= SAMPLE_RUNS)) {
      const rate = this.#done / busy;
      // A lower rate counts at once: runs prefetched for a higher one would wait here while other workers are idle.
      this.#rate = rate < this.#rate ? rate : this.#rate / 2 + rate / 2;
      this.#busy = 0;
      this.#since = now;
      this.#done = 0;
    }
    const window = Math.min(HELD_AT_MOST, Math.max(PREFETCH_WINDOW, 2 * this.#exchange));
    return Math.min(this.#most, Math.floor(this.#rate * window));
  }

  /** Returns how many prefetched runs count as "next". */
  next(now: number): number {
    return Math.ceil(this.prefetch(now) * NEXT);
  }
}
