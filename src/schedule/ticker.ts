import type { DueSchedule, ScheduleTicks, TickDecision, TickRun } from "../store/definitions.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { decideTicks } from "./misfire.ts";
import type { Schedule } from "./schedule.ts";

/** Schedules that one transaction ticks at most. About 10 ms on SQLite: the worker claims between two of them. */
const SLICE = 200;

/** Pause after a failed slice, and after one whose due schedules other workers have locked. */
const RETRY = 1000;
const BUSY = 50;

export interface TickerParts {
  store: Store;
  clock: Clock;
  /** The schedule as this process defines it, and the run it asks for; null: other code has the say. */
  find(due: DueSchedule): { schedule: Schedule; run: Omit<TickRun, "tickAt"> } | null;
  /** Jobs that others define and this process does not. */
  elsewhere(): Promise<string[]>;
  ticked(ticked: ScheduleTicks): void;
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

  /** Whether the next slice has something to tick. */
  get isDue(): boolean {
    return this.wait <= 0;
  }

  /** Schedules may have changed: look at them all again. */
  forget(): void {
    this.#next = Number.NEGATIVE_INFINITY;
    this.#foreign.clear();
  }

  /** Ticks one slice of what is due, the earliest first; `isDue` tells whether more is left. Returns the number of runs made. */
  async tick(): Promise<number> {
    const { store, clock } = this.#parts;
    this.#next = clock.monotonic() + RETRY;
    const known = this.#foreign.size;
    const exclude = [...(await this.#parts.elsewhere()), ...this.#foreign];
    const { ticked, nextTick } = await store.tick({ exclude, limit: SLICE, decide: this.#decide });
    for (const one of ticked) this.#parts.ticked(one);
    this.#next = await monotonicOf(nextTick, { store, clock });
    if (ticked.length === 0 && this.#foreign.size === known && this.wait <= 0) {
      this.#next = clock.monotonic() + BUSY;
    }
    return ticked.reduce((sum, { runs }) => sum + runs.length, 0);
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
    const { ticks, last, next, missed } = decideTicks(
      schedule,
      { nextTick: from, waiting: due.waiting },
      now,
    );
    return { last, next, missed, runs: ticks.map((tickAt) => ({ ...run, tickAt })) };
  };
}

/** A moment of the database's time on the monotonic clock: the wall clock of this host may say anything. */
export async function monotonicOf(
  moment: number | null,
  { store, clock }: { store: Store; clock: Clock },
): Promise<number | null> {
  return moment === null ? null : clock.monotonic() + moment - (await store.now());
}
