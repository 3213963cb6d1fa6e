import { formatValue, PunctualError } from "./errors.ts";
import { checkQueueSettings, type QueueSettings } from "./job/queue-orders.ts";
import { type Defaults, toSettings } from "./job/settings.ts";
import { checkPrefix, type PunctualOptions } from "./options.ts";
import { type Keep, type KeepByState, toRetention } from "./run/retention.ts";
import { type DatabaseSource, kindOf } from "./store/open.ts";
import { type Duration, toMilliseconds } from "./time.ts";
import { checkName } from "./validate/names.ts";
import { checkInteger, checkKeys, type OptionNames, withoutUndefined } from "./validate/options.ts";

/**
 * Default export of `punctual.config.ts`, used by the command line and by instances that name no database. Paths are
 * relative to the folder in which the process started.
 */
export interface PunctualConfig {
  /**
   * URL such as `sqlite:./jobs.db`, or a handle of your own. Default: `PUNCTUAL_DATABASE_URL`, else
   * `sqlite:./punctual.db`.
   */
  database?: DatabaseSource | undefined;
  /** Job files, by name or glob. Default: every script below `jobs/`. */
  jobs?: string | readonly string[] | undefined;
  /** Options of queues, as `queue()` takes them: limits, rates, fairness, patience. */
  queues?: Record<string, QueueSettings> | undefined;
  /** How long finished runs are kept: one value for all states, or one for each. */
  retention?: Keep | KeepByState | undefined;
  /** Settings that every job starts with. */
  defaults?: Defaults | undefined;
  /** Prefix of every table name. Default: `punctual_`. */
  prefix?: string | undefined;
  /** Number of child processes of `punctual work`. Default: 0, handlers run in the process itself. */
  workers?: number | undefined;
  /** Concurrent runs in each process. Default: 10. */
  parallel?: number | undefined;
  /** How long a job file may take to load. Default: 10 s. */
  loadTimeout?: Duration | undefined;
}

/** A config, or a function that returns one; `mode` is `PUNCTUAL_ENV`, else `NODE_ENV`, else `development`. */
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

const KEYS: OptionNames<PunctualConfig> = {
  database: true,
  jobs: true,
  queues: true,
  retention: true,
  defaults: true,
  prefix: true,
  workers: true,
  parallel: true,
  loadTimeout: true,
};

/** Returns the config if it is valid. Throws for an unknown key or an invalid value; the message names the key. */
export function checkConfig(given: unknown): PunctualConfig {
  checkKeys(given as PunctualConfig, KEYS, "The config");
  const config = given as PunctualConfig;
  checkKey("database", config.database, kindOf);
  checkKey("jobs", config.jobs, checkPatterns);
  checkKey("queues", config.queues, checkQueues);
  checkKey("retention", config.retention, (retention) => {
    if (typeof retention === "object")
      checkKeys(retention, { completed: true, failed: true, cancelled: true, skipped: true }, "It");
    toRetention(retention);
  });
  checkKey("defaults", config.defaults, toSettings);
  checkKey("prefix", config.prefix, checkPrefix);
  checkKey("workers", config.workers, (workers) => checkInteger(workers, "it", 0, 1000));
  checkKey("parallel", config.parallel, (parallel) => checkInteger(parallel, "it", 1, 10_000));
  checkKey("loadTimeout", config.loadTimeout, (timeout) => toMilliseconds(timeout, "it"));
  return config;
}

/** Returns the options that an instance without a database of its own takes from the config. */
export function instanceOptions({
  prefix,
  defaults,
  retention,
}: PunctualConfig): Pick<PunctualOptions, "prefix" | "defaults"> {
  const keep = retention === undefined ? {} : { keep: retention };
  return {
    ...(prefix !== undefined && { prefix }),
    defaults: { ...keep, ...withoutUndefined(defaults ?? {}) },
  };
}

/** Runs a check of one value; its error begins with the key. */
function checkKey<Value>(key: string, value: Value | undefined, check: (value: Value) => unknown): void {
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
    `Expected a file name or glob such as "jobs/**/*.ts", or a list of them, got ${formatValue(jobs)}.`,
  );
}

function checkQueues(queues: Record<string, QueueSettings>): void {
  if (typeof queues !== "object" || queues === null || Array.isArray(queues)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected options by queue, such as { emails: { concurrency: 3 } }, got ${formatValue(queues)}.`,
    );
  }
  for (const [name, limit] of Object.entries(queues)) {
    checkName(name, "a queue name");
    checkQueueSettings(limit, false, `Queue "${name}"`);
  }
}
