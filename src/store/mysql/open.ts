import { PunctualError, show } from "../../errors.ts";
import type { DatabaseSource, OpenOptions } from "../open.ts";
import { Pending, type SocketConfig } from "../pending.ts";
import type { ServerParts } from "../server/parts.ts";
import { ServerStore } from "../server/store.ts";
import { tablesWith } from "../sql/database.ts";
import type { Store } from "../store.ts";
import { Callers } from "./caller-transaction.ts";
import { type Connections, OneConnection, OwnConnections, PoolConnections } from "./connections.ts";
import { MysqlDatabase } from "./database.ts";
import { asConnection, asPool, loadMysql } from "./driver.ts";
import { nameOfVersion } from "./errors.ts";
import { Poller } from "./poller.ts";
import { schemaFor } from "./schema.ts";
import { parseMysqlUrl } from "./url.ts";

interface Facts {
  version: string;
  db: string | null;
  charset: string;
  autocommit: number;
}

const FACTS =
  "select version() as version, database() as db, @@character_set_client as charset, @@autocommit as autocommit";

/** What a store is made of: of a URL, or of a pool or a connection of the caller's. */
export async function mysqlParts(
  source: DatabaseSource,
  { clock, prefix, pending = new Pending() }: OpenOptions,
): Promise<ServerParts> {
  const connections = await connectionsOf(source, pending);
  const db = new MysqlDatabase(connections, pending);
  const tables = tablesWith(prefix);
  try {
    check(await db.meet<Facts>(FACTS, ({ version }) => nameOfVersion(version)));
  } catch (error) {
    await db.close();
    throw error;
  }
  const callers = new Callers(db, tables);
  const poller = new Poller(db, tables, clock);
  return {
    db,
    schema: schemaFor(db.name),
    tables,
    clock,
    connections: connections.most,
    enter: (tx) => callers.enter(tx),
    // Whoever waits for runs asks for them.
    announce: async () => {},
    watch: (onChange) => poller.listen(onChange),
    close: () => db.close(),
  };
}

async function connectionsOf(source: DatabaseSource, pending: Pending): Promise<Connections> {
  if (typeof source === "string") {
    const stream = ({ config }: { config: SocketConfig }) => pending.connect(config);
    const options: Record<string, unknown> = { ...parseMysqlUrl(source), stream };
    const { createPool } = await loadMysql();
    try {
      return new OwnConnections(createPool(options), Number(options.connectionLimit));
    } catch (error) {
      throw new PunctualError(
        "DATABASE_URL",
        `mysql2 does not take the parameters of the MySQL URL: ${(error as Error).message}. Correct them.`,
        { cause: error },
      );
    }
  }
  const pool = asPool(source);
  if (pool) return new PoolConnections(pool);
  const connection = asConnection(source);
  if (connection) return new OneConnection(connection);
  throw new PunctualError(
    "DATABASE_URL",
    `Expected a MySQL URL, or a pool or connection of mysql2, got ${show(source)}.`,
  );
}

/** Refuses connections of a caller's on which runs would be lost or changed. */
function check({ db, charset, autocommit }: Facts): void {
  if (db === null) {
    throw new PunctualError(
      "DATABASE_MISSING",
      "Expected MySQL connections that have chosen a database, but there is none. Name it with the option database of mysql2.",
    );
  }
  if (charset !== "utf8mb4") {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected MySQL connections with the character set utf8mb4, got ${charset}: texts would lose characters. Set the option charset of mysql2 to "utf8mb4".`,
    );
  }
  if (autocommit !== 1) {
    throw new PunctualError(
      "INVALID_OPTION",
      "Expected MySQL connections with autocommit, but it is off: nothing that Punctual writes would be committed. Leave it on; transactions work as before.",
    );
  }
}

/** A URL, or a pool or a connection of mysql2 that is the caller's, who closes it. */
export async function openMysql(source: DatabaseSource, options: OpenOptions): Promise<Store> {
  return new ServerStore(await mysqlParts(source, options));
}
