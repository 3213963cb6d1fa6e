import { formatValue, PunctualError } from "../errors.ts";
import type { Clock } from "../time.ts";
import { isMysqlHandle } from "./mysql/driver.ts";
import type { PendingCalls } from "./pending-calls.ts";
import { isPostgresHandle } from "./postgres/driver.ts";
import { withSchema } from "./postgres/url.ts";
import type { Store } from "./store.ts";

/** A URL, or the caller's own database handle. */
export type DatabaseSource = string | object;

export interface OpenOptions {
  clock: Clock;
  prefix: string;
  /** Registers the calls that wait for the database, so that a process which must end can give them up. */
  pending?: PendingCalls;
}

type DatabaseKind = "sqlite" | "postgres" | "mysql";

const SCHEMES: Record<string, DatabaseKind> = {
  sqlite: "sqlite",
  postgres: "postgres",
  postgresql: "postgres",
  mysql: "mysql",
  mariadb: "mysql",
};

/** Opens a store. Imports the code of its database on demand; no other file names the databases. */
export async function openStore(source: DatabaseSource, options: OpenOptions): Promise<Store> {
  switch (kindOf(source)) {
    case "sqlite": {
      const { openSqlite } = await import("./sqlite/open.ts");
      return openSqlite(source, options);
    }
    case "postgres": {
      const { openPostgres } = await import("./postgres/open.ts");
      return openPostgres(source, options);
    }
    case "mysql": {
      const { openMysql } = await import("./mysql/open.ts");
      return openMysql(source, options);
    }
  }
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
