/** What is claimed ahead is to start within this time. */
const AHEAD = 100;

/** So soon do those start that are next: of what is claimed ahead, this part. */
const NEXT = 0.1;

/** More than this is never claimed ahead: a process that dies keeps it from the others for a lease. */
const MOST = 500;

/** Measures how fast runs are done here, and so how many may be claimed ahead. */
export class Pace {
  #rate = 0;
  #since: number;
  #done = 0;

  constructor(now: number) {
    this.#since = now;
  }

  done(): void {
    this.#done++;
  }

  /** How many runs will start within the next moments. */
  ahead(now: number): number {
    const elapsed = now - this.#since;
    if (elapsed >= 5) {
      const rate = this.#done / elapsed;
      // Slower counts at once: what was claimed for a pace that is gone keeps others waiting.
      this.#rate = rate < this.#rate ? rate : this.#rate / 2 + rate / 2;
      this.#since = now;
      this.#done = 0;
    }
    return Math.min(MOST, Math.floor(this.#rate * AHEAD));
  }

  /** How many of those ahead are next. */
  next(ahead: number): number {
    return Math.ceil(ahead * NEXT);
  }
}
