import type { Punctual } from "../../../punctual.ts";
import { type Outcome, outcomeRules } from "../../../run/states.ts";

/** A failed attempt. */
export interface FailedAttempt {
  job: string;
  run: number;
  error: string;
  /** Milliseconds until the next attempt; null: the run has failed. */
  again: number | null;
}

/** Most failed attempts that are kept for the summary. */
const MOST_KEPT = 100;

/** Outcomes of the runs of this process. */
export class OutcomeCounts {
  readonly counts: Record<Outcome | "lost", number> = {
    completed: 0,
    retried: 0,
    failed: 0,
    skipped: 0,
    cancelled: 0,
    snoozed: 0,
    released: 0,
    lost: 0,
  };
  readonly failedAttempts: FailedAttempt[] = [];
  /** Runs whose outcomes the database did not take before the worker ended. */
  readonly unwritten: { id: number; job: string }[] = [];
  readonly #running = new Set<number>();

  constructor(jobs: Punctual) {
    jobs.on("run.started", ({ id }) => {
      this.#running.add(id);
    });
    jobs.on("run.reaped", ({ id }) => {
      this.#running.delete(id);
    });
    for (const outcome of Object.keys(outcomeRules) as Outcome[]) {
      jobs.on(`run.${outcome}`, ({ id }) => {
        this.counts[outcome]++;
        this.#running.delete(id);
      });
    }
    jobs.on("run.lost", ({ id, name, reason }) => {
      if (reason === "lease") this.counts.lost++;
      else this.unwritten.push({ id, job: name });
      this.#running.delete(id);
    });
    jobs.on("run.retried", ({ name, id, error, delay }) => {
      this.#keep({ job: name, run: id, error: error.message, again: delay });
    });
    jobs.on("run.failed", ({ name, id, error }) => {
      this.#keep({ job: name, run: id, error: error.message, again: null });
    });
  }

  get running(): number {
    return this.#running.size;
  }

  /** Attempts with an outcome; a released run does not count. */
  get ran(): number {
    const { released: _, ...counts } = this.counts;
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  #keep(attempt: FailedAttempt): void {
    if (this.failedAttempts.length < MOST_KEPT) this.failedAttempts.push(attempt);
  }
}
