import pg from "pg";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import { postgresParts } from "../../src/store/postgres/open.ts";
import { eventually } from "../support/eventually.ts";
import { exercise } from "./groups/exercise.ts";
import { fresh } from "./support/fresh.ts";
import { postgres } from "./support/postgres-database.ts";
import {
  beat,
  claim,
  claimRequest,
  define,
  exchange,
  finish,
  found,
  insert,
  newRun,
} from "./support/requests.ts";
import { selected } from "./support/stores.ts";

if (selected.includes(postgres)) {
  exercise(postgres);
  describe("only PostgreSQL", onlyPostgres);
} else test.todo("PostgreSQL is not selected");

function onlyPostgres(): void {
  const at = fresh(postgres);

  test("a session without the prepared statements, as behind a pooler, prepares them again", async () => {
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

  test("a read that its session has forgotten is prepared again", async () => {
    const url = new URL(at.url);
    url.searchParams.set("pool", "1");
    const parts = await postgresParts(url.href, { clock: at.clock, prefix: "punctual_" });
    const read = () => parts.db.read("select cast(? as text) as word", "it's");
    for (let times = 0; times < 5; times++) expect(await read()).toEqual([{ word: "it's" }]);
    await parts.db.run("deallocate all");
    for (let times = 0; times < 5; times++) expect(await read()).toEqual([{ word: "it's" }]);
    await parts.close();
  });

  test("a claim reads no job that is not paused, also before the statistics know the jobs", async () => {
    await at.stopCounting();
    await define(
      at.store,
      Array.from({ length: 3000 }, (_, n) => ({ name: `job-${n}` })),
    );
    await at.store.pauseJob("job-7", true);
    const plans = await at.plans(async (store) => {
      expect((await exchange(store, { claim: claimRequest() })).paused?.jobs).toEqual(["job-7"]);
    });
    const facts = plans.filter(({ statement }) => statement.startsWith("select 'job' as kind"));
    expect(facts).toHaveLength(1);
    // A scan reads all of them; earlier tests may have left entries of deleted rows in the index.
    expect(facts[0]!.read).toBeLessThan(1000);
  });

  test("notifications tell every worker of changes, and some of runs", async () => {
    const client = new pg.Client(at.url);
    const payloads: (string | undefined)[] = [];
    await client.connect();
    client.on("notification", ({ payload }) => payloads.push(payload));
    await client.query('listen "punctual_runs"');
    const until = (count: number) => eventually("the notification", () => payloads.length === count);
    const [id] = await insert(at.store, {}, {}, {});
    await until(1);
    await at.store.cancel(id!, null);
    await until(2);
    const caller = await at.begin();
    await at.store.insert([newRun(), newRun()], caller.tx);
    await caller.commit();
    await until(3);
    expect(payloads).toEqual(["3", "", "2"]);
    await client.end();
  });

  test("a key that an open transaction holds delays only dispatches with that key", async () => {
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

  test("a worker with old code that syncs during the rename does not bring the old name back", async () => {
    const [oldStore, newStore] = [await at.another(), await at.another()];
    const OLD = { worker: "old code", startedAt: 1_000_000 };
    const NEW = { worker: "new code", startedAt: 2_000_000 };
    for (const { worker, startedAt } of [OLD, NEW]) await beat(at.store, worker, { startedAt });
    const withOld = () => define(oldStore, [{ name: "old" }], OLD);
    await withOld();
    const waiting = async (count: number) => {
      const found = await at.sql(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return found.length === count;
    };
    const holder = await at.begin();
    await (holder.tx as pg.Client).query("select 1 from punctual_jobs where name = 'old' for update");
    const renamed = define(newStore, [{ name: "new", formerly: ["old"] }], NEW);
    await eventually("the rename to wait", () => waiting(1));
    const shown = withOld();
    await eventually("the old code to wait", () => waiting(2));
    await holder.commit();
    await Promise.all([renamed, shown]);
    expect(await at.store.jobNames()).toEqual(["new"]);
  });

  test("tables in a schema that the URL names", async () => {
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
