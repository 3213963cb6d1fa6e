import { createConnection } from "mysql2/promise";
import pg from "pg";
import type { ServerKind } from "../../servers/server.ts";

export type Param = string | number | null;

/** A connection outside the code under test. */
export interface Direct {
  /** `?` for parameters. */
  sql<Row = Record<string, unknown>>(text: string, ...params: Param[]): Promise<Row[]>;
  end(): Promise<void>;
}

const BIGINT = 20;
const NUMERIC = 1700;

/** Every number of ours is a safe integer. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === BIGINT || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format),
};

export async function connect(kind: ServerKind, url: string): Promise<Direct> {
  return kind === "postgres" ? connectPostgres(url) : connectMysql(url);
}

async function connectPostgres(connectionString: string): Promise<Direct> {
  const client = new pg.Client({ connectionString, types });
  client.on("error", () => {});
  await client.connect();
  return {
    async sql<Row>(text: string, ...params: Param[]) {
      let n = 0;
      const { rows } = await client.query(
        text.replace(/\?/g, () => `$${++n}`),
        params,
      );
      return rows as Row[];
    },
    end: () => client.end().catch(() => {}),
  };
}

async function connectMysql(uri: string): Promise<Direct> {
  const connection = await createConnection({ uri, decimalNumbers: true });
  connection.on("error", () => {});
  return {
    async sql<Row>(text: string, ...params: Param[]) {
      const [rows] = await connection.query(text, params);
      return rows as Row[];
    },
    end: async () => connection.destroy(),
  };
}

/** A transaction of the application, on its own connection. */
export interface Begun {
  /** As `within()` takes it. */
  connection: object;
  sql(text: string): Promise<unknown>;
  commit(): Promise<void>;
}

export async function begin(kind: ServerKind, url: string, level: string): Promise<Begun> {
  const isolate = `set transaction isolation level ${level}`;
  if (kind === "postgres") {
    const connection = new pg.Client({ connectionString: url });
    connection.on("error", () => {});
    await connection.connect();
    await connection.query(`begin; ${isolate}`);
    const commit = async () => {
      await connection.query("commit");
      await connection.end();
    };
    return { connection, commit, sql: (text) => connection.query(text) };
  }
  const connection = await createConnection({ uri: url });
  await connection.query(isolate);
  await connection.beginTransaction();
  const commit = async () => {
    await connection.commit();
    await connection.end();
  };
  return { connection, commit, sql: (text) => connection.query(text) };
}

/** The server's time in milliseconds, whatever the session's zone. */
export const NOW: Record<ServerKind, string> = {
  postgres: "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
  mariadb: "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 as now",
  mysql: "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 as now",
};
