import type { Clock } from "../../time.ts";
import { compareRuns, type RunRow } from "../sql/claim.ts";
import type { Statement } from "../sql/database.ts";

/** Fewest runs that a claim takes before the next one continues behind it. A small claim always begins at the head. */
const FEWEST_TAKEN = 100;

/**
 * Most claims, and longest time in milliseconds, between two claims that begin at the head. A run that belongs before
 * the last claimed one may wait this long.
 */
const MOST_CLAIMS = 5;
const LONGEST = 100;

/** Position of a run in the order of claims. */
type Position = Pick<RunRow, "priority" | "run_at" | "id">;

/** Claims that continue one behind the other. The first one begins at the head of every queue. */
export class ClaimSeries {
  readonly #since: number;
  /** For each queue that may have more runs, the last run that was taken from it. */
  readonly #last = new Map<string, Position>();
  #claims = 0;

  constructor(since: number) {
    this.#since = since;
  }

  /** Whether another claim may continue at this time. */
  continues(now: number): boolean {
    return this.#last.size > 0 && this.#claims < MOST_CLAIMS && now - this.#since < LONGEST;
  }

  /** Returns the condition of the runs behind the last run that was taken from the queue. */
  behindLast(queue: string): Statement {
    const last = this.#last.get(queue);
    if (!last) return { text: "", params: [] };
    // Not (priority, run_at, id) > (?, ?, ?): these servers use no index for a comparison of rows.
    return {
      text: " and (priority > ? or (priority = ? and (run_at > ? or (run_at = ? and id > ?))))",
      params: [last.priority, last.priority, last.run_at, last.run_at, last.id],
    };
  }

  /** Whether fewer than `limit` runs were found behind the last run taken from a queue: more may be before it. */
  isShort(found: RunRow[], limit: number): boolean {
    const counts = countByQueue(found);
    return [...this.#last.keys()].some((queue) => (counts.get(queue) ?? 0) < limit);
  }

  /** Records the runs without limits that a claim found (`found`), and those that it took (`rows`). */
  took(rows: RunRow[], found: RunRow[], limit: number): void {
    this.#claims++;
    if (rows.length < FEWEST_TAKEN) this.#last.clear();
    else this.#advance(rows, countByQueue(found), limit);
  }

  #advance(rows: RunRow[], counts: Map<string, number>, limit: number): void {
    for (const row of rows) {
      if (row.limited !== 0 || row.owner !== null || counts.get(row.queue)! < limit) continue;
      const last = this.#last.get(row.queue);
      if (!last || compareRuns(last, row) < 0) this.#last.set(row.queue, row);
    }
  }
}

function countByQueue(rows: RunRow[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { queue, owner } of rows) if (owner === null) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  return counts;
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
