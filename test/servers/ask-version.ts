import { createConnection } from "mysql2/promise";
import pg from "pg";
import { versionIn } from "./programs.ts";
import type { ServerKind } from "./server.ts";

/** Connects once and reads the version; throws while the server does not answer yet. */
export async function askVersion(kind: ServerKind, url: string): Promise<string> {
  const text = kind === "postgres" ? await askPostgres(url) : await askMysql(url);
  if (kind !== "postgres" && text.includes("MariaDB") !== (kind === "mariadb")) {
    throw new Error(`${new URL(url).host} was taken for ${kind}, but says that it is ${text}.`);
  }
  return versionIn(text) ?? text;
}

async function askPostgres(connectionString: string): Promise<string> {
  const client = new pg.Client({ connectionString });
  // The server may stop meanwhile.
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>("select version()");
    return rows[0]!.version;
  } finally {
    await client.end().catch(() => {});
  }
}

async function askMysql(uri: string): Promise<string> {
  const connection = await createConnection({ uri });
  connection.on("error", () => {});
  try {
    const [rows] = await connection.query("select version() as version");
    return (rows as { version: string }[])[0]!.version;
  } finally {
    connection.destroy();
  }
}
