import { DatabaseSync } from "node:sqlite";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import type { ServerKind } from "../../servers/server.ts";

/** A connection of the campaign's own, beside those of the fleet. */
export interface Access {
  all<Row>(text: string): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openFileAccess(file: string): Promise<Access> {
  const db = new DatabaseSync(file, { timeout: 30_000 });
  return {
    all: async <Row>(text: string) => db.prepare(text).all() as Row[],
    close: async () => db.close(),
  };
}

/** Connects to a server, or to the first one that answers. */
export async function openServerAccess(kind: ServerKind, ...urls: string[]): Promise<Access> {
  const connect = kind === "postgres" ? connectPostgres : connectMysql;
  const [url, ...others] = urls as [string, ...string[]];
  return connect(url).catch((error) => {
    if (others.length === 0) throw error;
    return openServerAccess(kind, ...others);
  });
}

async function connectPostgres(url: string): Promise<Access> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // The server may be killed meanwhile.
  client.on("error", () => {});
  await client.connect();
  return {
    all: async <Row>(text: string) => (await client.query(text)).rows as Row[],
    close: () => client.end().catch(() => {}),
  };
}

async function connectMysql(url: string): Promise<Access> {
  const connection = await createConnection(url.replace(/^mariadb:/, "mysql:"));
  connection.on("error", () => {});
  return {
    async all<Row>(text: string) {
      const [rows] = await connection.query(text);
      return (Array.isArray(rows) ? rows : []) as Row[];
    },
    close: async () => connection.destroy(),
  };
}
