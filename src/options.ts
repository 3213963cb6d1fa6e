import { PunctualError, show } from "./errors.ts";
import type { Logger } from "./events/logger.ts";
import type { Resolve } from "./job/handlers.ts";
import type { Defaults } from "./job/settings.ts";
import type { Clock } from "./time.ts";
import { checkKeys } from "./validate/options.ts";

export interface PunctualOptions {
  /** Before the name of every table. Default: `punctual_`. */
  prefix?: string;
  /** What every job starts from. */
  defaults?: Defaults;
  /** Where it tells what a person should know; false: nowhere. Default: standard error. */
  logger?: Logger | false;
  clock?: Clock;
  /** Whether what handlers log with `run.log()` is kept, for `logs()`; it is always told as an event. Default: true. */
  logs?: boolean;
  /** Makes instances of job classes, for containers. Default: `new Class()`. */
  resolve?: Resolve;
  /** The largest payload in bytes. Default: 1 MiB. */
  maxPayload?: number;
  /** Whether SQLite gets its tables on first use. Default: true. */
  install?: boolean;
  /** The dice of jitter, for tests. */
  random?: () => number;
}

const OPTIONS = [
  "prefix",
  "defaults",
  "logger",
  "clock",
  "logs",
  "resolve",
  "maxPayload",
  "install",
  "random",
];

/** Options alone mean the default database; a mistaken undefined in its place does not. */
export function understand(given: unknown[]): { source: unknown; options: PunctualOptions } {
  const [first, options = {}] = given;
  const plain =
    typeof first === "object" && first !== null && Object.getPrototypeOf(first) === Object.prototype;
  const alone = given.length === 1 && plain && !("prepare" in first);
  const understood = alone
    ? { source: null, options: first }
    : { source: given.length === 0 ? null : (first ?? undefined), options };
  checkKeys(understood.options as object, OPTIONS, "new Punctual()");
  checkPrefix((understood.options as PunctualOptions).prefix ?? "punctual_");
  return understood as { source: unknown; options: PunctualOptions };
}

export function checkPrefix(prefix: string): void {
  if (typeof prefix === "string" && /^[a-z_][a-z0-9_]{0,29}$/i.test(prefix)) return;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected a table prefix of at most 30 letters, digits and underscores, got ${show(prefix)}.`,
  );
}

/** Without a logger, whoever asks tells it. */
export function defaultSource(logger: Logger | null): string {
  const fromEnvironment = process.env.PUNCTUAL_DATABASE_URL;
  if (fromEnvironment) return fromEnvironment;
  logger?.info("no database given: using sqlite:./punctual.db");
  return "sqlite:./punctual.db";
}
