import { formatValue, PunctualError } from "../errors.ts";
import { EncodedArgs } from "../run/payload.ts";
import { type RetriesArguments, type RetryOptions, retriesIn, toStoredPolicy } from "../run/retries.ts";
import type { Run } from "../run/run.ts";
import { type Duration, type Instant, isWallTime, toInstant, toMilliseconds, toOffset } from "../time.ts";
import { checkName, checkQueue } from "../validate/names.ts";
import { checkInteger, checkKeys, checkTimeout, type OptionNames } from "../validate/options.ts";
import { CallChain } from "./call-chain.ts";

/** Settings of one run, as a dispatch gives them; settings that are absent come from the job. */
export interface RunShape {
  args?: unknown;
  /** Milliseconds from now. */
  delay?: number;
  /** UTC milliseconds; with `wall`, the time on a wall clock in the job's zone, counted as if it showed UTC. */
  runAt?: number;
  wall?: boolean;
  queue?: string;
  priority?: number;
  key?: string;
  unique?: { key: string; until: "started" | "finished"; for: number };
  timeout?: number;
  /** JSON text, as it is stored. */
  retries?: string;
  tags?: string[];
  expires?: number;
  traceparent?: string;
  /** The run that this one repeats. */
  rerunOf?: number;
}

/** Options of a unique key. */
export interface UniqueOptions {
  /** Holds the key at least this long after the dispatch, even if the run finishes sooner. */
  for?: Duration | undefined;
  /** Whether the run releases the key when it starts or when it finishes. Default: `finished`. */
  until?: "started" | "finished" | undefined;
}

/** The chained calls of a dispatch as one object. */
export interface DispatchOptions {
  delay?: Duration | undefined;
  at?: Instant | undefined;
  queue?: string | null | undefined;
  priority?: number | undefined;
  key?: string | undefined;
  unique?: string | ({ key: string } & UniqueOptions) | undefined;
  timeout?: Duration | undefined;
  /** Replaces the job's retry policy: number of attempts in all, or an object of numbers. */
  attempts?: number | Omit<RetryOptions, "backoff" | "when"> | undefined;
  /** The same as `attempts`. */
  retries?: number | Omit<RetryOptions, "backoff" | "when"> | undefined;
  tags?: readonly string[] | undefined;
  expires?: Duration | undefined;
  traceparent?: string | undefined;
}

/**
 * Chained methods that change the settings of a run: of a draft before it is dispatched, of a dispatch until it is
 * sent.
 */
export abstract class ShapeChain<Args> {
  /** Applies the settings that `shape` returns, to this object or to a copy; passes on what it throws. */
  protected abstract with(shape: () => RunShape): this;

  args(args: Args): ShapeChain<Args> {
    return this.with(() => ({ args }));
  }

  /** Due this long from now: seconds, or text such as `"1h"`. */
  delay(delay: Duration): this {
    return this.with(() => ({ delay: toMilliseconds(delay, "a delay"), runAt: undefined as never }));
  }

  /** Due at this instant, or that long from now: `"+5 seconds"`. */
  at(instant: Instant): this {
    return this.with(() => {
      const offset = toOffset(instant);
      if (offset !== null) return { delay: offset, runAt: undefined as never };
      return { runAt: toInstant(instant), wall: isWallTime(instant), delay: undefined as never };
    });
  }

  /** Replaces the job's queue; null: the default queue. */
  queue(name: string | null): this {
    return this.with(() => ({ queue: checkQueue(name) }));
  }

  /** Runs with a lower number start sooner. */
  priority(priority: number): this {
    return this.with(() => ({ priority: checkInteger(priority, "a priority", -(2 ** 31)) }));
  }

  /** Key of the limit per key: runs of the job with the same key share it. */
  key(key: string): this {
    return this.with(() => ({ key: checkName(key, "a key") }));
  }

  /** Inserts no run while another one holds the key; `inserted` of the handle tells whether the run was inserted. */
  unique(key: string, options: UniqueOptions = {}): this {
    return this.with(() => ({ unique: toUnique(key, options) }));
  }

  timeout(timeout: Duration): this {
    return this.with(() => ({ timeout: checkTimeout(timeout) }));
  }

  /**
   * Replaces the job's retry policy: number of attempts in all, or an object of numbers. The job's functions still
   * apply.
   */
  attempts(...attempts: RetriesArguments): this {
    return this.with(() => ({ retries: toStoredPolicy(attempts, "attempts") }));
  }

  /** The same as `attempts()`: `retries(3)` allows three attempts in all. */
  retries(...retries: RetriesArguments): this {
    return this.with(() => ({ retries: toStoredPolicy(retries, "retries") }));
  }

  tags(...tags: string[]): this {
    return this.with(() => ({ tags: tags.map((tag) => checkName(tag, "a tag")) }));
  }

  /** Skips the run if it has not started this long after the dispatch. */
  expires(after: Duration): this {
    return this.with(() => ({ expires: toMilliseconds(after, "expires") }));
  }

  /** Passes a W3C trace context to the handler. */
  traceparent(traceparent: string): this {
    return this.with(() => ({ traceparent: checkName(traceparent, "a traceparent") }));
  }

  /** Applies the chained calls of an object; a number is the delay in seconds. */
  options(options: DispatchOptions | number): this {
    if (typeof options === "number") return this.delay(options);
    let shaped = this.with(() => checkOptions(options));
    if (options.delay !== undefined) shaped = shaped.delay(options.delay);
    if (options.at !== undefined) shaped = shaped.at(options.at);
    if (options.queue !== undefined) shaped = shaped.queue(options.queue);
    if (options.priority !== undefined) shaped = shaped.priority(options.priority);
    if (options.key !== undefined) shaped = shaped.key(options.key);
    if (typeof options.unique === "string") shaped = shaped.unique(options.unique);
    else if (options.unique !== undefined) {
      const { key, ...rest } = options.unique;
      shaped = shaped.unique(key, rest);
    }
    if (options.timeout !== undefined) shaped = shaped.timeout(options.timeout);
    const retries = retriesIn(options, "dispatch()");
    if (retries) shaped = shaped[retries.name](...retries.given);
    if (options.tags !== undefined) shaped = shaped.tags(...options.tags);
    if (options.expires !== undefined) shaped = shaped.expires(options.expires);
    if (options.traceparent !== undefined) shaped = shaped.traceparent(options.traceparent);
    return shaped;
  }
}

const OPTIONS: OptionNames<DispatchOptions> = {
  delay: true,
  at: true,
  queue: true,
  priority: true,
  key: true,
  unique: true,
  timeout: true,
  attempts: true,
  retries: true,
  tags: true,
  expires: true,
  traceparent: true,
};

function checkOptions(options: DispatchOptions): RunShape {
  if (typeof options !== "object" || options === null) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected dispatch options or a delay in seconds, got ${formatValue(options)}.`,
    );
  }
  checkKeys(options, OPTIONS, "dispatch()");
  return {};
}

function toUnique(key: string, options: UniqueOptions): NonNullable<RunShape["unique"]> {
  checkKeys(options, { for: true, until: true }, "unique()");
  const { until = "finished" } = options;
  if (until !== "started" && until !== "finished") {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected unique until "started" or "finished", got ${formatValue(until)}.`,
    );
  }
  const held = options.for === undefined ? 0 : toMilliseconds(options.for, "unique for");
  return { key: checkName(key, "a unique key"), until, for: held };
}

/** The part of the sender that a dispatch calls. */
export interface DispatchSender {
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
 * A dispatch of a run. Chained calls change its settings. It is sent when the current turn of the event loop ends,
 * awaited or not, together with every other dispatch of that turn. Awaiting it returns the handle of the run.
 */
export class Dispatch<Args = unknown, Result = unknown>
  extends ShapeChain<Args>
  implements PromiseLike<Run<Result>>
{
  /** The job or function to run; only `job/prepare.ts` reads it. */
  readonly target: object;
  readonly shape: RunShape;
  readonly parentId: number | null;
  readonly #sender: DispatchSender;
  readonly #chain: CallChain<Run<never>>;

  constructor(target: object, shape: RunShape, parentId: number | null, sender: DispatchSender) {
    super();
    this.target = target;
    this.shape = this.#captured(shape, sender.maxPayload);
    this.parentId = parentId;
    this.#sender = sender;
    this.#chain = new CallChain((error) => sender.unawaited(error));
    sender.sendAfterTurn(this as unknown as Dispatch<never>);
  }

  /** An invalid chained call withdraws the whole dispatch: a run without that setting is not what the caller wanted. */
  protected override with(shape: () => RunShape): this {
    const wasOpen = this.#chain.isOpen;
    try {
      this.#chain.change(
        () => Object.assign(this.shape, this.#captured(shape(), this.#sender.maxPayload)),
        "This dispatch has been sent: chain its calls in the same turn, before the first await. To move the run later, use run.at().",
      );
    } catch (reason) {
      if (wasOpen) this.#sender.withdraw(this as unknown as Dispatch<never>);
      throw reason;
    }
    return this;
  }

  #captured(shape: RunShape, maxPayload: number): RunShape {
    return shape.args === undefined
      ? { ...shape }
      : { ...shape, args: EncodedArgs.of(shape.args, maxPayload) };
  }

  /** Replaces the arguments that were passed to `dispatch()`. */
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
    this.#sender.sendWithin(this as unknown as Dispatch<never>, tx);
    return this;
  }

  then<Fulfilled = Run<Result>, Rejected = never>(
    onFulfilled?: ((run: Run<Result>) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((error: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#chain.awaited().then(onFulfilled, onRejected);
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
    this.#chain.markSent();
  }

  resolve(run: Run): void {
    this.#chain.resolve(run as Run<never>);
  }

  reject(error: unknown): void {
    this.#chain.reject(error);
  }
}
