import mysql from "mysql2/promise";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { fresh } from "./support/fresh.ts";
import { selected } from "./support/stores.ts";

interface Connection {
  query(text: string): Promise<unknown>;
  end(): Promise<void>;
}

async function connect(url: string): Promise<Connection> {
  if (!url.startsWith("postgres")) return mysql.createConnection({ uri: url });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

const servers = selected.filter(({ name }) => name !== "sqlite");

if (servers.length === 0) test.todo("no server is selected");

describe.each(servers)("$name with few connections", (database) => {
  const at = fresh(database);

  test("a pool of one connection is enough for a handler's transaction that dispatches", async () => {
    const url = new URL(at.url);
    url.searchParams.set("pool", "1");
    const jobs = new Punctual(url.href, { logger: false });
    jobs.schedule("child", () => {});
    const parent = jobs.schedule("parent", async (_args: object, run) => {
      await run.transaction<unknown>(async (tx) => {
        await jobs.dispatch("child").within(tx);
      });
    });
    await parent.dispatch({});
    expect(await jobs.run()).toBe(2);
    const { runs } = await jobs.runs();
    expect(runs.map(({ name, state }) => [name, state])).toEqual([
      ["child", "completed"],
      ["parent", "completed"],
    ]);
    await jobs.stop();
  });

  test("handlers with transactions take turns if they outnumber the connections", async () => {
    const url = new URL(at.url);
    url.searchParams.set("pool", "3");
    const jobs = new Punctual(url.href, { logger: false });
    const job = jobs.schedule("job", async (_args: object, run) => run.transaction(async () => {}));
    job.concurrency(0);
    await job.dispatchMany(Array.from({ length: 20 }, () => ({})));
    expect(await jobs.run({ parallel: 20 })).toBe(20);
    await jobs.stop();
  });

  test("a caller's only connection can dispatch inside a transaction on it", async () => {
    const connection = await connect(at.url);
    const jobs = new Punctual(connection, { logger: false });
    jobs.schedule("job", () => {});
    await connection.query("begin");
    const undone = await jobs.dispatch("job").within(connection);
    await connection.query("rollback");
    expect(await jobs.find(undone.id)).toBeNull();
    await connection.query("begin");
    const done = await jobs.dispatch("job").within(connection);
    await connection.query("commit");
    expect(await jobs.find(done.id)).toMatchObject({ state: "ready" });
    expect(await jobs.run()).toBe(1);
    await jobs.stop();
    await connection.end();
  });

  test("a second install() runs no statement", async () => {
    const jobs = new Punctual(at.url, { logger: false });
    expect(await jobs.install()).toMatchObject({ statements: [] });
    await jobs.stop();
  });
});
