import type { Punctual } from "../punctual.ts";
import { checkInteger, checkKeys } from "../run/options.ts";

/** Runs everything that is due, and whatever that makes due at once, until nothing is left; gives how many runs that were. */
export async function drain(jobs: Punctual, options: { atMost?: number } = {}): Promise<number> {
  checkKeys(options, ["atMost"], "drain()");
  const most = checkInteger(options.atMost ?? 10_000, "drain() atMost", 1);
  let total = 0;
  for (;;) {
    // One more than allowed: that it runs shows that more was due.
    const ran = await jobs.run({ batch: Math.min(1000, most + 1 - total) });
    total += ran;
    if (ran === 0) return total;
    if (total > most) {
      throw new Error(
        `drain() has run more than ${most} runs: does something dispatch itself? Raise atMost if it is meant.`,
      );
    }
  }
}
