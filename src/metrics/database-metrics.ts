import type { Clock } from "../time.ts";
import { gauge, rateGauges, statusGauges } from "./gauges.ts";
import type { ProbeTarget } from "./probe.ts";
import type { Family } from "./prometheus.ts";

/** How long gauges and readiness are cached: several scrapers then cost the database no more than one. */
const GAUGES_CACHED = 5000;
const READINESS_CACHED = 1000;

/**
 * Longest wait for the database; a request is answered without it then. Scrapers and orchestrators time out soon after.
 */
const ANSWER_WITHIN = 4000;

/** Most names of jobs, and most of queues, in metrics. */
export const MOST_LABELS = 500;

/** Metrics and readiness that need an answer of the database. */
export class DatabaseMetrics {
  /** Null: the database does not answer. */
  readonly #gauges: CachedAnswer<Family[] | null>;
  readonly #readiness: CachedAnswer<string | null>;

  constructor(jobs: ProbeTarget, cap: number, clock: Clock) {
    const ask = async () => {
      const status = await jobs.status();
      const rates = await jobs.rates();
      return [...statusGauges(status, await jobs.schedules(), cap), ...rateGauges(rates, status.now, cap)];
    };
    this.#gauges = new CachedAnswer(clock, GAUGES_CACHED, () => ask().catch(() => null), null);
    this.#readiness = new CachedAnswer(
      clock,
      READINESS_CACHED,
      () => whyNotReady(jobs).catch((error: Error) => error.message),
      `the database has not answered within ${ANSWER_WITHIN / 1000} s`,
    );
  }

  async families(): Promise<Family[]> {
    const found = await this.#gauges.get();
    const up = { labels: {}, value: found === null ? 0 : 1 };
    return [gauge("database_up", "1 if the database answers.", [up]), ...(found ?? [])];
  }

  /** Returns why the database cannot be used; null if it answers and has the tables of this version. */
  whyNotReady(): Promise<string | null> {
    return this.#readiness.get();
  }
}

async function whyNotReady(jobs: ProbeTarget): Promise<string | null> {
  // Any statement opens the database, which checks its tables, but only once. The dry run checks them each time.
  await jobs.find(1);
  const { from, to } = await jobs.install({ dryRun: true });
  return from === to ? null : `the database is at schema ${from}, ${to} is needed: run punctual install`;
}

/** Caches an answer for `lifetime`. Concurrent callers share one request, and get `ifLate` after `ANSWER_WITHIN`. */
class CachedAnswer<Answer> {
  readonly #clock: Clock;
  readonly #lifetime: number;
  readonly #ask: () => Promise<Answer>;
  readonly #ifLate: Answer;
  #asking: Promise<Answer> | null = null;
  #cached: { answer: Answer; until: number } | null = null;

  constructor(clock: Clock, lifetime: number, ask: () => Promise<Answer>, ifLate: Answer) {
    this.#clock = clock;
    this.#lifetime = lifetime;
    this.#ask = ask;
    this.#ifLate = ifLate;
  }

  get(): Promise<Answer> {
    if (this.#cached && this.#clock.monotonic() < this.#cached.until)
      return Promise.resolve(this.#cached.answer);
    this.#asking ??= this.#ask().then((answer) => {
      this.#cached = { answer, until: this.#clock.monotonic() + this.#lifetime };
      this.#asking = null;
      return answer;
    });
    const asking = this.#asking;
    return new Promise((answered) => {
      const cancel = this.#clock.after(ANSWER_WITHIN, () => answered(this.#ifLate), { background: true });
      void asking.then((answer) => {
        cancel();
        answered(answer);
      });
    });
  }
}
