import type { Logger } from "./events/logger.ts";
import type { DatabaseSource } from "./store/open.ts";

/** The database if nothing names another. */
export const DEFAULT_DATABASE = "sqlite:./punctual.db";

/** A database and the option, variable or file that names it, such as `--db`. */
export interface NamedDatabase {
  source: DatabaseSource;
  by: string;
}

/**
 * Chooses the database of an instance that names none: the one of `--db`, else of `PUNCTUAL_DATABASE_URL`, else of the
 * config. Null: nothing names a database.
 */
export function chooseDatabase(named: {
  /** The value of `--db`. */
  option?: string | undefined;
  config?: { database?: DatabaseSource | undefined } | undefined;
  /** The config's file, for messages. */
  file?: string | null | undefined;
}): NamedDatabase | null {
  const { option, config, file } = named;
  if (option !== undefined) return { source: option, by: "--db" };
  const { PUNCTUAL_DATABASE_URL: url } = process.env;
  if (url) return { source: url, by: "PUNCTUAL_DATABASE_URL" };
  return config?.database === undefined ? null : { source: config.database, by: file ?? "the config" };
}

/** Returns the database of an instance for which no config names one. `logger`: logs the choice of the default. */
export function databaseWithoutConfig(logger: Logger | null): DatabaseSource {
  const named = chooseDatabase({});
  if (named) return named.source;
  logger?.info(`no database given: using ${DEFAULT_DATABASE}`);
  return DEFAULT_DATABASE;
}
