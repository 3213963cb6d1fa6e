import { PunctualError } from "../../errors.ts";
import type { OpenOptions } from "../open.ts";
import { Pending } from "../pending.ts";
import type { ServerParts } from "../server/parts.ts";
import { ServerStore } from "../server/store.ts";
import { tablesWith } from "../sql/database.ts";
import type { Store } from "../store.ts";
import { Callers } from "./caller-transaction.ts";
import { type Connections, OneConnection, PoolConnections } from "./connections.ts";
import { PostgresDatabase } from "./database.ts";
import { isPool, loadPg, type PgClient, type PgConfig, type PgOwnClient, type PgPool } from "./driver.ts";
import { Announcer, channelOf, Listener } from "./notifications.ts";
import { schema } from "./schema.ts";
import { type PostgresUrl, parsePostgresUrl, schemaName } from "./url.ts";

export interface PostgresOptions extends OpenOptions {
  /** The schema the tables are in; with a URL `schema=<name>` says the same. Default: the first of the search path. */
  schema?: string;
}

interface Opened {
  connections: Connections;
  most: number;
  schema: string | null;
  /** A connection outside the pool; null: nobody is told of anything, nor hears. */
  connect: (() => PgOwnClient) | null;
}

/**
 * A URL, a `Pool`, or a `Client` of the caller's. The pool stays open when Punctual closes. A client is one connection:
 * everything goes through it in turn, and other processes are neither heard nor told at once.
 */
export async function postgresParts(
  source: string | object,
  { clock, prefix, schema: asked, pending = new Pending() }: PostgresOptions,
): Promise<ServerParts> {
  const opened = typeof source === "string" ? await openUrl(source, pending) : openHandle(source);
  const place = opened.schema ?? schemaName(asked);
  const tables = tablesWith(place === null ? prefix : `"${place}".${prefix}`);
  const db = new PostgresDatabase(opened.connections, pending);
  const callers = new Callers(db, tables);
  const channel = channelOf(place, prefix);
  const announcer = opened.connect && new Announcer(db, channel);
  const listener = opened.connect && new Listener(opened.connect, channel);
  return {
    db,
    schema,
    tables,
    clock,
    connections: opened.most,
    enter: (tx) => callers.enter(tx),
    announce: async (caller) => announcer?.announce(caller),
    watch: (onChange) => listener?.listen(onChange) ?? (() => {}),
    async close() {
      listener?.close();
      await announcer?.close();
      await db.close();
    },
  };
}

async function openUrl(source: string, pending: Pending): Promise<Opened> {
  const url = parsePostgresUrl(source);
  const pg = await loadPg();
  const config = { ...configOf(url), stream: () => pending.socket() };
  const connect = () => new pg.Client(config);
  check(connect);
  const pool = new pg.Pool({
    ...config,
    max: url.pool,
    allowExitOnIdle: true,
    idleTimeoutMillis: 30_000,
    pipeline: true,
  });
  return {
    connections: new PoolConnections(pool, true),
    most: url.pool,
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

/** A client reads the URL, and the files it names, when it is made. Its error has the URL in it: it goes no further. */
function check(makeClient: () => unknown): void {
  try {
    makeClient();
  } catch (error) {
    const { code, path } = error as { code?: unknown; path?: unknown };
    const file = code === "ENOENT" ? `: the file ${path} does not exist` : "";
    throw new PunctualError(
      "DATABASE_URL",
      `The PostgreSQL URL cannot be read${file}. Write "postgres://user:password@host:5432/database", special characters of user and password percent-encoded.`,
    );
  }
}

function openHandle(source: object): Opened {
  if (!isPool(source)) {
    return { connections: new OneConnection(source as PgClient), most: 1, schema: null, connect: null };
  }
  const pool = source as PgPool & {
    Client?: new (options: unknown) => PgOwnClient;
    options?: { max?: number };
  };
  const { Client, options } = pool;
  return {
    connections: new PoolConnections(pool, false),
    // What pg takes where nothing is said.
    most: options?.max ?? 10,
    schema: null,
    connect: Client && options ? () => new Client(options) : null,
  };
}

export async function openPostgres(source: string | object, options: PostgresOptions): Promise<Store> {
  return new ServerStore(await postgresParts(source, options));
}
