import pg from "pg";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import { exercise } from "./exercise.ts";
import { fresh } from "./fresh.ts";
import { postgres } from "./postgres-database.ts";
import { claim, finish, found, insert, newRun } from "./requests.ts";
import { selected } from "./stores.ts";

if (selected.includes(postgres)) {
  exercise(postgres);
  describe("only PostgreSQL", onlyPostgres);
} else test.todo("PostgreSQL is not selected");

function onlyPostgres(): void {
  const at = fresh(postgres);

  test("a session that has forgotten the prepared statements, as behind a pooler, is no hindrance", async () => {
    const pool = new pg.Pool({ connectionString: at.url, max: 1 });
    const store = await openStore(pool, { clock: at.clock, prefix: "punctual_" });
    const work = async () => {
      for (let round = 0; round < 5; round++) {
        const id = await finish(store, "completed");
        expect((await found(store, id)).state).toBe("completed");
      }
    };
    await work();
    const { rows } = await pool.query("select count(*)::int as n from pg_prepared_statements");
    expect(rows[0].n).toBeGreaterThan(5);
    await pool.query("deallocate all");
    await work();
    await store.close();
    await pool.end();
  });

  test("a key that an open transaction holds keeps only those waiting who ask for it", async () => {
    const caller = await at.begin();
    const unique = { key: "held", until: "finished" as const, for: 0 };
    await at.store.insert([newRun({ unique })], caller.tx);
    const jobs = new Punctual(at.url, { logger: false });
    jobs.declare("job");
    const asking = jobs.dispatch("job").unique("held");
    const free = await jobs.dispatch("job");
    expect(free.inserted).toBe(true);
    await caller.commit();
    expect(await asking).toMatchObject({ inserted: false });
    await jobs.stop();
  });

  test("tables of a schema of their own, named in the URL", async () => {
    await at.sql("create schema jobs");
    const url = new URL(at.url);
    url.searchParams.set("schema", "jobs");
    const store = await openStore(url.href, { clock: at.clock, prefix: "punctual_" });
    await store.install();
    await insert(store, {}, {});
    expect(await at.sql("select 1 from jobs.punctual_runs")).toHaveLength(2);
    expect(await at.sql("select 1 from public.punctual_runs")).toHaveLength(0);
    expect(await claim(store)).toHaveLength(2);
    await store.close();
  });
}
