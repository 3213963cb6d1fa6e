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
