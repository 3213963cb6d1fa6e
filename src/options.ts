import { formatValue, PunctualError } from "./errors.ts";
import type { Logger } from "./events/logger.ts";
import type { Resolve } from "./job/handlers.ts";
import type { Defaults } from "./job/settings.ts";
import type { Clock } from "./time.ts";
import { checkKeys, type OptionNames } from "./validate/options.ts";

/** Options of an instance. */
export interface PunctualOptions {
  /** Prefix of every table name. Default: `punctual_`. */
  prefix?: string | undefined;
  /** Settings that every job starts with. */
  defaults?: Defaults | undefined;
  /** Receives the log messages; false turns them off. Default: standard error. */
  logger?: Logger | false | undefined;
  /** Source of time, for tests. Default: the system clock. */
  clock?: Clock | undefined;
  /**
   * Whether `run.log()` stores its lines in the database, for `logs()`; the event is emitted in any case. Default:
   * true.
   */
  logs?: boolean | undefined;
  /** Creates instances of job classes, e.g. from a dependency injection container. Default: `new Class()`. */
  resolve?: Resolve | undefined;
  /** The largest payload in bytes. Default: 1 MiB. */
  maxPayload?: number | undefined;
  /** Whether a SQLite database gets its tables on first use. Default: true. */
  install?: boolean | undefined;
  /** Source of random numbers in [0, 1) for jitter, for tests. Default: `Math.random`. */
  random?: (() => number) | undefined;
}

const OPTIONS: OptionNames<PunctualOptions> = {
  prefix: true,
  defaults: true,
  logger: true,
  clock: true,
  logs: true,
  resolve: true,
  maxPayload: true,
  install: true,
  random: true,
};

/**
 * Reads the arguments of `new Punctual()`. Options alone, or nothing, choose the default database (`source` null); an
 * explicit `undefined` in place of the database does not, because it is probably a mistake.
 */
export function readArguments(given: unknown[]): { source: unknown; options: PunctualOptions } {
  const [first, options = {}] = given;
  const plain =
    typeof first === "object" && first !== null && Object.getPrototypeOf(first) === Object.prototype;
  // A plain object with prepare() is a SQLite handle.
  const alone = given.length === 1 && plain && !("prepare" in first);
  const read = alone
    ? { source: null, options: first }
    : { source: given.length === 0 ? null : (first ?? undefined), options };
  checkKeys(read.options as PunctualOptions, OPTIONS, "new Punctual()");
  checkPrefix((read.options as PunctualOptions).prefix ?? "punctual_");
  return read as { source: unknown; options: PunctualOptions };
}

/** Throws INVALID_OPTION for a prefix that table names cannot have. */
export function checkPrefix(prefix: string): void {
  if (typeof prefix === "string" && /^[a-z_][a-z0-9_]{0,29}$/i.test(prefix)) return;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected a table prefix of at most 30 letters, digits and underscores, got ${formatValue(prefix)}.`,
  );
}
