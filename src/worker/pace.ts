/** What is claimed ahead is to start within this time. */
const AHEAD = 100;

/** Where exchanges are slow, it is to last until the next one brings more, but nothing is held for longer than this. */
export const HELD_AT_MOST = 200;

/** So soon do those start that are next: of what is claimed ahead, this part. */
const NEXT = 0.1;

/** More than this is never claimed ahead: a process that dies keeps it from the others for a lease. */
const MOST = 500;

/** Outcomes gather for no longer than this before they are written. */
const GATHERED_AT_MOST = 50;

/** Less is not worth a timer. */
const GATHERED_AT_LEAST = 5;

/** So much must have been seen before it counts: this long, or this many. */
const LONG = 5;
const MANY = 20;

/** Measures how fast runs are done here while there are any, and so how many may be claimed ahead. */
export class Pace {
  #rate = 0;
  #running = 0;
  #done = 0;
  /** How long there were any, and since when there are. */
  #busy = 0;
  #since = 0;
  /** The last exchange: how long it took, and when it was answered. */
  #exchange = 0;
  #answeredAt = 0;

  started(now: number): void {
    if (this.#running++ === 0) this.#since = now;
  }

  done(now: number): void {
    this.#done++;
    if (--this.#running === 0) this.#busy += now - this.#since;
  }

  exchanged(sentAt: number, answeredAt: number): void {
    this.#exchange = answeredAt - sentAt;
    this.#answeredAt = answeredAt;
  }

  /** Until when outcomes gather where there is enough to do meanwhile: the slower the exchanges, the more of them go in one. */
  get gathered(): number {
    const gathering = Math.min(GATHERED_AT_MOST, this.#exchange / 2);
    return this.#answeredAt + (gathering >= GATHERED_AT_LEAST ? gathering : 0);
  }

  /** How many runs will start within the next moments. */
  ahead(now: number): number {
    const busy = this.#busy + (this.#running > 0 ? now - this.#since : 0);
    if (busy >= LONG || (busy > 0 && this.#done >= MANY)) {
      const rate = this.#done / busy;
      // Slower counts at once: what was claimed for a pace that is gone keeps others waiting.
      this.#rate = rate < this.#rate ? rate : this.#rate / 2 + rate / 2;
      this.#busy = 0;
      this.#since = now;
      this.#done = 0;
    }
    const window = Math.min(HELD_AT_MOST, Math.max(AHEAD, 2 * this.#exchange));
    return Math.min(MOST, Math.floor(this.#rate * window));
  }

  /** How many of these are next. */
  next(now: number): number {
    return Math.ceil(this.ahead(now) * NEXT);
  }
}
