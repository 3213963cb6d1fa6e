import { PunctualError } from "../errors.ts";
import { EncodedArgs } from "../run/payload.ts";
import type { Run } from "../run/run.ts";
import { yieldToEventLoop } from "../time.ts";
import { type Shape, Shaped } from "./shape.ts";

/** The part of the sender that a dispatch calls. */
export interface Sending {
  /** Sends the dispatch at the end of this turn, with all others of the turn. */
  sendAfterTurn(dispatch: Dispatch<never>): void;
  /** Removes the dispatch from those that will be sent. */
  withdraw(dispatch: Dispatch<never>): void;
  /** Sends the dispatch now, in the caller's transaction. */
  sendWithin(dispatch: Dispatch<never>, tx: unknown): void;
  /** Reports the error of a dispatch that no caller awaited. */
  unawaited(error: unknown): void;
  readonly maxPayload: number;
}

/**
 * A run that is asked for. Chained calls shape it; it leaves when the current turn ends, awaited or not, together
 * with every other dispatch of that turn. Awaiting it gives the run.
 */
export class Dispatch<Args = unknown, Result = unknown>
  extends Shaped<Args>
  implements PromiseLike<Run<Result>>
{
  /** The job or function that it asks for, as the sender understands it. */
  readonly target: object;
  readonly shape: Shape;
  readonly parentId: number | null;
  readonly #sending: Sending;
  readonly #result = Promise.withResolvers<Run<never>>();
  #sent = false;
  #refused: { reason: unknown } | null = null;
  #awaited = false;

  constructor(target: object, shape: Shape, parentId: number | null, sending: Sending) {
    super();
    this.target = target;
    this.shape = this.#captured(shape, sending.maxPayload);
    this.parentId = parentId;
    this.#sending = sending;
    // `then()` passes the rejection on; without this handler, a dispatch that is not awaited would end the process.
    this.#result.promise.catch(() => {});
    sending.sendAfterTurn(this as unknown as Dispatch<never>);
  }

  /** An invalid chained call withdraws the whole dispatch: a run without that setting is not what the caller wanted. */
  protected override with(shape: () => Shape): this {
    if (this.#refused) throw this.#refused.reason;
    if (this.#sent) {
      throw new PunctualError(
        "CHAIN_SENT",
        "This dispatch has been sent: chain its calls in the same turn, before the first await. To move the run later, use run.at().",
      );
    }
    try {
      Object.assign(this.shape, this.#captured(shape(), this.#sending.maxPayload));
    } catch (reason) {
      this.#refused = { reason };
      this.#sending.withdraw(this as unknown as Dispatch<never>);
      this.#result.reject(reason);
      throw reason;
    }
    return this;
  }

  #captured(shape: Shape, maxPayload: number): Shape {
    return shape.args === undefined
      ? { ...shape }
      : { ...shape, args: EncodedArgs.of(shape.args, maxPayload) };
  }

  /** In place of the arguments that it was given. */
  override args(args: Args): this {
    return super.args(args) as this;
  }

  /**
   * Inserts the run in your own open transaction; rolled back, it never existed. Ends the chain: await it before you
   * commit.
   */
  within(tx: unknown): PromiseLike<Run<Result>> {
    this.with(() => {
      if (tx !== undefined && tx !== null) return {};
      throw new PunctualError(
        "INVALID_OPTION",
        `within() expected the handle on which your transaction is open, got ${tx}. Leave within() out to dispatch outside of any.`,
      );
    });
    this.#sending.sendWithin(this as unknown as Dispatch<never>, tx);
    return this;
  }

  then<Fulfilled = Run<Result>, Rejected = never>(
    onFulfilled?: ((run: Run<Result>) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((error: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.#awaited = true;
    return this.#result.promise.then(onFulfilled, onRejected);
  }

  catch<Rejected = never>(
    onRejected?: ((error: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Run<Result> | Rejected> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Run<Result>> {
    return this.then().finally(onFinally);
  }

  /** Makes every further chained call throw. */
  markSent(): void {
    this.#sent = true;
  }

  resolve(run: Run): void {
    this.#result.resolve(run as Run<never>);
  }

  reject(error: unknown): void {
    this.#result.reject(error);
    // One turn later, because a caller that awaits two dispatches in sequence reaches the second only after the first.
    void yieldToEventLoop().then(() => {
      if (!this.#awaited) this.#sending.unawaited(error);
    });
  }
}
