import { PunctualError } from "../../errors.ts";
import type { OpenOptions } from "../open.ts";
import { PendingCalls } from "../pending-calls.ts";
import { type ServerParts, ServerStore } from "../server/store.ts";
import { tablesWith } from "../sql/database.ts";
import type { Store } from "../store.ts";
import { CallerTransactions } from "./caller-transaction.ts";
import { OneConnection, type PgConnections, PoolConnections } from "./connections.ts";
import { PostgresDatabase } from "./database.ts";
import { isPool, loadPg, type PgClient, type PgConfig, type PgOwnClient, type PgPool } from "./driver.ts";
import { Announcer, channelOf, Listener } from "./notifications.ts";
import { schema } from "./schema.ts";
import { type PostgresUrl, parsePostgresUrl, schemaName } from "./url.ts";

export interface PostgresOptions extends OpenOptions {
  /** The schema of the tables; `schema=<name>` in a URL wins. Default: the first schema of the search path. */
  schema?: string;
}

interface ConnectionSource {
  connections: PgConnections;
  maxConnections: number;
  schema: string | null;
  /** Makes a client outside the pool, to listen on; null: notifications are neither sent nor received. */
  connect: (() => PgOwnClient) | null;
}

/**
 * Opens a store on a URL, or on a `Pool` or `Client` of the caller's, which stays open when the store closes. A client
 * is one connection: all statements share it, and other processes learn of new runs by polling only.
 */
export async function openPostgres(source: string | object, options: PostgresOptions): Promise<Store> {
  return new ServerStore(await postgresParts(source, options));
}

export async function postgresParts(
  source: string | object,
  { clock, prefix, schema: requestedSchema, pending = new PendingCalls() }: PostgresOptions,
): Promise<ServerParts> {
  const from = typeof source === "string" ? await openUrl(source, pending) : openHandle(source);
  const schemaOfTables = from.schema ?? schemaName(requestedSchema);
  const tables = tablesWith(schemaOfTables === null ? prefix : `"${schemaOfTables}".${prefix}`);
  const db = new PostgresDatabase(from.connections, pending);
  const callers = new CallerTransactions(db, tables);
  const channel = channelOf(schemaOfTables, prefix);
  const announcer = from.connect && new Announcer(db, channel);
  const listener = from.connect && new Listener(from.connect, channel, () => announcer?.announce(null));
  return {
    db,
    schema,
    tables,
    clock,
    connections: from.maxConnections,
    enter: (tx) => callers.enter(tx),
    announcement: () => announcer?.statement() ?? null,
    announce: async (caller) => announcer?.announce(caller),
    isWatched: () => listener?.isProven ?? false,
    watch: (onChange) => listener?.listen(onChange) ?? (() => {}),
    async close() {
      listener?.close();
      await announcer?.close();
      await db.close();
    },
  };
}

async function openUrl(source: string, pending: PendingCalls): Promise<ConnectionSource> {
  const url = parsePostgresUrl(source);
  const pg = await loadPg();
  const config = { ...configOf(url), stream: () => pending.socket() };
  const connect = () => new pg.Client(config);
  checkConfig(connect);
  const pool = new pg.Pool({
    ...config,
    max: url.pool,
    allowExitOnIdle: true,
    idleTimeoutMillis: 30_000,
    pipeline: true,
  });
  return {
    connections: new PoolConnections(pool, true),
    maxConnections: url.pool,
    schema: url.schema,
    connect: url.notify ? connect : null,
  };
}

function configOf(url: PostgresUrl): PgConfig {
  return {
    connectionString: url.connectionString,
    connectionTimeoutMillis: url.connectTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    fallback_application_name: "punctual",
  };
}

/**
 * Makes a client once, without connecting: that reads the URL and the certificate files it names. pg's error contains
 * the URL, perhaps with a password, so it does not become the cause of ours.
 */
function checkConfig(makeClient: () => unknown): void {
  try {
    makeClient();
  } catch (error) {
    const { code, path } = error as { code?: unknown; path?: unknown };
    throw new PunctualError(
      "DATABASE_URL",
      code === "ENOENT"
        ? `The PostgreSQL URL names the file ${path}, which does not exist. Correct its path.`
        : 'The PostgreSQL URL cannot be parsed. Write "postgres://user:password@host:5432/database", with special characters in the user and password percent-encoded.',
    );
  }
}

function openHandle(source: object): ConnectionSource {
  if (!isPool(source)) {
    return {
      connections: new OneConnection(source as PgClient),
      maxConnections: 1,
      schema: null,
      connect: null,
    };
  }
  const pool = source as PgPool & {
    Client?: new (options: unknown) => PgOwnClient;
    options?: { max?: number };
  };
  const { Client, options } = pool;
  return {
    connections: new PoolConnections(pool, false),
    // The default of pg is 10.
    maxConnections: options?.max ?? 10,
    schema: null,
    connect: Client && options ? () => new Client(options) : null,
  };
}
