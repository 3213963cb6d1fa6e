import { beforeEach, describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import { MINUTE, minutely, tick } from "../support/minutely.ts";
import {
  beat,
  claim,
  claimOne,
  declare,
  define,
  finish,
  found,
  insert,
  insertOne,
  list,
  settle,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function formerly(database: Database): void {
  describe("a job with a former name", () => {
    const at = fresh(database);
    const rename = (fields = {}) => define(at.store, [{ name: "new", formerly: ["old"], ...fields }]);

    test("takes over its waiting and running runs, and its history", async () => {
      await define(at.store, [{ name: "old" }, { name: "other" }]);
      const done = await finish(at.store, "completed", { name: "old" });
      const running = await insertOne(at.store, { name: "old" });
      const run = await claimOne(at.store);
      const [ready, scheduled, other] = await insert(
        at.store,
        { name: "old" },
        { name: "old", delay: 1000 },
        { name: "other" },
      );
      await rename();
      for (const id of [done, running, ready!, scheduled!])
        expect((await found(at.store, id)).name).toBe("new");
      expect((await found(at.store, other!)).name).toBe("other");
      expect((await at.store.jobNames()).sort()).toEqual(["new", "other"]);
      expect(await settle(at.store, run, "completed")).toBe(true);
      expect(await found(at.store, running)).toMatchObject({ name: "new", state: "completed" });
    });

    test("takes over the lanes, and keeps their keys", async () => {
      await define(at.store, [{ name: "old", keyLimit: 1 }]);
      const keys = ["a", "old|x", "old", "🕰️|old|", "a|old|b"];
      const waiting = await insert(at.store, { name: "old" }, ...keys.map((key) => ({ name: "old", key })));
      const done = await finish(at.store, "completed", { name: "old", key: "old|x", priority: 1 });
      await rename({ keyLimit: 1 });
      const records = await Promise.all(waiting.map((id) => found(at.store, id)));
      expect(records.map(({ key }) => key)).toEqual([null, ...keys]);
      expect((await found(at.store, done)).key).toBe("old|x");
      const lanes = (await list(at.store, { states: ["running"], limit: 10 })).map(({ name }) => name);
      expect(new Set(lanes)).toEqual(new Set(["new"]));
    });

    test("takes over a name with characters of several bytes", async () => {
      await define(at.store, [{ name: "⏰🕰️" }]);
      const id = await insertOne(at.store, { name: "⏰🕰️", key: "k" });
      await define(at.store, [{ name: "ü", formerly: ["⏰🕰️"] }]);
      expect(await claimOne(at.store)).toMatchObject({ id, name: "ü", lane: "ü|k" });
    });

    test("counts runs under the former name in its limits", async () => {
      await define(at.store, [{ name: "old", limit: 2, keyLimit: 1 }]);
      await insert(at.store, { name: "old", key: "a" }, { name: "old", key: "a" });
      await claimOne(at.store);
      await rename({ limit: 2, keyLimit: 1 });
      expect(await claim(at.store)).toEqual([]);
      await insertOne(at.store, { name: "new", key: "b" });
      expect((await claim(at.store)).map(({ lane }) => lane)).toEqual(["new|b"]);
      await insertOne(at.store, { name: "new", key: "c" });
      expect(await claim(at.store)).toEqual([]);
    });

    test("takes over the counts and the state", async () => {
      await define(at.store, [{ name: "old" }]);
      await at.store.pauseJob("old", true);
      const tally = {
        name: "old",
        minute: 5,
        counts: { completed: 3 },
        busy: 10,
        lastRun: 99,
        lastFailure: 98,
      };
      await at.store.flush([{ ...tally, last: { ok: false, failed: 2, error: "why", errors: [] } }]);
      await rename();
      expect((await at.store.status()).jobs).toMatchObject([
        { name: "new", paused: true, lastRun: 99, lastFailure: 98, fails: 2, lastError: "why" },
      ]);
      expect(await at.sql("select minute, name, completed, busy from punctual_minutes")).toEqual([
        { minute: 5, name: "new", completed: 3, busy: 10 },
      ]);
    });

    test("also if a job of the new name exists", async () => {
      await define(at.store, [{ name: "old" }, { name: "new" }]);
      const [one, two] = await insert(at.store, { name: "old" }, { name: "new" });
      await rename({ limit: 5 });
      expect(await at.store.jobNames()).toEqual(["new"]);
      expect(await at.store.job("new")).toMatchObject({ limit: 5 });
      for (const id of [one!, two!]) expect((await found(at.store, id)).name).toBe("new");
    });

    test("leaves ad hoc runs of that name unchanged", async () => {
      await define(at.store, [{ name: "old" }]);
      const id = await insertOne(at.store, { name: "old", owner: "w1", lane: "1|adhoc" });
      const done = await insertOne(at.store, { name: "old", owner: "w2", lane: "2|adhoc" });
      await settle(at.store, await claimOne(at.store, { worker: "w2" }), "completed");
      await rename();
      expect((await found(at.store, id)).name).toBe("old");
      expect((await found(at.store, done)).name).toBe("old");
      expect(await claimOne(at.store)).toMatchObject({ id, lane: "1|adhoc" });
    });

    test("changes nothing if the former name is unknown, or was taken over before", async () => {
      await rename();
      await rename();
      expect(await at.store.jobNames()).toEqual(["new"]);
    });

    describe("beside workers that have the old code", () => {
      const start = Date.parse("2026-01-01T00:00:00Z");
      const OLD = { worker: "old code", startedAt: 1_000_000 };
      const NEW = { worker: "new code", startedAt: 2_000_000 };
      const BACK = { worker: "rolled back", startedAt: 3_000_000 };
      const withOld = (who: typeof OLD, store = at.store) =>
        define(store, [{ name: "old", fingerprint: "old", schedules: [minutely()] }], who);
      const withNew = (who: typeof OLD, store = at.store) =>
        define(store, [{ name: "new", fingerprint: "new", formerly: ["old"], schedules: [minutely()] }], who);
      const jobsAndSchedules = async () => ({
        jobs: (await at.store.jobNames()).sort(),
        schedules: (await at.store.schedules()).map(({ job, nextTick }) => [job, nextTick]),
      });
      const ticksOf = async () =>
        (await list(at.store, { limit: 1000 })).map(({ scheduledFor }) => scheduledFor).sort();

      const alive = async () => {
        for (const { worker, startedAt } of [OLD, NEW, BACK]) await beat(at.store, worker, { startedAt });
      };
      const minutePasses = async () => {
        await at.clock.advance(60);
        await alive();
      };

      beforeEach(alive);

      test("does not lose its name to them, and each tick happens once", async () => {
        await withOld(OLD);
        await minutePasses();
        await tick(at.store);
        await withNew(NEW);
        for (let minute = 2; minute < 5; minute++) {
          await withOld(OLD);
          expect((await jobsAndSchedules()).jobs).toEqual(["new"]);
          await minutePasses();
          await Promise.all([tick(at.store), tick(await at.another())]);
          await withNew(NEW);
        }
        expect(await ticksOf()).toEqual([1, 2, 3, 4].map((minute) => start + minute * MINUTE));
        expect(await list(at.store, { name: "new", limit: 100 })).toHaveLength(4);
      });

      test("does not lose its name if the new code syncs first", async () => {
        await withNew(NEW);
        await withOld(OLD);
        expect(await jobsAndSchedules()).toEqual({ jobs: ["new"], schedules: [["new", start + MINUTE]] });
      });

      test("keeps the old name if the old code started later, even if the new code syncs after it", async () => {
        await withOld(BACK);
        const early = await insertOne(at.store, { name: "new" });
        await withNew(NEW);
        await withNew(NEW);
        expect(await jobsAndSchedules()).toEqual({ jobs: ["old"], schedules: [["old", start + MINUTE]] });
        expect((await found(at.store, early)).name).toBe("old");
        await withNew({ worker: "newer code", startedAt: 4_000_000 });
        expect(await jobsAndSchedules()).toEqual({ jobs: ["new"], schedules: [["new", start + MINUTE]] });
      });

      test("has one name if many workers sync at once", async () => {
        await withOld(OLD);
        const stores = [at.store, await at.another(), await at.another(), await at.another()];
        for (let turn = 0; turn < 5; turn++) {
          await Promise.all(
            stores.map((store, index) => (index % 2 === 0 ? withOld(OLD, store) : withNew(NEW, store))),
          );
          expect(await jobsAndSchedules()).toEqual({ jobs: ["new"], schedules: [["new", start + MINUTE]] });
        }
      });

      test("takes everything back at a rollback, with the marks of its schedules", async () => {
        await withOld(OLD);
        await withNew(NEW);
        await minutePasses();
        await tick(at.store);
        const id = await insertOne(at.store, { name: "new", key: "k" });
        await withOld(BACK);
        // Workers with the new code continue to sync.
        await withNew(NEW);
        expect(await jobsAndSchedules()).toEqual({ jobs: ["old"], schedules: [["old", start + 2 * MINUTE]] });
        expect(await found(at.store, id)).toMatchObject({ name: "old", key: "k" });
        await minutePasses();
        await tick(at.store);
        expect((await ticksOf()).filter((at) => at !== null)).toEqual([start + MINUTE, start + 2 * MINUTE]);
        await withNew({ worker: "forward again", startedAt: 4_000_000 });
        expect(await jobsAndSchedules()).toEqual({ jobs: ["new"], schedules: [["new", start + 3 * MINUTE]] });
        expect((await found(at.store, id)).name).toBe("new");
      });

      test("keeps its due ticks at a rollback to code without formerly()", async () => {
        await withOld(OLD);
        await withNew(NEW);
        await at.clock.advance(90);
        await withOld(BACK);
        expect(await jobsAndSchedules()).toMatchObject({ schedules: [["old", start + MINUTE]] });
      });

      test("is taken back by old code when no worker with the new code is alive", async () => {
        await withOld(OLD);
        await withNew(NEW);
        await at.store.leave(NEW.worker);
        await withOld(OLD);
        expect(await jobsAndSchedules()).toEqual({ jobs: ["old"], schedules: [["old", start + MINUTE]] });
      });

      test("owns the old name in a later release without formerly()", async () => {
        await withOld(OLD);
        await withNew(NEW);
        await define(at.store, [{ name: "new", schedules: [minutely()] }], BACK);
        await at.store.leave(NEW.worker);
        await withOld(OLD);
        expect((await jobsAndSchedules()).jobs).toEqual(["new"]);
      });

      test("becomes two jobs again if code defines both names", async () => {
        await withOld(OLD);
        await withNew(NEW);
        const both = [
          { name: "new", schedules: [minutely()] },
          { name: "old", formerly: [], schedules: [minutely()] },
        ];
        await define(at.store, both, BACK);
        expect((await jobsAndSchedules()).jobs).toEqual(["new", "old"]);
        await define(at.store, both, BACK);
        const id = await insertOne(at.store, { name: "old" });
        expect((await found(at.store, id)).name).toBe("old");
      });

      test("has the last name of a chain of renames", async () => {
        await withOld(OLD);
        await withNew(NEW);
        await define(at.store, [{ name: "newest", formerly: ["new"], schedules: [minutely()] }], BACK);
        await withOld(OLD);
        await withNew(NEW);
        expect(await jobsAndSchedules()).toEqual({
          jobs: ["newest"],
          schedules: [["newest", start + MINUTE]],
        });
        const old = await at.another();
        expect((await found(at.store, await insertOne(old, { name: "old" }))).name).toBe("newest");
      });

      test("gets runs that are dispatched under the old name, with their keys", async () => {
        await withOld(OLD);
        await withNew(NEW);
        const producer = await at.another();
        const unique = { key: "u", until: "finished" as const, for: 0 };
        const [plain, keyed, held, adHoc] = await insert(
          producer,
          { name: "old" },
          { name: "old", key: "old|🕰️" },
          { name: "old", unique },
          { name: "old", owner: "w9", lane: "1|adhoc" },
        );
        for (const id of [plain!, keyed!, held!]) expect((await found(at.store, id)).name).toBe("new");
        expect((await found(at.store, keyed!)).key).toBe("old|🕰️");
        expect((await found(at.store, adHoc!)).name).toBe("old");
        expect(await producer.job("old")).toMatchObject({ name: "new" });
        expect(await at.store.jobNames()).toEqual(["new"]);
      });

      test("adopts a run that was inserted too late to be renamed", async () => {
        await withOld(OLD);
        await withNew(NEW);
        const id = await insertOne(at.store, { name: "new", key: "k" });
        // As a transaction does that was open during the rename.
        await at.sql("update punctual_runs set name = 'old', lane = 'old|k'");
        expect(await at.store.adopt(id)).toBe(true);
        expect(await found(at.store, id)).toMatchObject({ name: "new", key: "k" });
        expect(await at.store.adopt(id)).toBe(false);
      });

      test("gets counts that are written under the old name", async () => {
        await withOld(OLD);
        const tally = {
          name: "old",
          minute: 5,
          counts: { completed: 3 },
          busy: 10,
          lastRun: 99,
          lastFailure: null,
          last: null,
        };
        await at.store.flush([tally]);
        await define(at.store, [{ name: "new" }], { worker: "declares it", startedAt: 1 });
        await at.store.flush([{ ...tally, name: "new" }]);
        await withNew(NEW);
        await at.store.flush([tally]);
        expect(await at.sql("select minute, name, completed, busy from punctual_minutes")).toEqual([
          { minute: 5, name: "new", completed: 9, busy: 30 },
        ]);
      });

      test("takes over a name that a producer has only declared", async () => {
        await withOld(OLD);
        await at.clock.advance(60);
        await declare(at.store, "new");
        await at.store.flush([
          {
            name: "old",
            minute: 5,
            counts: {},
            busy: 0,
            lastRun: 99,
            lastFailure: null,
            last: { ok: false, failed: 2, error: "why", errors: [] },
          },
        ]);
        await withNew(NEW);
        expect((await at.store.status()).jobs).toMatchObject([{ name: "new", lastRun: 99, fails: 2 }]);
        expect((await jobsAndSchedules()).schedules).toEqual([["new", start + MINUTE]]);
      });

      test("frees its former names when it is pruned", async () => {
        await withOld(OLD);
        await withNew(NEW);
        await at.clock.advance("2 days");
        const request = { finishedFor: null, orphansOlderThan: null, batch: 100 };
        await at.store.prune({ ...request, jobsUnseenFor: 86_400_000 });
        await withOld(OLD);
        expect((await jobsAndSchedules()).jobs).toEqual(["old"]);
      });
    });
  });
}
