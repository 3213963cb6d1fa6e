import { PunctualError, show } from "../errors.ts";
import type { Clock } from "../time.ts";
import type { Store } from "./store.ts";

/** A URL, or a database handle of the caller's. */
export type DatabaseSource = string | object;

export interface OpenOptions {
  clock: Clock;
  prefix: string;
}

/** Only this file names databases. Each is loaded when it is asked for. */
export async function openStore(source: DatabaseSource, options: OpenOptions): Promise<Store> {
  const kind = kindOf(source);
  switch (kind) {
    case "sqlite": {
      const { openSqlite } = await import("./sqlite/open.ts");
      return openSqlite(source, options);
    }
  }
}

/** Checks the form at once, without opening anything. */
export function kindOf(source: unknown): "sqlite" {
  if (typeof source === "string") {
    if (source === ":memory:" || source.startsWith("sqlite:")) return "sqlite";
    const scheme = /^([a-z][a-z0-9+]*):/i.exec(source)?.[1];
    if (scheme && ["postgres", "postgresql", "mysql", "mariadb"].includes(scheme.toLowerCase())) {
      throw new PunctualError(
        "DATABASE_URL",
        `${scheme}: databases are not supported by this version of Punctual. Use a SQLite URL such as "sqlite:./jobs.db".`,
      );
    }
    const hint = scheme ? "" : ` For a SQLite file write "sqlite:${source}".`;
    // Never the whole URL: it may carry a password.
    throw new PunctualError(
      "DATABASE_URL",
      `Expected a database URL such as "sqlite:./jobs.db", got ${scheme ? `one that begins with "${scheme}:"` : show(source)}.${hint}`,
    );
  }
  const handle = source as { prepare?: unknown; exec?: unknown } | null;
  if (typeof handle?.prepare === "function" && typeof handle.exec === "function") return "sqlite";
  throw new PunctualError(
    "DATABASE_URL",
    `Expected a database URL or a DatabaseSync, got ${show(source)}. ` +
      "Leave the argument out to use PUNCTUAL_DATABASE_URL or ./punctual.db.",
  );
}
