import { type Backoff, backoffWait } from "../../backoff.ts";
import { realRandom } from "../../random.ts";
import { sleepReal, systemClock } from "../../time.ts";
import { givenUp, type PendingCalls } from "../pending-calls.ts";

/** How long a statement is retried while its server is away or others hold its locks. */
export const RETRY_FOR: number = 30_000;

export interface TransactionRetryOptions {
  pending: PendingCalls;
  /** Whether the work may wait for something beside the database: a handler in its transaction, another installer. */
  mayTakeLong?: boolean;
  /** Whether the same work may succeed a moment later: after a conflict, a lost connection, a restart of the server. */
  isTransient(error: unknown): boolean;
  /** Makes the error that is thrown in the end. */
  translate(error: unknown): unknown;
  /** How long to retry, in milliseconds; asked after each error. */
  retryFor?(): number;
  waits?: Backoff;
}

/** As `retry`; rejects as soon as `pending` is given up. */
export function retryPending<Result>(
  work: (tries: number) => Promise<Result>,
  options: TransactionRetryOptions,
): Promise<Result> {
  return options.pending.wait((isGivenUp) => retry(work, options, isGivenUp), options.mayTakeLong);
}

/** Repeats `work`, with growing waits, until it succeeds, fails for good, has taken too long or is given up. */
export async function retry<Result>(
  work: (tries: number) => Promise<Result>,
  {
    pending,
    isTransient,
    translate,
    retryFor = () => RETRY_FOR,
    waits = { first: 4, longest: 1000 },
  }: TransactionRetryOptions,
  isGivenUp: () => boolean,
): Promise<Result> {
  const started = systemClock.monotonic();
  for (let tries = 0; ; tries++) {
    if (isGivenUp()) throw givenUp();
    try {
      return await work(tries);
    } catch (error) {
      const spent = systemClock.monotonic() - started;
      if (isGivenUp() || !isTransient(error) || spent > retryFor()) throw translate(error);
      pending.fault = error;
      await sleepReal(1 + backoffWait(tries + 1, waits, realRandom));
    }
  }
}

/** The progress of a transaction, over all its tries. */
export class TransactionProgress {
  /** Whether an earlier try may have been committed. */
  again = false;
  /** Whether the work of this try has been called. */
  entered = false;
  /** Whether the commit of this try was sent. */
  committing = false;
  /** Whether the next try waits until its node of a cluster has everything that was committed before. */
  catchesUp = false;

  begin(): void {
    this.again ||= this.committing;
    this.entered = false;
    this.committing = false;
  }
}
