import type { JobMinute, Store } from "../store/store.ts";
import type { Outcome } from "./states.ts";

const MINUTE = 60_000;

/** How many counts are kept while the database is away: a row for each job and minute. */
const MOST = 10_000;

/** What happened to each job since the last flush; kept here so that no settle touches a job's row. */
export class JobCounts {
  #tallies = new Map<string, JobMinute>();

  dispatched(name: string, now: number, count = 1): void {
    const { counts } = this.#at(name, now);
    counts.dispatched = (counts.dispatched ?? 0) + count;
  }

  crashed(name: string, error: string, now: number): void {
    const tally = this.#at(name, now);
    tally.counts.crashed = (tally.counts.crashed ?? 0) + 1;
    failOnce(tally, error, now);
  }

  /** Of a run that was not settled: its process was gone. */
  ended(name: string, outcome: "failed" | "cancelled", now: number): void {
    const { counts } = this.#at(name, now);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }

  settled(name: string, outcome: Outcome, duration: number, error: string | null, now: number): void {
    const tally = this.#at(name, now);
    tally.counts[outcome] = (tally.counts[outcome] ?? 0) + 1;
    tally.busy += duration;
    if (outcome === "completed") {
      tally.lastRun = now;
      tally.last = { ok: true, failed: 0, error: null };
    } else if (outcome === "failed" || outcome === "retried") {
      failOnce(tally, error, now);
    }
  }

  /** Writes what was counted. Counts that could not be written are kept, and go with the next flush. */
  async flushTo(store: () => Pick<Store, "flush"> | Promise<Pick<Store, "flush">>): Promise<void> {
    const taken = this.#tallies;
    if (taken.size === 0) return;
    this.#tallies = new Map();
    try {
      await (await store()).flush([...taken.values()]);
    } catch (error) {
      this.#putBack(taken);
      throw error;
    }
  }

  #putBack(earlier: Map<string, JobMinute>): void {
    const later = this.#tallies;
    this.#tallies = earlier;
    for (const [key, tally] of later) {
      const known = earlier.get(key);
      earlier.set(key, known ? sumOf(known, tally) : tally);
    }
    // In order of time: the oldest go first.
    for (const key of [...earlier.keys()].slice(0, -MOST)) earlier.delete(key);
  }

  #at(name: string, now: number): JobMinute {
    const minute = Math.floor(now / MINUTE);
    const key = `${minute} ${name}`;
    let tally = this.#tallies.get(key);
    if (!tally) {
      tally = { name, minute, counts: {}, busy: 0, lastRun: null, lastFailure: null, last: null };
      this.#tallies.set(key, tally);
    }
    return tally;
  }
}

function sumOf(earlier: JobMinute, later: JobMinute): JobMinute {
  const { counts } = earlier;
  for (const [outcome, count] of Object.entries(later.counts) as [keyof JobMinute["counts"], number][]) {
    counts[outcome] = (counts[outcome] ?? 0) + count;
  }
  const failed = later.last && !later.last.ok ? (earlier.last?.failed ?? 0) + later.last.failed : 0;
  return {
    ...earlier,
    busy: earlier.busy + later.busy,
    lastRun: later.lastRun ?? earlier.lastRun,
    lastFailure: later.lastFailure ?? earlier.lastFailure,
    // After a success only the failures that followed it count.
    last: !later.last
      ? earlier.last
      : later.last.ok
        ? later.last
        : { ...later.last, ok: earlier.last?.ok ?? false, failed },
  };
}

function failOnce(tally: JobMinute, error: string | null, now: number): void {
  const { last } = tally;
  tally.lastFailure = now;
  tally.last = { ok: last?.ok ?? false, failed: (last?.failed ?? 0) + 1, error };
}
