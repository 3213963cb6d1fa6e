import { PunctualError, show } from "../errors.ts";
import { type RetriesArguments, type RetryOptions, retriesIn, toStoredPolicy } from "../run/retries.ts";
import { type Duration, type Instant, isWallTime, toInstant, toMilliseconds, toOffset } from "../time.ts";
import { checkName, checkQueue } from "../validate/names.ts";
import { checkInteger, checkKeys, checkTimeout } from "../validate/options.ts";

/** What a dispatch says about its run; what it leaves out comes from the job. */
export interface Shape {
  args?: unknown;
  /** Milliseconds from now. */
  delay?: number;
  /** UTC milliseconds; with `wall`, what a clock in the job's zone shows then. */
  runAt?: number;
  wall?: boolean;
  queue?: string;
  priority?: number;
  key?: string;
  unique?: { key: string; until: "started" | "finished"; for: number };
  timeout?: number;
  /** As it is stored. */
  retries?: string;
  tags?: string[];
  expires?: number;
  traceparent?: string;
}

export interface UniqueOptions {
  /** Holds the key at least this long after the dispatch, also when the run has finished by then. */
  for?: Duration | undefined;
  /** When the key is free again: once the run has started, or has finished (the default). */
  until?: "started" | "finished" | undefined;
}

/** The chain as one object. */
export interface DispatchOptions {
  delay?: Duration | undefined;
  at?: Instant | undefined;
  queue?: string | null | undefined;
  priority?: number | undefined;
  key?: string | undefined;
  unique?: string | ({ key: string } & UniqueOptions) | undefined;
  timeout?: Duration | undefined;
  /** In place of the job's: how many in all, or an object of numbers. */
  attempts?: number | Omit<RetryOptions, "backoff" | "when"> | undefined;
  /** The same as `attempts`. */
  retries?: number | Omit<RetryOptions, "backoff" | "when"> | undefined;
  tags?: readonly string[] | undefined;
  expires?: Duration | undefined;
  traceparent?: string | undefined;
}

/** The methods that shape a run: on a draft before it is named, on a dispatch until it is sent. */
export abstract class Shaped<Args> {
  /** Takes over what it is told, unless that throws; may be a copy. */
  protected abstract with(shape: () => Shape): this;

  args(args: Args): this {
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

  /** In place of the job's; null: the default queue. */
  queue(name: string | null): this {
    return this.with(() => ({ queue: checkQueue(name) }));
  }

  /** Lower runs sooner. */
  priority(priority: number): this {
    return this.with(() => ({ priority: checkInteger(priority, "a priority", -(2 ** 31)) }));
  }

  /** What the run shares its per-key limit with. */
  key(key: string): this {
    return this.with(() => ({ key: checkName(key, "a key") }));
  }

  /** No second run while the key is held: the result says whether it was inserted or found. */
  unique(key: string, options: UniqueOptions = {}): this {
    return this.with(() => ({ unique: toUnique(key, options) }));
  }

  timeout(timeout: Duration): this {
    return this.with(() => ({ timeout: checkTimeout(timeout) }));
  }

  /** In place of the job's: how many in all, or an object of numbers. Functions stay the job's. */
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

  /** Not started this long after the dispatch, it is skipped. */
  expires(after: Duration): this {
    return this.with(() => ({ expires: toMilliseconds(after, "expires") }));
  }

  /** Carries a W3C trace context to the handler. */
  traceparent(traceparent: string): this {
    return this.with(() => ({ traceparent: checkName(traceparent, "a traceparent") }));
  }

  /** The chain as one object; a number is the delay. */
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

const OPTIONS = [
  "delay",
  "at",
  "queue",
  "priority",
  "key",
  "unique",
  "timeout",
  "attempts",
  "retries",
  "tags",
  "expires",
  "traceparent",
];

function checkOptions(options: DispatchOptions): Shape {
  if (typeof options !== "object" || options === null) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected dispatch options or a delay in seconds, got ${show(options)}.`,
    );
  }
  checkKeys(options, OPTIONS, "dispatch()");
  return {};
}

function toUnique(key: string, options: UniqueOptions): NonNullable<Shape["unique"]> {
  checkKeys(options, ["for", "until"], "unique()");
  const { until = "finished" } = options;
  if (until !== "started" && until !== "finished") {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected unique until "started" or "finished", got ${show(until)}.`,
    );
  }
  const held = options.for === undefined ? 0 : toMilliseconds(options.for, "unique for");
  return { key: checkName(key, "a unique key"), until, for: held };
}
