import type { Outcome } from "../run/states.ts";
import type { Tally } from "../store/store.ts";

const MINUTE = 60_000;

/** What happened to each job since the last flush; kept here so that no settle touches a job's row. */
export class Tallies {
  #tallies = new Map<string, Tally>();

  dispatched(name: string, now: number, count = 1): void {
    const { counts } = this.#at(name, now);
    counts.dispatched = (counts.dispatched ?? 0) + count;
  }

  crashed(name: string, error: string, now: number): void {
    const tally = this.#at(name, now);
    tally.counts.crashed = (tally.counts.crashed ?? 0) + 1;
    failOnce(tally, error, now);
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

  take(): Tally[] {
    const taken = [...this.#tallies.values()];
    this.#tallies = new Map();
    return taken;
  }

  #at(name: string, now: number): Tally {
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

function failOnce(tally: Tally, error: string | null, now: number): void {
  const { last } = tally;
  tally.lastFailure = now;
  tally.last = { ok: last?.ok ?? false, failed: (last?.failed ?? 0) + 1, error };
}
