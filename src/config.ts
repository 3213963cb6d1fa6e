import { PunctualError, show } from "./errors.ts";
import { checkConcurrency, type Defaults, toSettings } from "./job/settings.ts";
import { checkPrefix, type PunctualOptions } from "./options.ts";
import { type Keep, toRetention } from "./run/retention.ts";
import type { FinishedState } from "./run/states.ts";
import { type DatabaseSource, kindOf } from "./store/open.ts";
import { type Duration, toMilliseconds } from "./time.ts";
import { checkName } from "./validate/names.ts";
import { checkInteger, checkKeys } from "./validate/options.ts";

/**
 * What `punctual.config.ts` says to the command line, and to instances that name no database. Paths are read from the
 * folder in which the process started.
 */
export interface PunctualConfig {
  /** A URL such as `sqlite:./jobs.db`, or a handle of yours. Default: `PUNCTUAL_DATABASE_URL`, else `sqlite:./punctual.db`. */
  database?: DatabaseSource;
  /** Job files, by name or glob. Default: every script below `jobs/`. */
  jobs?: string | readonly string[];
  /** Limits of whole queues. */
  queues?: Record<string, { concurrency: number }>;
  /** How long finished runs are kept, for all states or each. */
  retention?: Keep | Partial<Record<FinishedState, Keep>>;
  /** What every job starts from. */
  defaults?: Defaults;
  /** Before the name of every table. Default: `punctual_`. */
  prefix?: string;
  /** Child processes of `punctual work`. Default: 0, it works itself. */
  workers?: number;
  /** Runs at once in each process. Default: 10. */
  parallel?: number;
  /** How long a job file may take to load. Default: 10 s. */
  loadTimeout?: Duration;
}

/** A config, or what makes one; `mode` is `PUNCTUAL_ENV`, else `NODE_ENV`, else `development`. */
export type ConfigSource =
  | PunctualConfig
  | ((context: { mode: string }) => PunctualConfig | Promise<PunctualConfig>);

/**
 * Types the default export of `punctual.config.ts`.
 *
 * ```ts
 * export default defineConfig({ database: "sqlite:./jobs.db", jobs: "src/jobs/*.ts" });
 * ```
 */
export function defineConfig<Source extends ConfigSource>(config: Source): Source {
  return config;
}

const KEYS = [
  "database",
  "jobs",
  "queues",
  "retention",
  "defaults",
  "prefix",
  "workers",
  "parallel",
  "loadTimeout",
];

/** Refuses what means nothing, with the key and what would do. */
export function checkConfig(given: unknown): PunctualConfig {
  checkKeys(given as object, KEYS, "The config");
  const config = given as PunctualConfig;
  at("database", config.database, kindOf);
  at("jobs", config.jobs, checkPatterns);
  at("queues", config.queues, checkQueues);
  at("retention", config.retention, (retention) => {
    if (typeof retention === "object")
      checkKeys(retention, ["completed", "failed", "cancelled", "skipped"], "It");
    toRetention(retention);
  });
  at("defaults", config.defaults, toSettings);
  at("prefix", config.prefix, checkPrefix);
  at("workers", config.workers, (workers) => checkInteger(workers, "it", 0, 1000));
  at("parallel", config.parallel, (parallel) => checkInteger(parallel, "it", 1, 10_000));
  at("loadTimeout", config.loadTimeout, (timeout) => toMilliseconds(timeout, "it"));
  return config;
}

/** What the config says to an instance that names no database. */
export function instanceOptions({
  prefix,
  defaults,
  retention,
}: PunctualConfig): Pick<PunctualOptions, "prefix" | "defaults"> {
  const keep = retention === undefined ? {} : { keep: retention };
  return { ...(prefix !== undefined && { prefix }), defaults: { ...keep, ...defaults } };
}

function at<Value>(key: string, value: Value | undefined, check: (value: Value) => unknown): void {
  if (value === undefined) return;
  try {
    check(value);
  } catch (error) {
    const { code, message } = error as PunctualError;
    throw new PunctualError(code, `The config's "${key}": ${message}`, { cause: error });
  }
}

function checkPatterns(jobs: unknown): void {
  const patterns = [jobs].flat();
  if (patterns.length > 0 && patterns.every((one) => typeof one === "string" && one !== "")) return;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected a file name or glob such as "jobs/**/*.ts", or a list of them, got ${show(jobs)}.`,
  );
}

function checkQueues(queues: Record<string, { concurrency: number }>): void {
  if (typeof queues !== "object" || queues === null || Array.isArray(queues)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected limits by queue, such as { emails: { concurrency: 3 } }, got ${show(queues)}.`,
    );
  }
  for (const [name, limit] of Object.entries(queues)) {
    checkName(name, "a queue name");
    checkKeys(limit, ["concurrency"], `Queue "${name}"`);
    checkConcurrency(limit.concurrency);
  }
}
