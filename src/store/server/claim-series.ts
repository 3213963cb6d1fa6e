import type { Clock } from "../../time.ts";
import { compareRuns, type OrderKey, type RunRow } from "../sql/claim.ts";

/** Fewest runs that a claim takes before the next one continues behind it. A small claim always begins at the head. */
const FEWEST_TAKEN = 100;

/**
 * Most claims, and longest time in milliseconds, between two claims that begin at the head. A run that belongs before
 * the last claimed one may wait this long.
 */
const MOST_CLAIMS = 5;
const LONGEST = 100;

/** Claims that continue one behind the other. The first one begins at the head of every queue. */
export class ClaimSeries {
  readonly #since: number;
  /** For each queue that may have more runs, the last run that was taken from it. */
  readonly #last = new Map<string, OrderKey>();
  #claims = 0;

  constructor(since: number) {
    this.#since = since;
  }

  /** Whether another claim may continue at this time. */
  continues(now: number): boolean {
    return this.#last.size > 0 && this.#claims < MOST_CLAIMS && now - this.#since < LONGEST;
  }

  /** Returns the last run that was taken from the queue, if it may have more. */
  lastOf(queue: string): OrderKey | null {
    return this.#last.get(queue) ?? null;
  }

  /**
   * Whether the claim has read everything behind the last run taken from a queue: more may be before it. `open`: queues
   * that may have runs behind those that were read.
   */
  isShort(open: Set<string>): boolean {
    return [...this.#last.keys()].some((queue) => !open.has(queue));
  }

  /** Records the runs that a claim took. */
  took(rows: RunRow[], open: Set<string>): void {
    this.#claims++;
    if (rows.length < FEWEST_TAKEN) this.#last.clear();
    else this.#advance(rows, open);
  }

  #advance(rows: RunRow[], open: Set<string>): void {
    for (const row of rows) {
      if (row.limited !== 0 || row.owner !== null || !open.has(row.queue)) continue;
      const last = this.#last.get(row.queue);
      if (!last || compareRuns(last, row) < 0) this.#last.set(row.queue, row);
    }
  }
}

/**
 * Lets claims of many runs continue where the last one ended, on servers that keep the index entries of claimed runs
 * until they purge them: a claim from the head reads over all of these (note 39).
 */
export class Continuation {
  readonly #clock: Clock;
  readonly #isUseful: boolean;
  #series: ClaimSeries | null = null;

  constructor(clock: Clock, isUseful: boolean) {
    this.#clock = clock;
    this.#isUseful = isUseful;
  }

  /** Returns the series of the next claim. */
  next(): ClaimSeries {
    const continues = this.#isUseful && this.#series?.continues(this.#clock.monotonic());
    return continues ? this.#series! : this.restart();
  }

  /** Lets the next claim begin at the head. */
  restart(): ClaimSeries {
    this.#series = new ClaimSeries(this.#clock.monotonic());
    return this.#series;
  }
}
