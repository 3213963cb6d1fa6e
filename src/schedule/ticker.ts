import type { Store } from "../store/store.ts";
import type { DueSchedule, TickDecision, TickedSchedule, TickRun } from "../store/ticking.ts";
import type { Clock } from "../time.ts";
import { decide } from "./misfire.ts";
import { monotonicOf } from "./moment.ts";
import type { Schedule } from "./schedule.ts";

/** How many schedules one transaction ticks at most. */
const AT_ONCE = 100;

const RETRY = 1000;

export interface TickerParts {
  store: Store;
  clock: Clock;
  /** The schedule as this process defines it, and the run it asks for; null: other code has the say. */
  find(due: DueSchedule): { schedule: Schedule; run: Omit<TickRun, "tickAt"> } | null;
  /** Jobs that others define and this process does not. */
  elsewhere(): Promise<string[]>;
  ticked(ticked: TickedSchedule): void;
}

/**
 * Turns due schedules into runs. Every worker may; there is no leader, and no run is made in advance: what ticks next
 * stands in the schedule.
 */
export class Ticker {
  readonly #parts: TickerParts;
  /** On the monotonic clock: the wall clock here may be another than the database's. */
  #next: number | null = Number.NEGATIVE_INFINITY;
  /** Schedules of jobs that newer code than ours has the say about. */
  readonly #foreign = new Set<string>();

  constructor(parts: TickerParts) {
    this.#parts = parts;
  }

  /** Milliseconds until the next tick that this process knows of. */
  get wait(): number {
    return this.#next === null ? Number.POSITIVE_INFINITY : this.#next - this.#parts.clock.monotonic();
  }

  /** Schedules may have changed: look at them all again. */
  forget(): void {
    this.#next = Number.NEGATIVE_INFINITY;
    this.#foreign.clear();
  }

  async tick(): Promise<void> {
    // If the database does not answer, not again at once.
    const { store, clock } = this.#parts;
    this.#next = clock.monotonic() + RETRY;
    for (;;) {
      const known = this.#foreign.size;
      const exclude = [...(await this.#parts.elsewhere()), ...this.#foreign];
      const { ticked, nextTick } = await store.tick({
        exclude,
        limit: AT_ONCE,
        decide: this.#decide,
      });
      for (const one of ticked) this.#parts.ticked(one);
      this.#next = await monotonicOf(nextTick, { store, clock });
      if (this.wait > 0 || (ticked.length === 0 && this.#foreign.size === known)) return;
    }
  }

  readonly #decide = (due: DueSchedule, now: number): TickDecision | null => {
    const found = this.#parts.find(due);
    if (!found) {
      this.#foreign.add(due.job);
      return null;
    }
    const { schedule, run } = found;
    const paused = due.resumedAt !== null && due.nextTick <= due.resumedAt;
    const from = paused ? schedule.next(due.resumedAt!) : due.nextTick;
    if (from === null || from > now) return { last: null, next: from, missed: 0, runs: [] };
    const { ticks, last, next, missed } = decide(schedule, { nextTick: from, waiting: due.waiting }, now);
    return { last, next, missed, runs: ticks.map((tickAt) => ({ ...run, tickAt })) };
  };
}
