import { PunctualError } from "../../errors.ts";

/** The part of a `pg` client that Punctual uses. A caller's client may be of another version, or wrapped. */
export interface PgClient {
  query(config: PgQuery): Promise<PgResult>;
  on(event: string, listener: (...args: never[]) => void): unknown;
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  /** "I" outside a transaction, "T" inside, "E" in one that has failed; missing in old versions of pg. */
  getTransactionStatus?(): string | null;
  /** Whether statements are sent before earlier ones are answered; missing in old versions of pg. */
  pipeline?: boolean;
  /** Missing in pg-native. */
  connection?: { stream?: PgStream; parsedStatements?: Record<string, string> };
}

/** The socket of a client. */
export interface PgStream {
  cork?(): void;
  uncork?(): void;
}

export interface PgQuery {
  text: string;
  values?: unknown[];
  types?: { getTypeParser(oid: number): (text: string) => unknown };
  query_timeout?: number;
}

export interface PgResult {
  rows: unknown[];
  command: string;
}

export interface PgPoolClient extends PgClient {
  release(destroy?: boolean): void;
}

export interface PgPool {
  connect(): Promise<PgPoolClient>;
  end(): Promise<void>;
  on(event: string, listener: (...args: never[]) => void): unknown;
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  readonly options?: { max?: number };
  readonly totalCount: number;
}

/** A client that Punctual connects and ends itself. */
export interface PgOwnClient extends PgClient {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  unref?(): void;
}

export interface PgConfig {
  connectionString: string;
  connectionTimeoutMillis: number;
  keepAlive: boolean;
  keepAliveInitialDelayMillis: number;
  fallback_application_name: string;
  /** Returns the socket for a new connection. */
  stream?: () => object;
  max?: number;
  allowExitOnIdle?: boolean;
  idleTimeoutMillis?: number;
  pipeline?: boolean;
}

export interface Pg {
  Pool: new (config: PgConfig) => PgPool;
  Client: new (config: PgConfig) => PgOwnClient;
}

/** Loads `pg`, an optional peer dependency, when a PostgreSQL database is opened. */
export async function loadPg(): Promise<Pg> {
  let found: { default: unknown };
  try {
    found = (await import("pg")) as { default: unknown };
  } catch (error) {
    throw new PunctualError(
      "DRIVER_MISSING",
      'PostgreSQL needs the package "pg", which cannot be loaded. Install it: npm i pg',
      { cause: error },
    );
  }
  return found.default as Pg;
}

/** Whether this is a `Pool` of pg: it has a count of its connections. */
export function isPool(value: unknown): boolean {
  const pool = value as { query?: unknown; connect?: unknown; totalCount?: unknown } | null;
  return (
    typeof pool?.query === "function" &&
    typeof pool.connect === "function" &&
    typeof pool.totalCount === "number"
  );
}

/** Whether this is a `Client` of pg, from a pool or not. Other drivers have no `escapeLiteral`. */
export function isClient(value: unknown): boolean {
  const client = value as { query?: unknown; escapeLiteral?: unknown; totalCount?: unknown } | null;
  return (
    typeof client?.query === "function" &&
    typeof client.escapeLiteral === "function" &&
    client.totalCount === undefined
  );
}

/** Whether this is a `Pool` or `Client` of pg. Checked by its shape, so that pg need not be loaded. */
export function isPostgresHandle(value: unknown): boolean {
  return (typeof value === "object" || typeof value === "function") && (isPool(value) || isClient(value));
}
