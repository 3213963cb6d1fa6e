import type { RetryPolicy } from "../run/backoff.ts";
import { checkName } from "../run/names.ts";
import { checkFunction, checkInteger, checkKeys } from "../run/options.ts";
import { type Keep, toRetention } from "../run/retention.ts";
import type { FinishedState } from "../run/states.ts";
import type { Duration } from "../time.ts";
import {
  checkConcurrency,
  checkLease,
  checkPriority,
  type ErrorHook,
  type Filter,
  type Hook,
  type Settings,
  toRetries,
  toTimeout,
} from "./settings.ts";

/** The configuration methods that definitions and ad hoc runs share. Each changes `settings` and nothing else. */
export abstract class Configurable<Args> {
  abstract readonly settings: Settings;

  /** Where its runs queue. Default: `default`. */
  queue(name: string): this {
    this.settings.queue = checkName(name, "a queue name");
    return this;
  }

  /** Lower runs sooner; negative is allowed. Default: 100. */
  priority(priority: number): this {
    this.settings.priority = checkPriority(priority);
    return this;
  }

  /** How long a claim holds without being renewed, at least 1 second. Default: 60 seconds. */
  lease(lease: Duration): this {
    this.settings.lease = checkLease(lease);
    return this;
  }

  /**
   * How many runs of this job may run at once, in all processes together; 0 = no limit. Default: 1.
   * `perKey` limits runs that share a key: the key given at dispatch, or what `by` makes of the arguments.
   */
  concurrency(
    limit: number,
    options: { perKey?: number; by?: (args: Args) => string | null | undefined } = {},
  ): this {
    checkKeys(options, ["perKey", "by"], "concurrency()");
    this.settings.concurrency = checkConcurrency(limit);
    if (options.perKey !== undefined) {
      this.settings.perKey = checkInteger(options.perKey, "concurrency perKey (0 = no limit)", 0);
    }
    if (options.by !== undefined) this.settings.keyOf = checkFunction(options.by, "concurrency by");
    return this;
  }

  /** How many tries in all, and how long between them. Default: 1 try. */
  retries(retries: number | Partial<RetryPolicy>): this {
    this.settings.retries = toRetries(retries, this.settings.retries);
    return this;
  }

  /** Aborts the handler's signal after this long and fails the try; null = none, the default. */
  timeout(timeout: Duration | null): this {
    this.settings.timeout = toTimeout(timeout);
    return this;
  }

  /** How long history keeps finished runs, for all states or each; 0 = not at all. */
  keep(keep: Keep | Partial<Record<FinishedState, Keep>>): this {
    if (typeof keep === "object") checkKeys(keep, ["completed", "failed", "cancelled", "skipped"], "keep()");
    this.settings.keep = toRetention(keep, this.settings.keep);
    return this;
  }

  /** What a tick passes, and a dispatch without arguments. */
  args(args: Args): this {
    this.settings.args = args;
    return this;
  }

  /** Runs only if every `when` says yes; otherwise the run is skipped. */
  when(filter: Filter<Args>): this {
    this.settings.when = [...this.settings.when, checkFunction(filter, "when()")];
    return this;
  }

  /** Skips the run if any `skip` says yes. */
  skip(filter: Filter<Args>): this {
    this.settings.skip = [...this.settings.skip, checkFunction(filter, "skip()")];
    return this;
  }

  /** Before the handler; throwing here fails the try. */
  onBefore(hook: Hook<Args>): this {
    this.settings.before = [...this.settings.before, checkFunction(hook, "onBefore()")];
    return this;
  }

  /** After the handler has succeeded. */
  onSuccess(hook: Hook<Args>): this {
    this.settings.success = [...this.settings.success, checkFunction(hook, "onSuccess()")];
    return this;
  }

  /** After a try that failed, whether or not another follows. */
  onError(hook: ErrorHook<Args>): this {
    this.settings.error = [...this.settings.error, checkFunction(hook, "onError()")];
    return this;
  }

  /** After every try, whatever it came to. */
  onAfter(hook: Hook<Args>): this {
    this.settings.after = [...this.settings.after, checkFunction(hook, "onAfter()")];
    return this;
  }
}

/** Gives one class the methods of another, except those it has itself: a class can extend only one. */
export function lendMethods(from: object, to: object): void {
  for (const name of Object.getOwnPropertyNames(from)) {
    if (!(name in to)) Object.defineProperty(to, name, Object.getOwnPropertyDescriptor(from, name)!);
  }
}
