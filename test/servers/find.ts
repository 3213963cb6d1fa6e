import { findMariadb } from "./mariadb.ts";
import { findMysql } from "./mysql.ts";
import { findPostgres } from "./postgres.ts";
import { label, type Program, type ServerKind, variableOf } from "./server.ts";

const finders = { postgres: findPostgres, mariadb: findMariadb, mysql: findMysql };

export function findServer(kind: ServerKind): Program | undefined {
  return finders[kind]();
}

/** A server that the environment names, used instead of one of ours. */
export function givenUrl(kind: ServerKind): string | undefined {
  return process.env[variableOf(kind)] || undefined;
}

export function isAvailable(kind: ServerKind): boolean {
  return givenUrl(kind) !== undefined || findServer(kind) !== undefined;
}

export function missing(kind: ServerKind): Error {
  const how =
    kind === "mysql"
      ? "put mysqld 8 or newer on the PATH"
      : `install it (Debian: apt-get install ${kind === "postgres" ? "postgresql" : "mariadb-server"})`;
  return new Error(
    `${label[kind]} was not found: ${how}, or start it with compose.yaml and set ${variableOf(kind)}, or leave it out with STORES=sqlite.`,
  );
}
