import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import mysql from "mysql2/promise";
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { askVersion } from "./ask-version.ts";
import { findServer } from "./find.ts";
import { type ServerKind, serverKinds } from "./server.ts";
import { startServer, type TestServer } from "./start.ts";

const found = serverKinds.filter((kind) => findServer(kind));

async function query(kind: ServerKind, url: string, text: string): Promise<unknown> {
  if (kind === "postgres") {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query(text);
    await client.end();
    return rows;
  }
  const connection = await mysql.createConnection({ uri: url });
  const [rows] = await connection.query(text);
  await connection.end();
  return rows;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

if (found.length === 0) test.todo("no database server is installed here");

describe.each(found)("a server of our own: %s", (kind) => {
  let server: TestServer | undefined;
  afterEach(() => server?.stop());

  test("keeps committed data when it is killed, and restarts on the same port", async () => {
    server = await startServer(kind);
    const { pid, url, dataDir } = server;
    expect(server.version).toBe(findServer(kind)!.version);
    await query(kind, url, "create table t (n integer)");
    await query(kind, url, "insert into t values (1)");
    await server.kill();
    expect(isAlive(pid)).toBe(false);
    await expect(askVersion(kind, url)).rejects.toThrow();
    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect(await query(kind, url, "select n from t")).toEqual([{ n: 1 }]);
    await server.restart();
    expect(await query(kind, url, "select n from t")).toEqual([{ n: 1 }]);
    await server.stop();
    expect(isAlive(server.pid)).toBe(false);
    expect(existsSync(dataDir)).toBe(false);
  });

  test("reports why it does not start", async () => {
    const wrong = kind === "postgres" ? ["-c", "no_such=1"] : ["--no-such-option"];
    await expect(startServer(kind, { args: wrong })).rejects.toThrow(/ended at once.*no.such/s);
  });

  test("does not outlive the process that started it", async () => {
    const script = fileURLToPath(new URL("holder.ts", import.meta.url));
    const child = spawn(process.execPath, [script, kind], { stdio: ["ignore", "pipe", "inherit"] });
    const [said] = await once(child.stdout, "data");
    const { pid, dataDir } = JSON.parse(String(said));
    expect(isAlive(pid)).toBe(true);
    child.kill("SIGKILL");
    // No process is left to report the end.
    while (isAlive(pid) || existsSync(dataDir)) await sleep(10);
  });
});
