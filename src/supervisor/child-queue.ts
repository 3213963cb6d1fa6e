import type { ClaimedRun } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { HELD_AT_MOST } from "../worker/pace.ts";

export interface AssignedRun {
  ticket: number;
  run: ClaimedRun;
}

/** Runs that the parent has assigned to this child and that wait for a slot, in the order of their tickets. */
export class ChildQueue {
  readonly #clock: Clock;
  /** Called with a run that has waited for `HELD_AT_MOST`, for other children and workers. */
  readonly #tooLate: (ticket: number) => void;
  readonly #waiting = new Map<number, { run: ClaimedRun; since: number }>();
  #isWatched = false;

  constructor(clock: Clock, tooLate: (ticket: number) => void) {
    this.#clock = clock;
    this.#tooLate = tooLate;
  }

  add(assigned: AssignedRun[]): void {
    const since = this.#clock.monotonic();
    for (const { ticket, run } of assigned) this.#waiting.set(ticket, { run, since });
  }

  /** Takes out the first runs, at most `count`. */
  take(count: number): AssignedRun[] {
    const taken: AssignedRun[] = [];
    for (const [ticket, { run }] of this.#waiting) {
      if (taken.length >= count) break;
      taken.push({ ticket, run });
    }
    for (const { ticket } of taken) this.#waiting.delete(ticket);
    if (this.#waiting.size > 0) this.#watch();
    return taken;
  }

  /** Takes out a run. Returns false if it does not wait. */
  remove(ticket: number): boolean {
    return this.#waiting.delete(ticket);
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.#clock.after(
      HELD_AT_MOST,
      () => {
        this.#isWatched = false;
        const before = this.#clock.monotonic() - HELD_AT_MOST;
        for (const [ticket, { since }] of this.#waiting) if (since <= before) this.#tooLate(ticket);
        if (this.#waiting.size > 0) this.#watch();
      },
      { background: true },
    );
  }
}
