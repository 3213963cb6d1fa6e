import { PunctualError } from "../errors.ts";
import { yieldToEventLoop } from "../time.ts";

/** Chained calls that are sent together when the turn of the event loop ends, with their result. */
export class CallChain<Result> {
  readonly #result = Promise.withResolvers<Result>();
  readonly #unawaited: (error: unknown) => void;
  #isSent = false;
  #refused: { reason: unknown } | null = null;
  #isAwaited = false;

  /** `unawaited` gets the error of a chain that no caller awaits. */
  constructor(unawaited: (error: unknown) => void) {
    this.#unawaited = unawaited;
    // `awaited()` passes the rejection on; without this handler, a chain that is not awaited would end the process.
    this.#result.promise.catch(() => {});
  }

  /** Whether it has been neither sent nor refused. */
  get isOpen(): boolean {
    return !this.#isSent && this.#refused === null;
  }

  /** Applies a chained call. An invalid one refuses the whole chain. A later call throws the message `tooLate`. */
  change(change: () => void, tooLate: string): void {
    if (this.#refused) throw this.#refused.reason;
    if (this.#isSent) throw new PunctualError("CHAIN_SENT", tooLate);
    try {
      change();
    } catch (reason) {
      this.#refused = { reason };
      this.#result.reject(reason);
      throw reason;
    }
  }

  /** Makes every further chained call throw. */
  markSent(): void {
    this.#isSent = true;
  }

  /** Returns the result, for a caller that awaits it. */
  awaited(): Promise<Result> {
    this.#isAwaited = true;
    return this.#result.promise;
  }

  resolve(result: Result): void {
    this.#result.resolve(result);
  }

  reject(error: unknown): void {
    this.#result.reject(error);
    // One turn later, because a caller that awaits two in sequence reaches the second only after the first.
    void yieldToEventLoop().then(() => {
      if (!this.#isAwaited) this.#unawaited(error);
    });
  }
}
