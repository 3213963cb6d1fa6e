import { describe, expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { tablesWith } from "../../../src/store/sql/database.ts";
import { fresh } from "../support/fresh.ts";
import { minutely, tick } from "../support/minutely.ts";
import {
  beat,
  cap,
  claim,
  define,
  found,
  insertOne,
  list,
  newRun,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** More often than a database needs before it keeps a statement prepared. */
const ROUNDS = 6;

export function migratedMeanwhile(database: Database): void {
  describe("a schema that is migrated under a running process", () => {
    const at = fresh(database, "once");

    /** As a later version would: a column with a default in each table, and one more index. */
    async function addColumns(): Promise<void> {
      const { prefix, ...tables } = tablesWith("punctual_");
      const isServer = database.name !== "sqlite";
      const only = (table: string) => ["gates", "receipts", "ids"].some((name) => table === prefix + name);
      for (const table of Object.values(tables)) {
        if (only(table) && (!isServer || (table === tables.ids && database.name === "postgres"))) continue;
        await at.sql(`alter table ${table} add column later integer not null default 7`);
      }
      await at.sql(`create index ${prefix}runs_later on ${tables.runs} (later)`);
    }

    test("a worker continues to tick, dispatch, run and retry", async () => {
      const jobs = new Punctual(at.url, { clock: at.clock, logger: false });
      onTestFinished(() => jobs.stop());
      const errors: unknown[] = [];
      jobs.on("error", (event) => errors.push(event));
      const ran = { ticked: 0, dispatched: 0, tried: 0 };
      jobs.schedule("ticked", () => void ran.ticked++).everyMinute();
      const dispatched = jobs.schedule("dispatched", () => void ran.dispatched++);
      const flaky = jobs
        .schedule("flaky", (_, run) => {
          ran.tried++;
          if (run.attempt === 1) throw new Error("once more");
        })
        .retries(1);
      const work = async () => {
        await dispatched.dispatch();
        // Every second round the run is retried.
        await flaky.dispatch().unique("flaky");
        await at.clock.advance(60);
        while ((await jobs.run()) > 0);
        await jobs.status();
      };
      // From here on the schedule is synced.
      await jobs.run();
      for (const _ of times(ROUNDS, () => 0)) await work();
      await addColumns();
      for (const _ of times(ROUNDS, () => 0)) await work();
      expect(errors).toEqual([]);
      expect(ran).toEqual({ ticked: 2 * ROUNDS, dispatched: 2 * ROUNDS, tried: 2 * ROUNDS });
    });

    test("every call of the store continues to work", async () => {
      const { store, clock } = at;
      const everything = async (round: number) => {
        await beat(store, "w1");
        await define(
          store,
          [
            { name: "minutely", schedules: [minutely()] },
            { name: "job", limit: 2 },
          ],
          {
            queues: [{ name: "small", limit: 5 }],
          },
        );
        const unique = { key: `key ${round}`, until: "finished", for: 1000 } as const;
        await store.insert([newRun({ name: "free", unique }), newRun(), newRun({ name: "free" })]);
        expect((await store.insert([newRun({ unique })]))[0]!.inserted).toBe(false);
        await clock.advance(60);
        expect((await tick(store)).ticked).toHaveLength(1);
        const runs = await claim(store);
        expect(runs).toHaveLength(4);
        const [first, second, third, fourth] = runs as [(typeof runs)[0], ...typeof runs];
        expect(await settle(store, first, "completed")).toBe(true);
        expect(await settle(store, second!, "retried", { error: "why" })).toBe(true);
        expect(await settle(store, third!, "failed", { error: "why", keep: 0 })).toBe(true);
        await store.renew("w1", [{ ...fourth!, lease: 1000 }]);
        await clock.advance(2);
        expect(await store.reap(10, cap(1), "crashed", null)).toHaveLength(1);
        await store.revive(fourth!.id);
        await store.cancel(fourth!.id, null);
        await store.cancel(second!.id, null);
        const id = await insertOne(store, { delay: 1000 });
        expect(await store.waitFacts(id)).not.toBeNull();
        await store.pauseJob("job", round % 2 === 0);
        await store.pauseJob("job", false);
        await store.pauseQueue("small", false, null);
        await store.remove(id);
        await store.attempts(first.id);
        await store.status();
        await store.schedules();
        await store.prune({ finishedFor: 0, jobsUnseenFor: null, orphansOlderThan: null, batch: 100 });
        expect((await found(store, second!.id).catch(() => null))?.state).not.toBe("running");
        expect(await list(store, { states: ["ready", "running"] })).toEqual([]);
      };
      for (const round of times(ROUNDS, (n) => n)) await everything(round);
      await addColumns();
      for (const round of times(2, (n) => ROUNDS + n)) await everything(round);
    });
  });
}
