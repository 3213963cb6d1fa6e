import mysql from "mysql2";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { fresh } from "./support/fresh.ts";
import { selected } from "./support/stores.ts";

type Rewrite = (text: string) => string;

/** A pool on the real server that changes statements, as an engine does that ignores them. */
function pool(url: string, rewrite: Rewrite): object {
  return url.startsWith("postgres") ? postgresPool(url, rewrite) : mysqlPool(url, rewrite);
}

function rewritten(query: unknown, key: "text" | "sql", rewrite: Rewrite): unknown {
  if (typeof query === "string") return rewrite(query);
  const statement = query as Record<"text" | "sql", string>;
  statement[key] = rewrite(statement[key]);
  return statement;
}

function postgresPool(url: string, rewrite: Rewrite): object {
  class Engine extends pg.Client {
    override query(...args: unknown[]): never {
      const [query, ...rest] = args;
      return super.query(rewritten(query, "text", rewrite) as string, ...(rest as [])) as never;
    }
  }
  const made = new pg.Pool({ connectionString: url, Client: Engine } as pg.PoolConfig);
  onTestFinished(() => made.end());
  return made;
}

function mysqlPool(url: string, rewrite: Rewrite): object {
  const made = mysql.createPool({ uri: url.replace(/^mariadb:/, "mysql:"), connectionLimit: 5 });
  made.on("connection", (connection) => {
    for (const method of ["query", "execute"] as const) {
      const send = (connection[method] as (...args: unknown[]) => unknown).bind(connection);
      Object.assign(connection, {
        [method]: (query: unknown, ...rest: unknown[]) => send(rewritten(query, "sql", rewrite), ...rest),
      });
    }
  });
  onTestFinished(() => made.promise().end());
  return made;
}

const servers = selected.filter(({ name }) => name !== "sqlite");

if (servers.length === 0) test.todo("no server is selected");

describe.each(servers)("the engine of $name", (database) => {
  const at = fresh(database);

  const open = (rewrite: Rewrite) => {
    const jobs = new Punctual(pool(at.url, rewrite), { logger: false });
    onTestFinished(() => jobs.stop());
    return jobs;
  };

  test("is safe, and the probe leaves nothing behind, even if several processes probe at once", async () => {
    const jobs = open((text) => text);
    await Promise.all([jobs.install(), jobs.install(), open((text) => text).install()]);
    expect((await jobs.inspect()).unsafe).toBeNull();
    expect(await at.sql("select id from punctual_receipts")).toEqual([]);
  });

  test.each<[string, Rewrite, string]>([
    [
      "does not lock",
      (text) => text.replace(/ for update( of \w+)?( skip locked)?/g, ""),
      "returns a row that another transaction has locked",
    ],
    [
      "locks, and does not skip what is locked",
      (text) => text.replace(" for update skip locked", ""),
      "returns a row that another transaction has locked",
    ],
    [
      "reads a snapshot at read committed",
      (text) => text.replace("read committed", "repeatable read"),
      "does not see rows that others commit meanwhile",
    ],
  ])("that %s is refused by install(), and doctor reports it", async (_, rewrite, reason) => {
    const jobs = open(rewrite);
    const refusal = { code: "ENGINE_UNSAFE", message: expect.stringContaining(reason) };
    await expect(jobs.install()).rejects.toMatchObject(refusal);
    await expect(jobs.install()).rejects.toMatchObject(refusal);
    expect((await jobs.inspect()).unsafe).toContain(reason);
    expect(await at.sql("select id from punctual_receipts")).toEqual([]);
    expect((await jobs.install({ dryRun: true })).statements).toEqual([]);
  });

  test("that waits instead of skipping locked rows is refused", async () => {
    const jobs = open((text) => text.replace(" for update skip locked", " for update"));
    await expect(jobs.install()).rejects.toMatchObject({
      code: "ENGINE_UNSAFE",
      message: expect.stringContaining("waits for a row that another transaction has locked"),
    });
  });

  test.each([
    ["TiDB", "8.0.11-TiDB-v8.5.6"],
    ["CockroachDB", "CockroachDB CCL v26.3.1 (x86_64-pc-linux-gnu)"],
  ])("that says it is %s is refused when it is opened", async (name, version) => {
    await open((text) => text).install();
    const jobs = open((text) => text.replace("version() as", `'${version}' as`));
    const refusal = { code: "ENGINE_UNSAFE", message: expect.stringContaining(`because ${name}`) };
    await expect(jobs.define("job", () => {}).dispatch()).rejects.toMatchObject(refusal);
    await expect(jobs.install()).rejects.toMatchObject(refusal);
  });

  test("cannot be probed with one connection, which is not reported as a fault", async () => {
    const url = new URL(at.url);
    url.searchParams.set("pool", "1");
    const jobs = new Punctual(url.href, { logger: false });
    onTestFinished(() => jobs.stop());
    await jobs.install();
    expect((await jobs.inspect()).unsafe).toBeNull();
  });
});

const postgres = servers.filter(({ name }) => name === "postgres");

describe.each(postgres)("dead rows on $name", (database) => {
  const at = fresh(database);

  test("are reported, with the last vacuum and the oldest transaction", async () => {
    const clean = (await at.store.inspect()).vacuum!;
    expect(clean.tables.map(({ name }) => name)).toContain("punctual_runs");
    expect(clean.enabled).toBe(true);
    expect(clean.tables.every(({ name, enabled }) => enabled && name.startsWith("punctual_"))).toBe(true);
    await at.sql("alter table punctual_minutes set (autovacuum_enabled = false)");
    const old = await at.begin("repeatable read");
    await (old.tx as pg.Client).query("select count(*) from punctual_minutes");
    await at.sql(
      `insert into punctual_minutes (minute, name) select n, 'job' from ${at.series(12_000)} as numbers`,
    );
    await at.sql("delete from punctual_minutes");
    await at.sql("select pg_stat_force_next_flush()");
    await expect
      .poll(
        async () => (await at.store.inspect()).vacuum!.tables.find(({ name }) => name === "punctual_minutes"),
        {
          timeout: 20_000,
        },
      )
      .toEqual({ name: "punctual_minutes", live: 0, dead: 12_000, vacuumedAt: null, enabled: false });
    const { oldest } = (await at.store.inspect()).vacuum!;
    expect(oldest).toMatchObject({ pid: expect.any(Number), program: expect.any(String) });
    expect(oldest!.since).toBeGreaterThan(Date.UTC(2026, 0));
    await old.rollback();
  });
});
