import { formatValue, PunctualError } from "../../errors.ts";
import type { DatabaseSource, OpenOptions } from "../open.ts";
import { PendingCalls, type SocketConfig } from "../pending-calls.ts";
import type { ServerParts } from "../server/parts.ts";
import { ServerStore } from "../server/store.ts";
import { tablesWith } from "../sql/database.ts";
import type { Store } from "../store.ts";
import { CallerTransactions } from "./caller-transaction.ts";
import { type MysqlConnections, OneConnection, OwnConnections, PoolConnections } from "./connections.ts";
import { MysqlDatabase } from "./database.ts";
import { asConnection, asPool, loadMysql } from "./driver.ts";
import { flavourOf } from "./errors.ts";
import { MysqlHostConnections } from "./hosts.ts";
import { Poller } from "./poller.ts";
import { schemaFor } from "./schema.ts";
import { type MysqlHost, parseMysqlHosts } from "./url.ts";

interface ServerFacts {
  version: string;
  db: string | null;
  charset: string;
  autocommit: number;
}

const SELECT_FACTS =
  "select version() as version, database() as db, @@character_set_client as charset, @@autocommit as autocommit";

/** Opens a store on a URL, or on a pool or connection of mysql2 that stays the caller's to close. */
export async function openMysql(source: DatabaseSource, options: OpenOptions): Promise<Store> {
  return new ServerStore(await mysqlParts(source, options));
}

export async function mysqlParts(
  source: DatabaseSource,
  { clock, prefix, pending = new PendingCalls(), isPatient }: OpenOptions,
): Promise<ServerParts> {
  const connections = await connectionsOf(source, pending);
  const db = new MysqlDatabase(connections, pending, isPatient);
  const tables = tablesWith(prefix);
  try {
    checkFacts(await db.identify<ServerFacts>(SELECT_FACTS, ({ version }) => flavourOf(version)));
  } catch (error) {
    await db.close();
    throw error;
  }
  const callers = new CallerTransactions(db, tables);
  const poller = new Poller(db, tables, clock);
  return {
    db,
    schema: schemaFor(db.name),
    tables,
    clock,
    connections: connections.max,
    ...(connections instanceof MysqlHostConnections && { hosts: () => connections.report() }),
    enter: (tx) => callers.enter(tx),
    // Other processes learn of new runs by polling.
    announcement: () => null,
    crowd: (workers) => poller.crowd(workers),
    isWatched: () => poller.isPolling,
    announce: async () => {},
    watch: (onChange) => poller.listen(onChange),
    exchanging: (work) => void poller.exchanging(work),
    close: () => db.close(),
  };
}

async function connectionsOf(source: DatabaseSource, pending: PendingCalls): Promise<MysqlConnections> {
  if (typeof source === "string") {
    const stream = ({ config }: { config: SocketConfig }) => pending.connect(config);
    const hosts: MysqlHost[] = parseMysqlHosts(source).map(({ name, options }) => ({
      name,
      options: { ...options, stream },
    }));
    const mysql = await loadMysql();
    const { options } = hosts[0]!;
    try {
      if (hosts.length > 1) return new MysqlHostConnections(hosts, mysql);
      return new OwnConnections(mysql.createPool(options), Number(options.connectionLimit));
    } catch (error) {
      throw new PunctualError(
        "DATABASE_URL",
        `mysql2 rejected a parameter of the MySQL URL: ${(error as Error).message}. Correct it.`,
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
    `Expected a MySQL URL, or a pool or connection of mysql2, got ${formatValue(source)}.`,
  );
}

/** Throws for connections of a caller's on which runs would be lost or changed. */
function checkFacts({ db, charset, autocommit }: ServerFacts): void {
  if (db === null) {
    throw new PunctualError(
      "DATABASE_MISSING",
      "Expected MySQL connections with a default database, but none is selected. Set the option database of mysql2.",
    );
  }
  if (charset !== "utf8mb4") {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected MySQL connections with the character set utf8mb4, got ${charset}, which cannot store every character. Set the option charset of mysql2 to "utf8mb4".`,
    );
  }
  if (autocommit !== 1) {
    throw new PunctualError(
      "INVALID_OPTION",
      "Expected MySQL connections with autocommit on, but it is off: Punctual's writes outside transactions would not be committed. Turn autocommit on; your transactions do not change.",
    );
  }
}
