import { backOff, systemClock } from "../../time.ts";

/** How long a statement may wait for a server that is away, or for the locks of others, before it gives up. */
export const PATIENCE: number = 30_000;

export interface Patience {
  /** Whether it may go well a moment later: a conflict with others, a connection or a server that is gone for now. */
  isPassing(error: unknown): boolean;
  /** The error in our words, for the one that is thrown in the end. */
  translate(error: unknown): unknown;
  /** How many milliseconds it may take, asked after each fault. */
  patience?(): number;
  /** The first wait and the longest, in milliseconds. */
  waits?: { first: number; longest: number };
}

/** Tries until it goes well, fails for good, or has taken too long. Waits grow, and differ for two who met each other. */
export async function patiently<Result>(
  work: (tries: number) => Promise<Result>,
  { isPassing, translate, patience = () => PATIENCE, waits = { first: 4, longest: 1000 } }: Patience,
): Promise<Result> {
  const started = systemClock.monotonic();
  for (let tries = 0; ; tries++) {
    try {
      return await work(tries);
    } catch (error) {
      const spent = systemClock.monotonic() - started;
      if (!isPassing(error) || spent > patience()) throw translate(error);
      const most = Math.min(waits.longest, waits.first * 2 ** tries);
      await backOff(1 + most * (0.5 + Math.random() / 2));
    }
  }
}

/** How far a transaction has come that may have to begin anew. */
export class Try {
  /** An earlier one may have been committed. */
  again = false;
  /** The work has been called. */
  entered = false;
  /** Commit was sent. */
  committing = false;

  begin(): void {
    this.again ||= this.committing;
    this.entered = false;
    this.committing = false;
  }
}
