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

/** Rows, or what the server said of a statement that has none. */
export type MysqlResult = unknown[] | MysqlHeader;

export interface MysqlHeader {
  insertId: number;
  /** The server's flags after the statement. */
  serverStatus: number;
}

/** What lies below both shapes of a connection; its events are the socket's. */
export interface MysqlCore {
  on(event: string, listener: (...args: never[]) => void): unknown;
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  readonly stream?: { ref?(): unknown; unref?(): unknown };
  readonly config?: {
    typeCast?: unknown;
    connectionLimit?: number;
    supportBigNumbers?: boolean;
    decimalNumbers?: boolean;
  };
}

/** What Punctual uses of a connection of `mysql2/promise`; the caller's own may be of another version. */
export interface MysqlConnection {
  query(query: MysqlQuery): Promise<[MysqlResult, MysqlField[] | undefined]>;
  execute(query: MysqlQuery): Promise<[MysqlResult, MysqlField[] | undefined]>;
  /** It knows a statement by all of these. */
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
}

/** `mysql2` is an optional peer: it is loaded when a MySQL or MariaDB database is opened by its URL, not before. */
export async function loadMysql(): Promise<Mysql> {
  let found: { default?: unknown };
  try {
    found = (await import("mysql2/promise")) as { default?: unknown };
  } catch (error) {
    throw new PunctualError(
      "DRIVER_MISSING",
      'MySQL and MariaDB need the package "mysql2", and it cannot be loaded here. Add it with: npm i mysql2',
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

/** Callbacks, or promises around it: only mysql2 has something that turns the one into the other. */
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

/** Whether this is a pool or a connection of the package `mysql2`; told by its shape, so that nothing is loaded for the question. */
export function isMysqlHandle(value: unknown): boolean {
  return isAnyPool(value) || isAnyConnection(value);
}

/** A pool of the caller's in the shape of promises; null: it is none. */
export function asPool(value: unknown): MysqlPool | null {
  return isAnyPool(value) ? (inPromises(value) as MysqlPool) : null;
}

/** A connection of the caller's in the shape of promises; null: it is none. */
export function asConnection(value: unknown): MysqlConnection | null {
  return isAnyConnection(value) ? (inPromises(value) as MysqlConnection) : null;
}

function inPromises(value: unknown): unknown {
  return isCore(value) ? (value as { promise(): unknown }).promise() : value;
}
