import { PunctualError } from "../../errors.ts";

/** What Punctual uses of a `pg` client; the caller's own may be of another version, or wrapped. */
export interface PgClient {
  query(config: PgQuery): Promise<PgResult>;
  on(event: string, listener: (...args: never[]) => void): unknown;
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  /** "I" outside a transaction, "T" inside, "E" in one that has failed; missing in old versions of pg. */
  getTransactionStatus?(): string | null;
  /** Whether a statement is sent before those ahead of it are answered; missing in old versions of pg. */
  pipeline?: boolean;
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

/** A client that is ours to connect and to end. */
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
  /** Makes the socket of each connection. */
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

/** `pg` is an optional peer: it is loaded when a PostgreSQL database is opened, not before. */
export async function loadPg(): Promise<Pg> {
  let found: { default: unknown };
  try {
    found = (await import("pg")) as { default: unknown };
  } catch (error) {
    throw new PunctualError(
      "DRIVER_MISSING",
      'PostgreSQL needs the package "pg", and it cannot be loaded here. Add it with: npm i pg',
      { cause: error },
    );
  }
  return found.default as Pg;
}

/** A `Pool` of the caller's: it counts its connections. */
export function isPool(value: unknown): boolean {
  const pool = value as { query?: unknown; connect?: unknown; totalCount?: unknown } | null;
  return (
    typeof pool?.query === "function" &&
    typeof pool.connect === "function" &&
    typeof pool.totalCount === "number"
  );
}

/** A `Client`, or one that a pool has lent; it can escape text by the rules of its server, which drivers of others do not offer. */
export function isClient(value: unknown): boolean {
  const client = value as { query?: unknown; escapeLiteral?: unknown; totalCount?: unknown } | null;
  return (
    typeof client?.query === "function" &&
    typeof client.escapeLiteral === "function" &&
    client.totalCount === undefined
  );
}

/** Whether this is a handle of the package `pg`; told by its shape, so that nothing is loaded for the question. */
export function isPostgresHandle(value: unknown): boolean {
  return (typeof value === "object" || typeof value === "function") && (isPool(value) || isClient(value));
}
