import { describe, expect, test } from "vitest";
import { WORKER_DEAD_AFTER } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  claim,
  DECLARED,
  define,
  ids,
  insert,
  insertOne,
  names,
  newRun,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function jobs(database: Database): void {
  describe("jobs", () => {
    const at = fresh(database);
    const seenAt = async (name: string) =>
      (await at.store.status()).jobs.find((job) => job.name === name)?.seenAt;

    test("have all their settings in the database once a worker has synced them", async () => {
      const job = {
        name: "job",
        queue: "images",
        priority: -3,
        limit: 4,
        keyLimit: 2,
        rates: null,
        cron: "0 * * * * *",
        fingerprint: "code",
      };
      await define(at.store, [job]);
      expect(await at.store.job("job")).toEqual(job);
      expect(await at.store.job("other")).toBeNull();
      expect(await at.store.jobNames()).toEqual(["job"]);
    });

    test("are synced 5,000 at once, and again", async () => {
      const all = times(5000, (n) => ({ name: `job-${n}`, priority: n, fingerprint: "code" }));
      await define(at.store, all, { startedAt: 1 });
      await at.clock.advance(5);
      await define(at.store, all, { startedAt: 1 });
      expect((await at.store.jobNames()).sort()).toEqual(all.map(({ name }) => name).sort());
      expect((await at.store.job("job-4999"))?.priority).toBe(4999);
      expect(await seenAt("job-4999")).toBe(at.clock.now());
    });

    test("that are synced again count as seen", async () => {
      await define(at.store, [{ name: "job", fingerprint: "code" }], { startedAt: 1 });
      const first = at.clock.now();
      expect(await seenAt("job")).toBe(first);
      await at.clock.advance(30);
      expect(await seenAt("job")).toBe(first);
      await define(at.store, [{ name: "job", fingerprint: "code" }], { startedAt: 1 });
      expect(await seenAt("job")).toBe(first + 30_000);
    });

    test("that a worker no longer syncs stay", async () => {
      await define(at.store, [{ name: "a" }, { name: "b" }]);
      await define(at.store, [{ name: "a" }]);
      expect((await at.store.jobNames()).sort()).toEqual(["a", "b"]);
    });

    test("are defined by the most recently started live worker, and an older one changes nothing back", async () => {
      await beat(at.store, "old");
      await beat(at.store, "new");
      const old = { name: "job", limit: 1, fingerprint: "old" };
      await define(at.store, [old], { worker: "old", startedAt: 100 });
      await define(at.store, [{ name: "job", limit: 9, fingerprint: "new" }], {
        worker: "new",
        startedAt: 200,
      });
      await at.clock.advance(30);
      await define(at.store, [old], { worker: "old", startedAt: 100 });
      expect(await at.store.job("job")).toMatchObject({ limit: 9, fingerprint: "new" });
      expect(await seenAt("job")).toBe(at.clock.now());
    });

    test("follow a rollback at once: it started later", async () => {
      await beat(at.store, "new");
      await define(at.store, [{ name: "job", fingerprint: "new" }], { worker: "new", startedAt: 200 });
      await define(at.store, [{ name: "job", fingerprint: "old" }], { worker: "back", startedAt: 300 });
      expect(await at.store.job("job")).toMatchObject({ fingerprint: "old" });
    });

    describe("defined by their class alone", () => {
      const implicit = { name: "job", limit: 1, fingerprint: "class", implicit: true };
      const defined = { name: "job", limit: 9, fingerprint: "code" };

      test("are known until a worker defines them, also one that started earlier", async () => {
        await beat(at.store, "class");
        await define(at.store, [implicit], { worker: "class", startedAt: 200 });
        expect(await at.store.job("job")).toMatchObject({ limit: 1, fingerprint: "class" });
        await define(at.store, [defined], { worker: "code", startedAt: 100 });
        expect(await at.store.job("job")).toMatchObject({ limit: 9, fingerprint: "code" });
      });

      test("change nothing that a worker has defined, alive or dead", async () => {
        await beat(at.store, "code");
        await define(at.store, [defined], { worker: "code", startedAt: 100 });
        await define(at.store, [implicit], { worker: "class", startedAt: 200 });
        await at.clock.advance((WORKER_DEAD_AFTER + 1) / 1000);
        await define(at.store, [implicit], { worker: "class", startedAt: 200 });
        expect(await at.store.job("job")).toMatchObject({ limit: 9, fingerprint: "code" });
        expect(await seenAt("job")).toBe(at.clock.now());
      });

      test("keep the definition of the first live worker", async () => {
        const other = { ...implicit, limit: 2, fingerprint: "other" };
        await beat(at.store, "first");
        await define(at.store, [implicit], { worker: "first", startedAt: 100 });
        await define(at.store, [other], { worker: "second", startedAt: 200 });
        expect(await at.store.job("job")).toMatchObject({ limit: 1 });
        await at.clock.advance((WORKER_DEAD_AFTER + 1) / 1000);
        await define(at.store, [other], { worker: "second", startedAt: 200 });
        expect(await at.store.job("job")).toMatchObject({ limit: 2 });
      });

      test("take no name back that another job has taken over", async () => {
        await define(at.store, [{ name: "new", formerly: ["job"], fingerprint: "code" }], { startedAt: 100 });
        await define(at.store, [implicit], { worker: "class", startedAt: 200 });
        expect(await at.store.jobNames()).toEqual(["new"]);
      });
    });

    test("of a dead worker are redefined by a live one", async () => {
      await beat(at.store, "new");
      await define(at.store, [{ name: "job", fingerprint: "new" }], { worker: "new", startedAt: 200 });
      const show = () =>
        define(at.store, [{ name: "job", fingerprint: "old" }], { worker: "old", startedAt: 100 });
      await at.clock.advance((WORKER_DEAD_AFTER - 1) / 1000);
      await show();
      expect(await at.store.job("job")).toMatchObject({ fingerprint: "new" });
      await at.clock.advance("1ms");
      await show();
      expect(await at.store.job("job")).toMatchObject({ fingerprint: "old" });
    });

    test("of a worker that has left are redefined by a live one", async () => {
      await beat(at.store, "new");
      await define(at.store, [{ name: "job", fingerprint: "new" }], { worker: "new", startedAt: 200 });
      await at.store.leave("new");
      await define(at.store, [{ name: "job", fingerprint: "old" }], { worker: "old", startedAt: 100 });
      expect(await at.store.job("job")).toMatchObject({ fingerprint: "old" });
    });

    test("of two workers that sync at once are defined by the one that started later", async () => {
      const other = await at.another();
      await Promise.all([beat(at.store, "a"), beat(other, "b")]);
      const all = (fingerprint: string) => times(50, (n) => ({ name: `job-${n}`, fingerprint }));
      await Promise.all([
        define(at.store, all("a"), { worker: "a", startedAt: 100 }),
        define(other, all("b").reverse(), { worker: "b", startedAt: 200 }),
      ]);
      for (const name of await at.store.jobNames()) {
        expect(await at.store.job(name)).toMatchObject({ fingerprint: "b" });
      }
    });

    test("that are dispatched but not defined are declared until a worker defines them", async () => {
      const job = { queue: "mail", priority: 7, limit: 1, keyLimit: 2 };
      await insert(
        at.store,
        { name: "a", job, queue: "other", priority: 1 },
        { name: "b", job, delay: 1000, unique: { key: "k", until: "finished", for: 0 } },
        { name: "c", job, owner: "w9" },
      );
      expect(await at.store.job("a")).toMatchObject({ name: "a", ...job, cron: null, fingerprint: "" });
      expect((await at.store.jobNames()).sort()).toEqual(["a", "b"]);
      expect(await seenAt("a")).toBeNull();
      await define(at.store, [{ name: "a", queue: "images", limit: 0 }]);
      for (const store of [at.store, await at.another()]) {
        await insertOne(store, { name: "a", job });
        expect(await at.store.job("a")).toMatchObject({ queue: "images", limit: 0 });
      }
      await at.clock.advance(2);
      await insertOne(at.store, { name: "a", job });
      expect(await at.store.job("a")).toMatchObject({ queue: "images", limit: 0 });
    });

    test("that are dispatched in the caller's transaction are declared too", async () => {
      const { tx, commit } = await at.begin();
      await at.store.insert([newRun({ name: "a", job: DECLARED })], tx);
      await commit();
      await expect.poll(() => at.store.job("a"), { timeout: 20_000 }).toMatchObject({ limit: 1 });
    });

    test("with runs and without a row are in the status", async () => {
      await insert(
        at.store,
        { name: "a", queue: "mail", priority: 7 },
        { name: "b", delay: 1000 },
        { name: "d" },
      );
      await insertOne(at.store, { name: "c", priority: 1 });
      await claim(at.store, { limit: 1 });
      await at.sql("delete from punctual_jobs where name <> 'd'");
      expect((await at.store.status()).jobs).toMatchObject([
        { name: "a", queue: "mail", priority: 7, waiting: 1, running: 0, seenAt: null },
        { name: "b", waiting: 1 },
        { name: "c", waiting: 0, running: 1 },
        { name: "d", waiting: 1 },
      ]);
    });

    test("that are paused have no run claimed until they are resumed", async () => {
      await define(at.store, [{ name: "job" }, { name: "other" }]);
      const inserted = await insert(at.store, {}, {}, { delay: 1000 });
      await insertOne(at.store, { name: "other" });
      expect(await at.store.pauseJob("job", true)).toBe(true);
      inserted.push(...(await insert(at.store, {}, {})));
      await at.clock.advance(1);
      expect(names(await claim(at.store))).toEqual(["other"]);
      expect((await at.store.status()).jobs[0]).toMatchObject({ name: "job", paused: true });
      expect(await at.store.pauseJob("job", false)).toBe(true);
      expect(ids(await claim(at.store)).sort((a, b) => a - b)).toEqual(inserted);
      expect((await at.store.status()).jobs[0]).toMatchObject({ name: "job", paused: false });
    });

    test("stay paused when a new version is synced", async () => {
      await define(at.store, [{ name: "job" }]);
      await at.store.pauseJob("job", true);
      await define(at.store, [{ name: "job", limit: 3 }]);
      await insertOne(at.store, {});
      expect(await claim(at.store)).toEqual([]);
    });

    test("that do not exist cannot be paused", async () => {
      expect(await at.store.pauseJob("unknown", true)).toBe(false);
      expect(await at.store.pauseJob("unknown", false)).toBe(false);
    });
  });
}
