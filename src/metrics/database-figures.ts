import type { Clock } from "../time.ts";
import { gauge, gaugesOf } from "./gauges.ts";
import type { Probed } from "./probe.ts";
import type { Family } from "./prometheus.ts";

/** What the database said is told again for so long: several scrapers must not load it. */
const FIGURES_KEPT = 5000;
const READINESS_KEPT = 1000;

/** Whoever asks gets an answer within this time: scrapers and orchestrators give up soon after. */
const PATIENCE = 4000;

/** What the probe knows of the database. */
export class DatabaseFigures {
  /** Null: it does not answer. */
  readonly #figures: Kept<Family[] | null>;
  readonly #readiness: Kept<string | null>;

  constructor(jobs: Probed, cap: number, clock: Clock) {
    const ask = async () => gaugesOf(await jobs.status(), await jobs.schedules(), cap);
    this.#figures = new Kept(clock, FIGURES_KEPT, () => ask().catch(() => null), null);
    this.#readiness = new Kept(
      clock,
      READINESS_KEPT,
      () => notReady(jobs).catch((error: Error) => error.message),
      `the database has not answered within ${PATIENCE / 1000} s`,
    );
  }

  async families(): Promise<Family[]> {
    const found = await this.#figures.get();
    const up = { labels: {}, value: found === null ? 0 : 1 };
    return [gauge("database_up", "1 if the database answers.", [up]), ...(found ?? [])];
  }

  /** Null: it answers, and its tables are those of this version. */
  notReady(): Promise<string | null> {
    return this.#readiness.get();
  }
}

async function notReady(jobs: Probed): Promise<string | null> {
  // Opens it as its first use would, which refuses tables that are not right. From then on they are looked at again.
  await jobs.find(1);
  const { from, to } = await jobs.install({ dryRun: true });
  return from === to ? null : `the database is at schema ${from}, ${to} is needed: run punctual install`;
}

/** An answer that is asked for once at a time, told again for a while, and not waited for longer than `PATIENCE`. */
class Kept<Answer> {
  readonly #clock: Clock;
  readonly #keep: number;
  readonly #ask: () => Promise<Answer>;
  readonly #late: Answer;
  #asking: Promise<Answer> | null = null;
  #kept: { answer: Answer; until: number } | null = null;

  constructor(clock: Clock, keep: number, ask: () => Promise<Answer>, late: Answer) {
    this.#clock = clock;
    this.#keep = keep;
    this.#ask = ask;
    this.#late = late;
  }

  get(): Promise<Answer> {
    if (this.#kept && this.#clock.monotonic() < this.#kept.until) return Promise.resolve(this.#kept.answer);
    this.#asking ??= this.#ask().then((answer) => {
      this.#kept = { answer, until: this.#clock.monotonic() + this.#keep };
      this.#asking = null;
      return answer;
    });
    const asking = this.#asking;
    return new Promise((answered) => {
      const cancel = this.#clock.after(PATIENCE, () => answered(this.#late), { background: true });
      void asking.then((answer) => {
        cancel();
        answered(answer);
      });
    });
  }
}
