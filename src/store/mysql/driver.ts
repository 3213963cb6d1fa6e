import { PunctualError } from "../../errors.ts";

export interface MysqlQuery {
  sql: string;
  values: unknown[];
  rowsAsArray: false;
  nestTables: false;
  namedPlaceholders: false;
  typeCast: true | ((field: unknown, next: () => unknown) => unknown);
}

export interface MysqlField {
  name: string;
  columnType?: number;
}

/** The rows, or the header that answers a statement without rows. */
export type MysqlResult = unknown[] | MysqlHeader;

export interface MysqlHeader {
  insertId: number;
  /** The bits of the server status after the statement. */
  serverStatus: number;
}

/** The object below a promise wrapper of mysql2, or the callback object itself. It emits the events of the socket. */
export interface MysqlCore {
  on(event: string, listener: (...args: never[]) => void): unknown;
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  readonly stream?: { ref?(): unknown; unref?(): unknown };
  /** Of a pool's connection: closes it if `gracefulEnd` is set, and otherwise returns it with a warning. */
  end?(): unknown;
  readonly config?: {
    gracefulEnd?: boolean;
    typeCast?: unknown;
    connectionLimit?: number;
    supportBigNumbers?: boolean;
    decimalNumbers?: boolean;
  };
}

/** The part of a `mysql2/promise` connection that Punctual uses. A caller's connection may be of another version. */
export interface MysqlConnection {
  query(query: MysqlQuery): Promise<[MysqlResult, MysqlField[] | undefined]>;
  execute(query: MysqlQuery): Promise<[MysqlResult, MysqlField[] | undefined]>;
  /** Closes a prepared statement. mysql2 identifies it by all of these options. */
  unprepare(statement: Pick<MysqlQuery, "sql" | "nestTables" | "rowsAsArray">): unknown;
  destroy(): void;
  readonly connection: MysqlCore;
}

export interface MysqlPoolConnection extends MysqlConnection {
  release(): void;
}

export interface MysqlPool {
  getConnection(): Promise<MysqlPoolConnection>;
  end(): Promise<void>;
  readonly pool: MysqlCore;
}

export interface Mysql {
  createPool(options: Record<string, unknown>): MysqlPool;
  createConnection(options: Record<string, unknown>): Promise<MysqlConnection>;
}

/** Loads `mysql2`, an optional peer dependency, when a MySQL or MariaDB database is opened by its URL. */
export async function loadMysql(): Promise<Mysql> {
  let found: { default?: unknown };
  try {
    found = (await import("mysql2/promise")) as { default?: unknown };
  } catch (error) {
    throw new PunctualError(
      "DRIVER_MISSING",
      'MySQL and MariaDB need the package "mysql2", which cannot be loaded. Install it: npm i mysql2',
      { cause: error },
    );
  }
  return (found.default ?? found) as Mysql;
}

type Shape = Partial<
  Record<
    "promise" | "execute" | "query" | "getConnection" | "beginTransaction" | "pool" | "connection",
    unknown
  >
>;

function shapeOf(value: unknown): Shape {
  return (typeof value === "object" || typeof value === "function") && value !== null ? value : {};
}

/** Whether this is an object of mysql2 with callbacks: only mysql2 has `promise()`, which returns one with promises. */
function isCore(value: unknown): boolean {
  const { promise, execute } = shapeOf(value);
  return typeof promise === "function" && typeof execute === "function";
}

function isAnyPool(value: unknown): boolean {
  const shape = shapeOf(value);
  return typeof shape.getConnection === "function" && (isCore(value) || isCore(shape.pool));
}

function isAnyConnection(value: unknown): boolean {
  const shape = shapeOf(value);
  return typeof shape.beginTransaction === "function" && (isCore(value) || isCore(shape.connection));
}

/** Whether this is a pool or connection of mysql2. Checked by its shape, so that mysql2 need not be loaded. */
export function isMysqlHandle(value: unknown): boolean {
  return isAnyPool(value) || isAnyConnection(value);
}

/** Returns a pool of mysql2 in its form with promises; null: the value is no such pool. */
export function asPool(value: unknown): MysqlPool | null {
  return isAnyPool(value) ? (withPromises(value) as MysqlPool) : null;
}

/** Returns a connection of mysql2 in its form with promises; null: the value is no such connection. */
export function asConnection(value: unknown): MysqlConnection | null {
  return isAnyConnection(value) ? (withPromises(value) as MysqlConnection) : null;
}

function withPromises(value: unknown): unknown {
  return isCore(value) ? (value as { promise(): unknown }).promise() : value;
}
