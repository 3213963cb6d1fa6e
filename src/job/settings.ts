import { formatValue, PunctualError } from "../errors.ts";
import type { RunContext } from "../run/context.ts";
import {
  defaultRetention,
  type Keep,
  type KeepByState,
  type Retention,
  toRetention,
} from "../run/retention.ts";
import { type RetryOptions, type RetryPolicy, retriesIn, toPolicy } from "../run/retries.ts";
import type { JobRates } from "../store/stored-limits.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkQueue, DEFAULT_QUEUE } from "../validate/names.ts";
import { checkHookTimeout, checkInteger, checkKeys, checkTimeout } from "../validate/options.ts";

export type Filter<Args> = (args: Args, run: RunContext) => boolean | Promise<boolean>;
export type Hook<Args> = (args: Args, run: RunContext) => unknown;
/** `error`: the thrown error; if another value was thrown, an error with that value as `cause`. */
export type ErrorHook<Args> = (error: Error, args: Args, run: RunContext) => unknown;

/**
 * Everything about a job but its name, handler and schedule. Durations are milliseconds, `retries` is in seconds. An
 * object is replaced, never changed: thousands of definitions without settings of their own share the defaults.
 */
export interface Settings {
  readonly queue: string;
  readonly priority: number;
  readonly lease: number;
  /** Runs at once; 0 = no limit. */
  readonly concurrency: number;
  /** Runs at once with the same key; 0 = no limit. */
  readonly perKey: number;
  /** Starts within a time; null: no limit. */
  readonly rates: JobRates | null;
  readonly keyOf: ((args: never) => string | number | bigint | null | undefined) | null;
  /** The cost of a start under the job's named limit; null: 1. */
  readonly costOf: ((args: never) => number) | null;
  readonly retries: RetryPolicy;
  /** Null: none. */
  readonly timeout: number | null;
  /** How long one call of a filter or a hook may take. */
  readonly hookTimeout: number;
  readonly keep: Retention;
  readonly args: unknown;
  readonly when: readonly Filter<never>[];
  readonly skip: readonly Filter<never>[];
  readonly before: readonly Hook<never>[];
  readonly success: readonly Hook<never>[];
  readonly error: readonly ErrorHook<never>[];
  readonly after: readonly Hook<never>[];
}

/** Settings of every job of an instance: `new Punctual(database, { defaults })`. */
export interface Defaults {
  queue?: string | undefined;
  /** Runs with a lower priority start first. */
  priority?: number | undefined;
  lease?: Duration | undefined;
  concurrency?: number | undefined;
  /** How many attempts in all, and how long the waits between them are. */
  attempts?: number | RetryOptions | undefined;
  /** The same as `attempts`. */
  retries?: number | RetryOptions | undefined;
  timeout?: Duration | null | undefined;
  /** How long one call of a filter or a hook may take. Default: 30 s. */
  hookTimeout?: Duration | undefined;
  keep?: Keep | KeepByState | undefined;
}

const builtIn: Settings = {
  queue: DEFAULT_QUEUE,
  priority: 100,
  lease: 60_000,
  concurrency: 1,
  perKey: 0,
  rates: null,
  keyOf: null,
  costOf: null,
  retries: { max: 1, base: 1, cap: 60, jitter: "full" },
  timeout: null,
  hookTimeout: 30_000,
  keep: defaultRetention,
  args: undefined,
  when: [],
  skip: [],
  before: [],
  success: [],
  error: [],
  after: [],
};

export function toSettings(defaults: Defaults = {}): Settings {
  checkKeys(
    defaults,
    {
      queue: true,
      priority: true,
      lease: true,
      concurrency: true,
      attempts: true,
      retries: true,
      timeout: true,
      hookTimeout: true,
      keep: true,
    },
    "defaults",
  );
  const settings: { -readonly [Name in keyof Settings]: Settings[Name] } = { ...builtIn };
  if (defaults.queue !== undefined) settings.queue = checkQueue(defaults.queue);
  if (defaults.priority !== undefined) settings.priority = checkPriority(defaults.priority);
  if (defaults.lease !== undefined) settings.lease = checkLease(defaults.lease);
  if (defaults.concurrency !== undefined) settings.concurrency = checkConcurrency(defaults.concurrency);
  const retries = retriesIn(defaults, "defaults");
  if (retries) settings.retries = { ...settings.retries, ...toPolicy(retries.given, retries.name) };
  if (defaults.timeout !== undefined) settings.timeout = toTimeout(defaults.timeout);
  if (defaults.hookTimeout !== undefined) settings.hookTimeout = checkHookTimeout(defaults.hookTimeout);
  if (defaults.keep !== undefined) settings.keep = toRetention(defaults.keep);
  return settings;
}

export function checkPriority(priority: unknown): number {
  return checkInteger(priority, "a priority", -(2 ** 31));
}

export function checkConcurrency(concurrency: unknown): number {
  return checkInteger(concurrency, "concurrency (0 = no limit)", 0);
}

export function checkLease(lease: Duration): number {
  const ms = toMilliseconds(lease, "a lease");
  if (ms >= 1000) return ms;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected a lease of at least 1 second, got ${formatValue(lease)}.`,
  );
}

/** Returns the timeout in milliseconds; null: none. */
export function toTimeout(timeout: Duration | null): number | null {
  return timeout === null ? null : checkTimeout(timeout);
}
