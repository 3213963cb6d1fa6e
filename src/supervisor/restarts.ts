/** A child that lived this long was well. */
const WELL_AFTER = 10_000;

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30_000;

/** How long the place of a child stays empty after one has ended. */
export class Restarts {
  #quick = 0;

  /** Milliseconds until the next. `life`: how long the last one took runs, and how many it brought to an end; null: it never did. */
  wait(life: { lived: number; ended: number } | null, random: () => number): number {
    // What ends one run after it has brought others to their ends is that run's fault, and must not hold up the next ones.
    if (life && (life.ended > 0 || life.lived >= WELL_AFTER)) this.#quick = 0;
    if (life && life.lived >= WELL_AFTER) return 0;
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(this.#quick++, 10));
    return wait * (0.5 + random() / 2);
  }
}
