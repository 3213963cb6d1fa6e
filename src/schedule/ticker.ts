import type { DueSchedule, ScheduleTicks, TickDecision, TickRun } from "../store/definitions.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { decideTicks } from "./misfire.ts";
import type { Schedule } from "./schedule.ts";

/** Most schedules of one transaction: about 10 ms on SQLite. The worker claims between two slices. */
const SLICE = 200;

/** Pause after a slice that failed, in milliseconds. */
const RETRY_AFTER = 1000;

/** Pause after a slice whose due schedules other workers have locked, in milliseconds. */
const RETRY_LOCKED_AFTER = 50;

/** A schedule, and the run that each of its ticks inserts. */
export interface TickableSchedule {
  schedule: Schedule;
  run: Omit<TickRun, "tickAt">;
}

/** A job as this process has synced it with the database. */
export interface TickableJob {
  readonly fingerprint: string;
  schedule(slot: string): TickableSchedule | undefined;
}

export interface TickerParts {
  store: Store;
  clock: Clock;
  /** The jobs that this process has synced, by name. */
  jobs: ReadonlyMap<string, TickableJob>;
  /** Names of jobs that the database knows and this process does not define. */
  elsewhere(): Promise<string[]>;
}

/**
 * Turns due schedules into runs. Every worker may tick; none is a leader. No run is inserted in advance: the row of a
 * schedule holds its next tick.
 */
export class Ticker {
  readonly #parts: TickerParts;
  /** On the monotonic clock: the wall clocks of this host and of the database may differ. Null: no tick is known. */
  #next: number | null = Number.NEGATIVE_INFINITY;
  /** Jobs whose definition in the database is not the one of this process. */
  readonly #foreign = new Set<string>();

  constructor(parts: TickerParts) {
    this.#parts = parts;
  }

  /** Milliseconds until the next tick that this process knows. */
  get wait(): number {
    return this.#next === null ? Number.POSITIVE_INFINITY : this.#next - this.#parts.clock.monotonic();
  }

  /** Whether the next slice has something to tick. */
  get isDue(): boolean {
    return this.wait <= 0;
  }

  /** Makes the next slice look at all schedules: some may have changed. */
  forget(): void {
    this.#next = Number.NEGATIVE_INFINITY;
    this.#foreign.clear();
  }

  /**
   * Ticks one slice of the due schedules, the earliest first, and calls `record` for each; `isDue` says whether more
   * are left. Returns the number of runs inserted.
   */
  async tick(record: (ticked: ScheduleTicks) => void): Promise<number> {
    const { store, clock } = this.#parts;
    this.#next = clock.monotonic() + RETRY_AFTER;
    const known = this.#foreign.size;
    const exclude = [...(await this.#parts.elsewhere()), ...this.#foreign];
    const { ticked, nextTick } = await store.tick({ exclude, limit: SLICE, decide: this.#decide });
    for (const one of ticked) record(one);
    this.#next = await monotonicOf(nextTick, { store, clock });
    if (ticked.length === 0 && this.#foreign.size === known && this.wait <= 0) {
      this.#next = clock.monotonic() + RETRY_LOCKED_AFTER;
    }
    return ticked.reduce((sum, { runs }) => sum + runs.length, 0);
  }

  /** The store calls this inside its transaction. Null: another process ticks this schedule, by its own definition. */
  readonly #decide = (due: DueSchedule, now: number): TickDecision | null => {
    const job = this.#parts.jobs.get(due.job);
    const ticking = job?.fingerprint === due.jobFingerprint ? job.schedule(due.slot) : undefined;
    if (!ticking) {
      this.#foreign.add(due.job);
      return null;
    }
    const { schedule, run } = ticking;
    const isPaused = due.resumedAt !== null && due.nextTick <= due.resumedAt;
    const from = isPaused ? schedule.next(due.resumedAt!) : due.nextTick;
    if (from === null || from > now) return { last: null, next: from, missed: 0, runs: [] };
    const { ticks, last, next, missed } = decideTicks(
      schedule,
      { nextTick: from, waiting: due.waiting },
      now,
    );
    return { last, next, missed, runs: ticks.map((tickAt) => ({ ...run, tickAt })) };
  };
}

/** Converts a moment of the database's time to the monotonic clock; this machine's wall clock may differ from both. */
export async function monotonicOf(
  moment: number | null,
  { store, clock }: { store: Store; clock: Clock },
): Promise<number | null> {
  return moment === null ? null : clock.monotonic() + moment - (await store.now());
}
