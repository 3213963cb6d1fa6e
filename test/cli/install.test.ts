import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { emptyPostgres } from "./support/postgres.ts";
import { project, run } from "./support/punctual.ts";

const db = "--db=sqlite:./jobs.db";

test("creates the tables once", async () => {
  const cwd = project();
  const missing = await run(["install", "--check", db], { cwd });
  expect(missing.code).toBe(5);
  expect(missing.stderr).toContain("Run: punctual install");
  const dry = await run(["install", "--dry-run", db], { cwd });
  expect(dry.stdout).toContain("create table");
  expect(existsSync(join(cwd, "jobs.db"))).toBe(false);
  const first = await run(["install", db], { cwd });
  expect(first.code).toBe(0);
  expect(first.stderr).toContain("schema 0 →");
  const again = await run(["install", db], { cwd });
  expect(again.stderr).toContain("nothing to do");
  expect((await run(["install", "--check", db], { cwd })).code).toBe(0);
});

test("prints one JSON document with --json", async () => {
  const { code, stdout } = await run(["install", "--json", db]);
  expect(code).toBe(0);
  expect(Object.keys(JSON.parse(stdout))).toEqual(["v", "from", "to", "statements"]);
});

describe("--schema", () => {
  const schemas = "select table_schema from information_schema.tables where table_name = 'punctual_runs'";

  test("creates the schema and its tables, whatever the URL says, and explains how to name it", async () => {
    const { url, sql } = await emptyPostgres();
    const other = `${url}?schema=other&application_name=me`;
    const dry = await run(["install", "--schema", "my-jobs", "--dry-run", "--db", other]);
    expect(dry.stdout).toContain('create schema "my-jobs"');
    expect(dry.stdout).toContain('create table "my-jobs".punctual_runs (');
    expect(await sql(schemas)).toEqual([]);
    const missing = await run(["install", "--schema", "my-jobs", "--check", "--db", other]);
    expect(missing).toMatchObject({ code: 5, stdout: "" });
    expect(missing.stderr).toContain("Run: punctual install --schema my-jobs");
    const first = await run(["install", "--schema", "my-jobs", "--db", other]);
    expect(first.stderr).toMatch(/^Add this schema to the URL in --db: postgres:\/\/\S+\?…&schema=my-jobs$/m);
    expect(first.code).toBe(0);
    expect(await sql(schemas)).toEqual([{ table_schema: "my-jobs" }]);
    const named = await run(["install", "--schema", "my-jobs", "--db", `${url}?schema=my-jobs`]);
    expect(named.stderr).toMatch(/^schema \d+: nothing to do\n$/);
    await sql('drop index "my-jobs".punctual_runs_scheduled');
    const repaired = await run(["doctor", "--fix", "--yes", "--db", `${url}?schema=my-jobs`]);
    expect(repaired.stdout).toContain("fixed: created punctual_runs_scheduled");
    expect(await sql(schemas)).toEqual([{ table_schema: "my-jobs" }]);
  });

  test("works for the database that the job files open, with their prefix", async () => {
    const { url, sql } = await emptyPostgres();
    const cwd = project({
      "jobs/one.ts": `
        import { Punctual } from "punctual";
        new Punctual(${JSON.stringify(url)}, { prefix: "shop_" }).schedule("one", () => {});
      `,
    });
    const { code, stderr } = await run(["install", "--schema", "jobs"], { cwd });
    expect(stderr).toMatch(/^Add this schema to the URL in jobs\/one\.ts:\d+: \S+\?schema=jobs$/m);
    expect(code).toBe(0);
    expect(await sql(schemas.replace("punctual_runs", "shop_runs"))).toEqual([{ table_schema: "jobs" }]);
  });

  test.each([
    ["sqlite:./jobs.db", "jobs", "SQLite has no schemas"],
    ["mysql://root@127.0.0.1:1/shop", "jobs", "a schema is a database there"],
    ["mariadb://root@127.0.0.1:1/shop", "jobs", "a schema is a database there"],
    ["postgres://root@127.0.0.1:1/shop", "a.b", 'got "a.b"'],
    ["postgres://root@127.0.0.1:1/shop", 'a"b', "Expected a PostgreSQL schema name"],
    ["postgres://root@127.0.0.1:1/shop", "a$$b", "Expected a PostgreSQL schema name"],
    ["postgres://root@127.0.0.1:1/shop", "", 'got ""'],
  ])("%s refuses %j", async (url, schema, message) => {
    const cwd = project();
    const { code, stdout, stderr } = await run(["install", "--schema", schema, "--db", url], { cwd });
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([2, ""]);
    expect(existsSync(join(cwd, "jobs.db"))).toBe(false);
  });
});
