import { sleepReal, systemClock } from "../../time.ts";
import { givenUp, type Pending } from "../pending.ts";

/** How long a statement may wait for a server that is away, or for the locks of others, before it gives up. */
export const PATIENCE: number = 30_000;

export interface Patience {
  pending: Pending;
  /** What is waited for may be somebody else: a handler in its transaction, another installer. */
  mayTakeLong?: boolean;
  /** Whether it may go well a moment later: a conflict with others, a connection or a server that is gone for now. */
  isPassing(error: unknown): boolean;
  /** The error in our words, for the one that is thrown in the end. */
  translate(error: unknown): unknown;
  /** How many milliseconds it may take, asked after each fault. */
  patience?(): number;
  /** The first wait and the longest, in milliseconds. */
  waits?: { first: number; longest: number };
}

/** As `tryUntil`, and rejects at once when it is given up. */
export function patiently<Result>(
  work: (tries: number) => Promise<Result>,
  patience: Patience,
): Promise<Result> {
  return patience.pending.wait((isGivenUp) => tryUntil(work, patience, isGivenUp), patience.mayTakeLong);
}

/**
 * Tries until it succeeds, fails for good, has taken too long or was given up. Waits grow, and differ for two who met each
 * other.
 */
export async function tryUntil<Result>(
  work: (tries: number) => Promise<Result>,
  { pending, isPassing, translate, patience = () => PATIENCE, waits = { first: 4, longest: 1000 } }: Patience,
  isGivenUp: () => boolean,
): Promise<Result> {
  const started = systemClock.monotonic();
  for (let tries = 0; ; tries++) {
    if (isGivenUp()) throw givenUp();
    try {
      return await work(tries);
    } catch (error) {
      const spent = systemClock.monotonic() - started;
      if (isGivenUp() || !isPassing(error) || spent > patience()) throw translate(error);
      pending.fault = error;
      const most = Math.min(waits.longest, waits.first * 2 ** tries);
      await sleepReal(1 + most * (0.5 + Math.random() / 2));
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
