import { formatValue, PunctualError } from "../errors.ts";
import type { Clock } from "../time.ts";
import { isMysqlHandle, loadMysql } from "./mysql/driver.ts";
import type { PendingCalls } from "./pending-calls.ts";
import { isPostgresHandle, loadPg } from "./postgres/driver.ts";
import { withSchema } from "./postgres/url.ts";
import type { Store } from "./store.ts";

/** A URL, or the caller's own database handle. */
export type DatabaseSource = string | object;

export interface OpenOptions {
  clock: Clock;
  prefix: string;
  /** Registers the calls that wait for the database, so that a process which must end can give them up. */
  pending?: PendingCalls;
  /** Whether the first connection to a server is retried for as long as later ones. Default: for 5 seconds. */
  isPatient?: () => boolean;
}

type DatabaseKind = "sqlite" | "postgres" | "mysql";

const SCHEMES: Record<string, DatabaseKind> = {
  sqlite: "sqlite",
  postgres: "postgres",
  postgresql: "postgres",
  mysql: "mysql",
  mariadb: "mysql",
};

/** The code of each database, which is imported on demand; no other file names the databases. */
const OPENERS = {
  sqlite: async () => (await import("./sqlite/open.ts")).openSqlite,
  postgres: async () => (await import("./postgres/open.ts")).openPostgres,
  mysql: async () => (await import("./mysql/open.ts")).openMysql,
};

const DRIVERS = { sqlite: async () => {}, postgres: loadPg, mysql: loadMysql };

export async function openStore(source: DatabaseSource, options: OpenOptions): Promise<Store> {
  const open = await OPENERS[kindOf(source)]();
  return open(source, options);
}

/**
 * Begins to load the code that the first use of this database needs, 60 ms for PostgreSQL (note 51), and opens nothing.
 * Throws if the source names no database; that the driver is missing is reported by `openStore`.
 */
export function preload(source: DatabaseSource): void {
  const kind = kindOf(source);
  const loaded = [OPENERS[kind](), ...(typeof source === "string" ? [DRIVERS[kind]()] : [])];
  Promise.all<unknown>(loaded).catch(() => {});
}

const NO_SCHEMAS = {
  sqlite:
    "SQLite has no schemas: each file is a database of its own. Name another file in the URL, or set a table prefix (prefix in punctual.config.ts).",
  mysql:
    "MySQL and MariaDB have no schemas within a database: a schema is a database there. Name it in the URL (mysql://host/name), or set a table prefix (prefix in punctual.config.ts).",
};

/** Returns the URL of the same database with the tables in this schema. Throws for databases other than PostgreSQL. */
export function inSchema(source: DatabaseSource, schema: string): string {
  const kind = kindOf(source);
  if (kind !== "postgres") throw new PunctualError("INVALID_OPTION", NO_SCHEMAS[kind]);
  if (typeof source === "string") return withSchema(source, schema);
  throw new PunctualError(
    "INVALID_OPTION",
    `The search path of your pool or client decides in which schema the tables are. Set it there: new pg.Pool({ …, options: "-c search_path=${schema}" }).`,
  );
}

/** Returns the kind of database that a URL or handle names. Opens nothing; throws if it names none. */
export function kindOf(source: unknown): DatabaseKind {
  if (typeof source === "string") {
    if (source === ":memory:") return "sqlite";
    const scheme = /^([a-z][a-z0-9+]*):/i.exec(source)?.[1];
    const kind = scheme && Object.hasOwn(SCHEMES, scheme.toLowerCase()) && SCHEMES[scheme.toLowerCase()];
    if (kind) return kind;
    const hint = scheme ? "" : ` For a SQLite file write "sqlite:${source}".`;
    // Never show the whole URL: it may contain a password.
    throw new PunctualError(
      "DATABASE_URL",
      `Expected a database URL such as "sqlite:./jobs.db", "postgres://…", "mysql://…" or "mariadb://…", got ${scheme ? `one that begins with "${scheme}:"` : formatValue(source)}.${hint}`,
    );
  }
  if (isPostgresHandle(source)) return "postgres";
  if (isMysqlHandle(source)) return "mysql";
  const handle = source as { prepare?: unknown; exec?: unknown } | null;
  if (typeof handle?.prepare === "function" && typeof handle.exec === "function") return "sqlite";
  throw new PunctualError(
    "DATABASE_URL",
    `Expected a database URL, a DatabaseSync, a pg Pool or Client, or a mysql2 pool or connection, got ${formatValue(source)}. ` +
      "Leave the argument out to use PUNCTUAL_DATABASE_URL or ./punctual.db.",
  );
}
