import { realRandom } from "../../random.ts";
import { systemClock } from "../../time.ts";

/** Most workers that are all woken at once. */
const FEW = 8;

/**
 * Of more workers, about this many are woken at once, and one more for each run that the notification announces. Two
 * that look at the same moment both see the run, and the one that comes late opens a transaction in vain.
 */
const AT_ONCE = 3;

/** The others look within this many milliseconds for each worker. */
const INTERVAL = 10;

/** Longest time until a woken worker looks: an idle worker polls as often. */
const LONGEST = 1500;

/**
 * Decides when a worker looks for announced runs. A notification reaches every worker of a database. If hundreds of
 * them looked for one run at the same moment, all but one would do so in vain.
 */
export class WakeSpread {
  readonly #wake: () => void;
  readonly #random: () => number;
  #cancel: (() => void) | null = null;
  /** Number of live workers, as far as known. */
  workers = 1;

  constructor(wake: () => void, random: () => number = realRandom) {
    this.#wake = wake;
    this.#random = random;
  }

  /** Called for a notification. `runs`: how many it announces; null: something else that every worker must see now. */
  notified(runs: number | null): void {
    const isNow = runs === null || this.workers <= FEW || this.#random() * this.workers < AT_ONCE + runs;
    if (isNow) this.#look();
    else {
      const longest = Math.min(LONGEST, this.workers * INTERVAL);
      this.#cancel ??= systemClock.after(this.#random() * longest, () => this.#look(), { background: true });
    }
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #look(): void {
    this.stop();
    this.#wake();
  }
}
