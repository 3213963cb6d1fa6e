import { PunctualError } from "../../errors.ts";
import type { HostReport } from "../maintenance.ts";
import type { OpenOptions } from "../open.ts";
import { PendingCalls } from "../pending-calls.ts";
import type { ListedHost } from "../server/host-list.ts";
import type { ServerParts } from "../server/parts.ts";
import { ServerStore } from "../server/store.ts";
import { tablesWith } from "../sql/database.ts";
import type { Store } from "../store.ts";
import { CallerTransactions } from "./caller-transaction.ts";
import { OneConnection, type PgConnections, PoolConnections } from "./connections.ts";
import { PostgresDatabase } from "./database.ts";
import { isPool, loadPg, type PgClient, type PgConfig, type PgOwnClient, type PgPool } from "./driver.ts";
import { hostConnections } from "./hosts.ts";
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
  /** See `ServerParts`. */
  hosts?: () => Promise<HostReport[]>;
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
  { clock, prefix, schema: requestedSchema, pending = new PendingCalls(), isPatient }: PostgresOptions,
): Promise<ServerParts> {
  const from = typeof source === "string" ? await openUrl(source, pending) : openHandle(source);
  const schemaOfTables = from.schema ?? schemaName(requestedSchema);
  const tables = tablesWith(schemaOfTables === null ? prefix : `"${schemaOfTables}".${prefix}`);
  const db = new PostgresDatabase(from.connections, pending, isPatient);
  const callers = new CallerTransactions(db, tables);
  const channel = channelOf(schemaOfTables, prefix);
  const announcer = from.connect && new Announcer(db, channel);
  const listener = from.connect && new Listener(from.connect, channel, () => announcer?.announce(null, 0));
  return {
    db,
    schema,
    tables,
    clock,
    connections: from.maxConnections,
    ...(from.hosts && { hosts: from.hosts }),
    enter: (tx) => callers.enter(tx),
    announcement: (runs) => announcer?.statement(runs) ?? null,
    announce: async (caller, runs) => announcer?.announce(caller, runs),
    crowd: (workers) => listener?.crowd(workers),
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
  const configs = url.hosts.map((host) => configOf(url, host, pending));
  for (const config of configs) checkConfig(() => new pg.Client(config));
  const open = (index: number) => {
    const config = configs[index]!;
    const limits = { max: url.pool, allowExitOnIdle: true, idleTimeoutMillis: 30_000, pipeline: true };
    return new PoolConnections(new pg.Pool({ ...config, ...limits }), true);
  };
  const hosts =
    configs.length > 1 ? hostConnections(url, open, (index) => new pg.Client(configs[index]!)) : null;
  const connect = () => new pg.Client(configs[hosts?.current ?? 0]!);
  return {
    connections: hosts ?? open(0),
    maxConnections: url.pool,
    schema: url.schema,
    connect: url.notify ? connect : null,
    ...(hosts && { hosts: () => hosts.report() }),
  };
}

function configOf(url: PostgresUrl, host: ListedHost, pending: PendingCalls): PgConfig {
  return {
    connectionString: host.url,
    connectionTimeoutMillis: url.connectTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    fallback_application_name: "punctual",
    stream: () => pending.socket(),
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
