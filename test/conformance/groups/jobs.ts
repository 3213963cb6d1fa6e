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

    test("are known with what they say once a worker has shown them", async () => {
      const job = {
        name: "job",
        queue: "images",
        priority: -3,
        limit: 4,
        keyLimit: 2,
        cron: "0 * * * * *",
        fingerprint: "code",
      };
      await define(at.store, [job]);
      expect(await at.store.job("job")).toEqual(job);
      expect(await at.store.job("other")).toBeNull();
      expect(await at.store.jobNames()).toEqual(["job"]);
    });

    test("5,000 of them, shown twice", async () => {
      const all = times(5000, (n) => ({ name: `job-${n}`, priority: n, fingerprint: "code" }));
      await define(at.store, all, { startedAt: 1 });
      await at.clock.advance(5);
      await define(at.store, all, { startedAt: 1 });
      expect((await at.store.jobNames()).sort()).toEqual(all.map(({ name }) => name).sort());
      expect((await at.store.job("job-4999"))?.priority).toBe(4999);
      expect(await seenAt("job-4999")).toBe(at.clock.now());
    });

    test("showing them again says that they are still there", async () => {
      await define(at.store, [{ name: "job", fingerprint: "code" }], { startedAt: 1 });
      const first = at.clock.now();
      expect(await seenAt("job")).toBe(first);
      await at.clock.advance(30);
      expect(await seenAt("job")).toBe(first);
      await define(at.store, [{ name: "job", fingerprint: "code" }], { startedAt: 1 });
      expect(await seenAt("job")).toBe(first + 30_000);
    });

    test("not showing one drops nothing", async () => {
      await define(at.store, [{ name: "a" }, { name: "b" }]);
      await define(at.store, [{ name: "a" }]);
      expect((await at.store.jobNames()).sort()).toEqual(["a", "b"]);
    });

    test("of the versions alive the latest started rules, and an old one changes nothing back", async () => {
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

    test("a rollback rules at once: it started later", async () => {
      await beat(at.store, "new");
      await define(at.store, [{ name: "job", fingerprint: "new" }], { worker: "new", startedAt: 200 });
      await define(at.store, [{ name: "job", fingerprint: "old" }], { worker: "back", startedAt: 300 });
      expect(await at.store.job("job")).toMatchObject({ fingerprint: "old" });
    });

    describe("made from their class alone", () => {
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

      test("of two such the first alive rules", async () => {
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

    test("what a dead worker showed, a living one overrules", async () => {
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

    test("what a worker showed that has left, a living one overrules", async () => {
      await beat(at.store, "new");
      await define(at.store, [{ name: "job", fingerprint: "new" }], { worker: "new", startedAt: 200 });
      await at.store.leave("new");
      await define(at.store, [{ name: "job", fingerprint: "old" }], { worker: "old", startedAt: 100 });
      expect(await at.store.job("job")).toMatchObject({ fingerprint: "old" });
    });

    test("two that show theirs at once: the later started rules", async () => {
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

    test("dispatched and not defined: known, until a worker says more", async () => {
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

    test("dispatched in a transaction of the caller's: known as well", async () => {
      const { tx, commit } = await at.begin();
      await at.store.insert([newRun({ name: "a", job: DECLARED })], tx);
      await commit();
      await expect.poll(() => at.store.job("a"), { timeout: 20_000 }).toMatchObject({ limit: 1 });
    });

    test("with runs and without a row are in a status all the same", async () => {
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

    test("paused, none of its runs is claimed until it is resumed", async () => {
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

    test("pausing outlives a new version of the job", async () => {
      await define(at.store, [{ name: "job" }]);
      await at.store.pauseJob("job", true);
      await define(at.store, [{ name: "job", limit: 3 }]);
      await insertOne(at.store, {});
      expect(await claim(at.store)).toEqual([]);
    });

    test("pausing a job that is not known says so", async () => {
      expect(await at.store.pauseJob("unknown", true)).toBe(false);
      expect(await at.store.pauseJob("unknown", false)).toBe(false);
    });
  });
}
