import { randomBytes } from "node:crypto";
import pg from "pg";
import { onTestFinished } from "vitest";
import { sharedServer } from "../../servers/shared.ts";

/** An empty database, dropped after the test. */
export async function emptyPostgres(): Promise<{ url: string; sql: (text: string) => Promise<object[]> }> {
  const server = (await sharedServer("postgres")).url;
  const name = `cli_${randomBytes(8).toString("hex")}`;
  await query(server, `create database ${name}`);
  onTestFinished(async () => void (await query(server, `drop database ${name} with (force)`)));
  const url = new URL(server);
  url.pathname = name;
  return { url: url.href, sql: (text) => query(url.href, text) };
}

async function query(url: string, text: string): Promise<object[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(text).finally(() => client.end());
  return rows as object[];
}
