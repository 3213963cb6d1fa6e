import { backOff, systemClock } from "../../time.ts";

/** How long a statement may wait for a server that is away, or for the locks of others, before it gives up. */
export const PATIENCE: number = 30_000;

const LONGEST_WAIT = 1000;

export interface Patience {
  /** Whether it may go well a moment later: a conflict with others, a connection or a server that is gone for now. */
  isPassing(error: unknown): boolean;
  /** The error in our words, for the one that is thrown in the end. */
  translate(error: unknown): unknown;
  /** How many milliseconds it may take, asked after each fault. */
  patience?(): number;
}

/** Tries until it goes well, fails for good, or has taken too long. Waits grow, and differ for two who met each other. */
export async function patiently<Result>(
  work: (tries: number) => Promise<Result>,
  { isPassing, translate, patience = () => PATIENCE }: Patience,
): Promise<Result> {
  const started = systemClock.monotonic();
  for (let tries = 0; ; tries++) {
    try {
      return await work(tries);
    } catch (error) {
      const spent = systemClock.monotonic() - started;
      if (!isPassing(error) || spent > patience()) throw translate(error);
      const most = Math.min(LONGEST_WAIT, 4 * 2 ** tries);
      await backOff(1 + most * (0.5 + Math.random() / 2));
    }
  }
}
