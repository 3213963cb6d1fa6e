import { type Keep, type KeepByState, toRetention } from "../run/retention.ts";
import { type RetriesArguments, toPolicy } from "../run/retries.ts";
import type { Duration } from "../time.ts";
import { checkQueue } from "../validate/names.ts";
import { checkFunction, checkHookTimeout, checkInteger, checkKeys } from "../validate/options.ts";
import { toUnder, type UnderOptions } from "./named-limits.ts";
import { checkSameKey, type JobRateOptions, toRates } from "./rates.ts";
import {
  checkConcurrency,
  checkLease,
  checkPriority,
  type ErrorHook,
  type Filter,
  type Hook,
  type Settings,
  toTimeout,
} from "./settings.ts";

/** Limits of `concurrency()` on runs that share a key. */
export interface ConcurrencyOptions<Args> {
  /** Most runs at once with the same key; 0 = no limit. */
  perKey?: number | undefined;
  /** Returns the key for the arguments; null or undefined: the run has none. */
  by?: ((args: Args) => string | number | bigint | null | undefined) | undefined;
}

/**
 * Settings that definitions and dispatched functions share. Each replaces `settings` and changes nothing else.
 * `Handled`: the arguments that the handler, filters and hooks get: the output of the schema, if the job has one.
 */
export abstract class Configurable<Args, Handled = Args> {
  abstract readonly settings: Settings;

  /** The queue of its runs; null: the default queue, `default`. */
  queue(name: string | null): this {
    return change(this, { queue: checkQueue(name) });
  }

  /** Runs with a lower priority start first; it may be negative. Default: 100. */
  priority(priority: number): this {
    return change(this, { priority: checkPriority(priority) });
  }

  /** How long a claim holds without being renewed, at least 1 second. Default: 60 seconds. */
  lease(lease: Duration): this {
    return change(this, { lease: checkLease(lease) });
  }

  /**
   * How many runs of this job may run at once, in all processes together; 0 = no limit. Default: 1.
   * `perKey` limits runs that share a key: the key given at dispatch, or the one that `by` computes from the arguments.
   */
  concurrency(limit: number, options: ConcurrencyOptions<Args> = {}): this {
    checkKeys(options, { perKey: true, by: true }, "concurrency()");
    const { perKey, by } = options;
    const concurrency = checkConcurrency(limit);
    // Without a rate, a later call replaces the function.
    if (by !== undefined && this.settings.rates?.key) checkSameKey(by, this.settings.keyOf);
    return change(this, {
      concurrency,
      ...(perKey !== undefined && { perKey: checkInteger(perKey, "concurrency perKey (0 = no limit)", 0) }),
      ...(by !== undefined && { keyOf: checkFunction(by, "concurrency by") }),
    });
  }

  /**
   * How many runs of this job may start within a time, in all processes together: no window of this length, wherever it
   * begins, has more starts. Runs above the rate stay ready. `limit` null: only `perKey` limits the starts.
   */
  rate(limit: number | null, per: Duration, options: JobRateOptions<Args> = {}): this {
    return change(this, toRates(limit, per, options, this.settings));
  }

  /**
   * Puts the runs of this job under a limit that any jobs share, by the name that `limit()` of the instance gives it;
   * null: under none. `cost` returns how much of the limit's rate the start of a run uses up.
   */
  under(limit: string | null, options: UnderOptions<Args> = {}): this {
    return change(this, toUnder(limit, options, this.settings));
  }

  /**
   * How many attempts in all, and how long the waits between them are: a number, an object, or `max`, `base`, `cap` and
   * `jitter` by position. Default: 1 attempt.
   */
  attempts(...attempts: RetriesArguments): this {
    return change(this, { retries: { ...this.settings.retries, ...toPolicy(attempts, "attempts") } });
  }

  /** The same as `attempts()`: `retries(3)` allows three attempts in all. */
  retries(...retries: RetriesArguments): this {
    return change(this, { retries: { ...this.settings.retries, ...toPolicy(retries, "retries") } });
  }

  /** Aborts the handler's signal after this long and fails the attempt; null = no timeout, the default. */
  timeout(timeout: Duration | null): this {
    return change(this, { timeout: toTimeout(timeout) });
  }

  /** Longest that a filter or hook may take, by default 30 s. A longer filter or `onBefore` fails the attempt. */
  hookTimeout(timeout: Duration): this {
    return change(this, { hookTimeout: checkHookTimeout(timeout) });
  }

  /** How long history keeps finished runs, for all states or each; 0 = not at all. */
  keep(keep: Keep | KeepByState): this {
    if (typeof keep === "object")
      checkKeys(keep, { completed: true, failed: true, cancelled: true, skipped: true }, "keep()");
    return change(this, { keep: toRetention(keep, this.settings.keep) });
  }

  /** The arguments of ticks, and of dispatches that give none. */
  args(args: Args): Configurable<Args, Handled> {
    return change(this, { args });
  }

  /** Skips the run unless every `when` returns true. */
  when(filter: Filter<Handled>): this {
    return change(this, { when: [...this.settings.when, checkFunction(filter, "when()")] });
  }

  /** Skips the run if any `skip` returns true. */
  skip(filter: Filter<Handled>): this {
    return change(this, { skip: [...this.settings.skip, checkFunction(filter, "skip()")] });
  }

  /** Called before the handler; if it throws, the attempt fails. */
  onBefore(hook: Hook<Handled>): this {
    return change(this, { before: [...this.settings.before, checkFunction(hook, "onBefore()")] });
  }

  /** Called after the handler has returned. */
  onSuccess(hook: Hook<Handled>): this {
    return change(this, { success: [...this.settings.success, checkFunction(hook, "onSuccess()")] });
  }

  /** Called after each failed attempt. Gets an `Error`; if another value was thrown, that value is its `cause`. */
  onError(hook: ErrorHook<Handled>): this {
    return change(this, { error: [...this.settings.error, checkFunction(hook, "onError()")] });
  }

  /** Called after every attempt, whatever its outcome. */
  onAfter(hook: Hook<Handled>): this {
    return change(this, { after: [...this.settings.after, checkFunction(hook, "onAfter()")] });
  }
}

function change<Job extends { readonly settings: Settings }>(job: Job, changed: Partial<Settings>): Job {
  (job as { settings: Settings }).settings = { ...job.settings, ...changed };
  return job;
}
