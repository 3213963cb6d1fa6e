import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { toFirstSchema } from "../support/first-schema.ts";
import { emptyPostgres } from "./support/postgres.ts";
import { project, run } from "./support/punctual.ts";

interface Place {
  url: string;
  sql(text: string): Promise<unknown>;
  /** As the remedy prints it. */
  indexCure: RegExp;
}

const places: Record<string, (cwd: string) => Promise<Place>> = {
  async sqlite(cwd) {
    const file = join(cwd, "jobs.db");
    const sql = async (text: string) => {
      const db = new DatabaseSync(file);
      db.exec(text);
      db.close();
    };
    return { url: `sqlite:${file}`, sql, indexCure: /^create index punctual_runs_scheduled on / };
  },
  async postgres() {
    return {
      ...(await emptyPostgres()),
      indexCure: /^create index concurrently punctual_runs_scheduled on /,
    };
  },
};

describe.each(Object.keys(places))("doctor --fix on %s", (kind) => {
  const setUp = async () => {
    const cwd = project();
    const place = await places[kind]!(cwd);
    const call = (...args: string[]) => run(["doctor", "--db", place.url, ...args], { cwd });
    const jobs = new Punctual(place.url, { logger: false });
    onTestFinished(() => jobs.stop());
    return { ...place, cwd, call, jobs };
  };

  test("installs, and reports it once", async () => {
    const { call, jobs } = await setUp();
    const refused = await call("--fix");
    expect(refused).toMatchObject({ code: 7, stdout: "" });
    expect(refused.stderr).toContain("Install the tables? There is no terminal to confirm on; pass --yes.");
    const { code, stdout } = await call("--fix", "--yes");
    expect(stdout).toMatch(/^fixed: installed schema \d+$/m);
    expect(stdout).toMatch(/^\S+ schema \d+, nothing missing$/m);
    expect(code).toBe(0);
    const again = await call("--fix", "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({ fixed: [], errors: 0 });
    expect(again.code).toBe(0);
    expect((await jobs.inspect()).missing).toEqual([]);
  });

  test("migrates an old schema and keeps its data", async () => {
    const { call, jobs, sql } = await setUp();
    await jobs.install();
    jobs.declare("task");
    const run = await jobs.dispatch("task");
    for (const statement of toFirstSchema(kind as "sqlite" | "postgres")) await sql(statement);
    const found = await call();
    expect(found.stdout).toMatch(/schema 1, \d+ is needed {2}\S+ punctual install/);
    expect(found.code).toBe(5);
    expect((await call("--fix")).stderr).toMatch(/Bring the tables to schema \d+\? There is no terminal/);
    const { code, stdout } = await call("--fix", "--yes");
    expect(stdout).toMatch(/^fixed: installed schema \d+$/m);
    expect(stdout).toMatch(/^\S+ schema \d+, nothing missing$/m);
    expect(code).toBe(0);
    expect(await run.state()).toBe("ready");
  });

  test("creates missing objects, reaps the runs of dead workers, and deletes these workers", async () => {
    const { call, jobs, sql, indexCure } = await setUp();
    await jobs.install();
    jobs.declare("task");
    const lost = await jobs.dispatch("task");
    const kept = await jobs.dispatch("task");
    await sql(
      `insert into punctual_workers (id, host, pid, parallel, started_at, seen_at) values ('gone', 'h', 1, 5, 0, 0)`,
    );
    await sql(
      `update punctual_runs set state = 2, attempts = 1, started_at = 900, lease_token = 't', locked_until = 1000, locked_by = 'gone' where id = ${lost.id}`,
    );
    await sql("drop index punctual_runs_scheduled");
    await sql("drop view punctual_failed");

    const found = JSON.parse((await call("--check", "--json")).stdout);
    const cures = found.checks.map(({ cure }: { cure: string }) => cure);
    expect(cures).toContainEqual(expect.stringMatching(indexCure));
    expect(found.fixed).toBeUndefined();
    expect((await call("--fix", "--check")).stderr).toContain(
      "Create punctual_runs_scheduled, create punctual_failed, reap 1 run of dead workers, delete 1 row of dead workers?",
    );
    expect(await lost.state()).toBe("running");

    const { code, stdout } = await call("--fix", "--check", "--json", "--yes");
    const { fixed, checks } = JSON.parse(stdout);
    expect(fixed).toEqual([
      "created punctual_runs_scheduled",
      "created punctual_failed",
      "reaped 1 run of dead workers",
      "deleted 1 row of dead workers",
    ]);
    expect(checks.map(({ text, cure }: { text: string; cure: string }) => [text, cure])).toEqual([
      [expect.stringContaining("no jobs"), expect.any(String)],
      ["no worker is alive, with 2 runs due", "punctual work"],
    ]);
    expect(code).toBe(4);
    expect(await jobs.inspect()).toMatchObject({ missing: [], expired: { count: 0 }, deadWorkers: 0 });
    expect([await lost.state(), await kept.state()]).toEqual(["ready", "ready"]);
    expect(await jobs.attempts(lost.id)).toMatchObject([{ outcome: "crashed" }]);
  });

  test("does not create a dropped table, and names the remedy", async () => {
    const { call, jobs, sql } = await setUp();
    await jobs.install();
    await jobs.stop();
    await sql("drop table punctual_minutes");
    await sql("drop view punctual_failed");
    const { code, stdout } = await call("--fix", "--yes");
    expect(stdout).not.toContain("fixed:");
    expect(stdout).toMatch(/punctual_minutes is missing\s+\S+ create table punctual_minutes/);
    expect(code).not.toBe(0);
  });

  test("reports an object that cannot be created, with its remedy", async () => {
    const { call, jobs, sql } = await setUp();
    await jobs.install();
    jobs.declare("task");
    await jobs.dispatch("task");
    await jobs.dispatch("task");
    await sql("drop index punctual_runs_unique");
    await sql("update punctual_runs set unique_key = 'twice'");
    const { stdout, stderr } = await call("--fix", "--yes", "--json");
    expect(stderr).toContain("punctual_runs_unique could not be created: ");
    const { fixed, checks } = JSON.parse(stdout);
    expect(fixed).toEqual([]);
    const texts = checks.map(({ text }: { text: string }) => text);
    expect(texts).toContain("punctual_runs_unique is missing");
  });
});

test("creates a missing SQLite file", async () => {
  const cwd = project();
  const { stdout } = await run(["doctor", "--fix", "--yes", "--db", "sqlite:./jobs.db"], { cwd });
  expect(stdout).toMatch(/^fixed: installed schema \d+$/m);
  expect(existsSync(join(cwd, "jobs.db"))).toBe(true);
});

test("cannot fix a database that does not answer", async () => {
  const { code, stdout } = await run(["doctor", "--fix", "--db", "postgres://nobody@127.0.0.1:1/none"]);
  expect(stdout).toContain("ECONNREFUSED");
  expect(code).toBe(5);
});
