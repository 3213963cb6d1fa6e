import { describe, expect, test } from "vitest";
import type { PruneRequest } from "../../../src/store/maintenance.ts";
import { DAY } from "../../../src/time.ts";
import { fresh } from "../support/fresh.ts";
import { minutely } from "../support/minutely.ts";
import {
  beat,
  claim,
  claimOne,
  DECLARED,
  declare,
  define,
  finish,
  found,
  insert,
  insertOne,
  list,
  settle,
  times,
} from "../support/requests.ts";
import { everythingOf } from "../support/rows.ts";
import type { Database } from "../support/stores.ts";

export function pruning(database: Database): void {
  describe("prune", () => {
    const at = fresh(database);
    const prune = (request: Partial<PruneRequest> = {}) =>
      at.store.prune({
        finishedFor: null,
        jobsUnseenFor: null,
        orphansOlderThan: null,
        batch: 1000,
        ...request,
      });
    const nothing = { history: 0, jobs: 0, orphans: 0, workers: 0 };

    test("deletes only runs in the given states", async () => {
      const each = { completed: 0, failed: 0, cancelled: 0, skipped: 0 };
      for (const state of Object.keys(each) as (keyof typeof each)[])
        each[state] = await finish(at.store, state);
      await finish(at.store, "failed", {}, { keep: 1 });
      await at.clock.advance(10);
      const old = { finishedFor: 5000 };
      expect(await prune({ ...old, states: [] })).toEqual(nothing);
      expect(await prune({ ...old, states: ["completed", "skipped"] })).toEqual({ ...nothing, history: 2 });
      expect(await at.store.find(each.completed)).toBeNull();
      expect((await found(at.store, each.failed)).state).toBe("failed");
      expect(await prune({ ...old, states: ["failed"] })).toEqual({ ...nothing, history: 2 });
      expect(await prune(old)).toEqual({ ...nothing, history: 1 });
    });

    test("deletes in batches, reports each, and stops when the callback returns false", async () => {
      for (let n = 0; n < 7; n++) await finish(at.store, "completed");
      await at.clock.advance(10);
      const told: number[] = [];
      const onBatch = ({ history }: { history: number }) => told.push(history) < 2;
      expect(await prune({ finishedFor: 5000, batch: 2, onBatch })).toEqual({ ...nothing, history: 4 });
      expect(told).toEqual([2, 4]);
      expect(await prune({ finishedFor: 5000, batch: 2, onBatch: () => true })).toEqual({
        ...nothing,
        history: 3,
      });
    });

    test("deletes orphans in batches too, and stops when the callback returns false", async () => {
      await insert(at.store, ...times(5, () => ({ name: "gone", delay: 1 })));
      for (let n = 0; n < 2; n++) await finish(at.store, "completed");
      await at.clock.advance(10);
      const old = { finishedFor: 5000, orphansOlderThan: 5000, batch: 2 };
      expect(await prune({ ...old, onBatch: () => false })).toEqual({ ...nothing, history: 2 });
      const told: number[] = [];
      const onBatch = ({ orphans }: { orphans: number }) => told.push(orphans) < 2;
      expect(await prune({ ...old, onBatch })).toEqual({ ...nothing, orphans: 4 });
      expect(told).toEqual([2, 4]);
      expect(await prune(old)).toEqual({ ...nothing, orphans: 1 });
    });

    test("finds runs behind those that are kept", async () => {
      for (let n = 0; n < 3; n++) await finish(at.store, "failed");
      for (let n = 0; n < 3; n++) await finish(at.store, "completed");
      await at.clock.advance(10);
      const some = { finishedFor: 5000, states: ["completed" as const], batch: 2 };
      expect(await prune(some)).toEqual({ ...nothing, history: 3 });
      expect(await prune({ finishedFor: 5000, batch: 2 })).toEqual({ ...nothing, history: 3 });
    });

    describe("with keep, keeps the newest of each job", () => {
      const forEver = { keep: null };
      const finishMany = async (name: string, ...states: ("completed" | "failed" | "skipped")[]) => {
        const ids: number[] = [];
        for (const state of states) ids.push(await finish(at.store, state, { name }, forEver));
        return ids;
      };
      const left = async () =>
        (await list(at.store, { limit: 1000 })).map(({ id }) => id).sort((a, b) => a - b);
      const count = async (request: Partial<PruneRequest>) => {
        const none = { finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 1000 };
        return (await at.store.countPrunable({ ...none, ...request })).history;
      };

      test("and deletes older ones with their attempts, whatever their age and retention", async () => {
        const many = await finishMany("many", "completed", "failed", "completed", "skipped", "completed");
        const few = await finishMany("few", "failed", "completed");
        const one = await finishMany("Few", "completed");
        const waiting = await insertOne(at.store, { name: "many" });
        expect(await count({ keep: 5 })).toBe(0);
        expect(await prune({ keep: 5 })).toEqual(nothing);
        expect(await count({ keep: 2 })).toBe(3);
        expect(await prune({ keep: 2 })).toEqual({ ...nothing, history: 3 });
        expect(await left()).toEqual([...many.slice(3), ...few, ...one, waiting]);
        expect(await everythingOf(at, many[1]!)).toEqual({ runs: [], history: [], attempts: [] });
        expect(await prune({ keep: 0 })).toEqual({ ...nothing, history: 5 });
        expect(await left()).toEqual([waiting]);
      });

      test("also deletes those whose retention has ended: their number decides", async () => {
        const ids = await finishMany("job", "completed", "completed");
        const over = await finish(at.store, "completed", {}, { keep: 1000 });
        await at.clock.advance(10);
        expect(await prune({ keep: 2 })).toEqual({ ...nothing, history: 1 });
        expect(await left()).toEqual([ids[1], over]);
      });

      test("of the given states only, which alone are counted", async () => {
        const [, , failed, completed] = await finishMany("job", "failed", "failed", "failed", "completed");
        const skipped = await finishMany("other", "skipped", "failed");
        expect(await count({ keep: 1, states: ["failed"] })).toBe(2);
        expect(await prune({ keep: 1, states: ["failed"] })).toEqual({ ...nothing, history: 2 });
        expect(await left()).toEqual([failed, completed, ...skipped]);
        expect(await prune({ keep: 0, states: [] })).toEqual(nothing);
        expect(await prune({ keep: 1, states: ["failed", "completed"] })).toEqual({ ...nothing, history: 1 });
        expect(await left()).toEqual([completed, ...skipped]);
      });

      test("and with an age deletes only runs that satisfy both", async () => {
        const old = await finishMany("job", "completed", "completed", "completed");
        const alone = await finishMany("alone", "completed");
        await at.clock.advance(10);
        const recent = await finishMany("job", "completed", "completed");
        expect(await count({ keep: 1, finishedFor: 5000 })).toBe(3);
        expect(await prune({ keep: 4, finishedFor: 5000 })).toEqual({ ...nothing, history: 1 });
        expect(await prune({ keep: 1, finishedFor: 5000 })).toEqual({ ...nothing, history: 2 });
        expect(await left()).toEqual([...alone, ...recent]);
        expect(await at.store.find(old[2]!)).toBeNull();
      });

      test("and a run that still holds its unique key", async () => {
        const unique = { key: "once", until: "finished" as const, for: 60_000 };
        const holder = await finish(at.store, "completed", { unique });
        const later = await finish(at.store, "completed");
        expect(await count({ keep: 0 })).toBe(1);
        expect(await prune({ keep: 0 })).toEqual({ ...nothing, history: 1 });
        expect(await left()).toEqual([holder]);
        expect(await at.store.find(later)).toBeNull();
        await at.clock.advance(61);
        expect(await prune({ keep: 0 })).toEqual({ ...nothing, history: 1 });
      });

      test("in batches; a call that was stopped early is continued by the next", async () => {
        for (const name of ["a", "b"]) await finishMany(name, ...times(6, () => "completed" as const));
        const told: number[] = [];
        const onBatch = ({ history }: { history: number }) => told.push(history) < 4;
        expect(await prune({ keep: 1, batch: 2, onBatch })).toEqual({ ...nothing, history: 7 });
        expect(told).toEqual([2, 4, 5, 7]);
        expect(await prune({ keep: 1, batch: 2 })).toEqual({ ...nothing, history: 3 });
        expect(await left()).toHaveLength(2);
      });
    });

    test("countPrunable() returns what prune() deletes", async () => {
      await define(at.store, [{ name: "old" }]);
      await beat(at.store, "w1");
      await finish(at.store, "failed", {}, { keep: 1000 });
      await finish(at.store, "failed");
      await finish(at.store, "completed");
      await insertOne(at.store, { name: "gone", delay: 1 });
      await at.clock.advance("20m");
      for (const request of [
        {},
        { states: ["completed" as const], finishedFor: 5000 },
        { finishedFor: 5000, jobsUnseenFor: 1000, orphansOlderThan: 1000 },
      ]) {
        const whole = {
          finishedFor: null,
          jobsUnseenFor: null,
          orphansOlderThan: null,
          batch: 9,
          ...request,
        };
        const expected = await at.store.countPrunable(whole);
        expect({ ...(await at.store.prune(whole)), capped: false }).toEqual(expected);
      }
      expect(
        await at.store.countPrunable({ finishedFor: 0, jobsUnseenFor: 0, orphansOlderThan: 0, batch: 9 }),
      ).toEqual({
        ...nothing,
        capped: false,
      });
    });

    test("deletes finished runs whose retention has ended, with their attempts", async () => {
      const short = await finish(at.store, "failed", {}, { keep: 1000, error: "why" });
      const long = await finish(at.store, "failed", {}, { keep: 5000, error: "why" });
      const forEver = await finish(at.store, "failed", {}, { keep: null, error: "why" });
      expect(await prune()).toEqual(nothing);
      await at.clock.advance(1);
      expect(await prune()).toEqual({ ...nothing, history: 1 });
      expect(await everythingOf(at, short)).toEqual({ runs: [], history: [], attempts: [] });
      await at.clock.advance("300 days");
      expect(await prune()).toEqual({ ...nothing, history: 1 });
      expect(await at.store.find(long)).toBeNull();
      expect(await at.store.attempts(forEver)).toHaveLength(1);
    });

    test("deletes runs that finished longer ago than given, whatever their retention", async () => {
      const old = await finish(at.store, "completed", {}, { keep: null });
      await at.clock.advance(10);
      const recent = await finish(at.store, "completed", {}, { keep: null });
      expect(await prune({ finishedFor: 10_001 })).toEqual(nothing);
      expect(await prune({ finishedFor: 10_000 })).toEqual({ ...nothing, history: 1 });
      expect(await at.store.find(old)).toBeNull();
      expect(await prune({ finishedFor: 0 })).toEqual({ ...nothing, history: 1 });
      expect(await at.store.find(recent)).toBeNull();
    });

    test("deletes all of them, in groups", async () => {
      await insert(at.store, ...times(25, () => ({})));
      for (const run of await claim(at.store)) await settle(at.store, run, "completed", { keep: 1 });
      await at.clock.advance(1);
      expect(await prune({ batch: 10 })).toEqual({ ...nothing, history: 25 });
      expect(await list(at.store, { limit: 10 })).toEqual([]);
    });

    test("deletes no unfinished run, however old", async () => {
      await define(at.store, [{ name: "job" }]);
      const [running, ahead, ready, scheduled] = await insert(at.store, {}, {}, {}, { delay: 900 * DAY });
      const retried = await insertOne(at.store, { priority: 1 });
      await settle(at.store, await claimOne(at.store), "retried", { error: "why", delay: 900 * DAY });
      const runs = await claim(at.store, { limit: 2, start: 1 });
      await at.clock.advance("300 days");
      await define(at.store, [{ name: "job" }]);
      await prune({ finishedFor: 0, jobsUnseenFor: 0, orphansOlderThan: 0 });
      expect((await found(at.store, running!)).state).toBe("running");
      for (const id of [ahead!, ready!]) expect((await found(at.store, id)).state).toBe("ready");
      for (const id of [scheduled!, retried]) expect((await found(at.store, id)).state).toBe("scheduled");
      expect(await at.store.attempts(retried)).toHaveLength(1);
      expect(await settle(at.store, runs[0]!, "completed")).toBe(true);
    });

    test("does not delete a revived run", async () => {
      const id = await finish(at.store, "failed", {}, { keep: 1000, error: "why" });
      await at.store.revive(id);
      await at.clock.advance(60);
      expect(await prune({ finishedFor: 0 })).toEqual(nothing);
      expect(await at.store.attempts(id)).toHaveLength(1);
    });

    test("deletes jobs that no worker has synced for the given time, unless they have unfinished runs", async () => {
      await define(at.store, [
        { name: "gone" },
        { name: "waiting" },
        { name: "running" },
        { name: "living" },
      ]);
      await declare(at.store, "declared");
      await finish(at.store, "completed", { name: "gone" });
      await insertOne(at.store, { name: "running" });
      await claimOne(at.store);
      await insertOne(at.store, { name: "waiting" });
      await at.clock.advance(10);
      await define(at.store, [{ name: "living" }]);
      expect(await prune({ jobsUnseenFor: 10_001 })).toEqual(nothing);
      await at.clock.advance(1);
      expect(await prune({ jobsUnseenFor: 10_000 })).toEqual({ ...nothing, jobs: 2 });
      expect((await at.store.jobNames()).sort()).toEqual(["living", "running", "waiting"]);
    });

    test("deletes waiting runs of a job that no worker has synced for the given time", async () => {
      await define(at.store, [{ name: "gone" }, { name: "living" }]);
      const [gone, later, unknown, living, owned, running] = await insert(
        at.store,
        { name: "gone" },
        { name: "gone", delay: 900_000 },
        { name: "never shown" },
        { name: "living" },
        { name: "gone", owner: "w9" },
        { name: "gone", priority: 1 },
      );
      const run = await claimOne(at.store);
      await at.clock.advance(10);
      const young = await insertOne(at.store, { name: "gone" });
      await define(at.store, [{ name: "living" }]);
      await at.clock.advance(1);
      expect(await prune({ orphansOlderThan: 20_000 })).toEqual(nothing);
      expect(await prune({ orphansOlderThan: 5000 })).toEqual({ ...nothing, orphans: 3 });
      for (const id of [gone!, later!, unknown!]) expect(await at.store.find(id)).toBeNull();
      for (const id of [living!, owned!, young]) expect((await found(at.store, id)).state).toBe("ready");
      expect(run.id).toBe(running);
      expect(await settle(at.store, run, "completed")).toBe(true);
    });

    test("deletes an unseen job with its waiting runs in one call, as it was counted before", async () => {
      const request = { jobsUnseenFor: 5000, orphansOlderThan: 5000, finishedFor: null, batch: 1000 };
      await define(at.store, [{ name: "gone" }, { name: "young" }, { name: "running" }, { name: "living" }]);
      await insertOne(at.store, { name: "running" });
      await claimOne(at.store);
      await insert(at.store, { name: "gone" }, { name: "gone", delay: 9 * DAY });
      await at.clock.advance(10);
      await insertOne(at.store, { name: "young" });
      await define(at.store, [{ name: "living" }]);
      const pruned = { ...nothing, jobs: 1, orphans: 2 };
      expect(await at.store.countPrunable(request)).toEqual({ ...pruned, capped: false });
      expect(await prune(request)).toEqual(pruned);
      expect((await at.store.jobNames()).sort()).toEqual(["living", "running", "young"]);
      expect(await prune(request)).toEqual(nothing);
    });

    test("deletes one job alone, with its schedules and waiting runs, once no worker syncs it", async () => {
      const request = {
        job: "gone",
        jobsUnseenFor: 5000,
        orphansOlderThan: 5000,
        finishedFor: null,
        batch: 1000,
      };
      await define(at.store, [
        { name: "gone", schedules: [minutely()] },
        { name: "other", schedules: [minutely()] },
      ]);
      const kept = await finish(at.store, "completed", { name: "gone" }, { keep: 1 });
      await insert(at.store, { name: "gone" }, { name: "other" });
      await at.clock.advance(5);
      expect(await at.store.countPrunable(request)).toEqual({ ...nothing, capped: false });
      expect(await prune(request)).toEqual(nothing);
      await at.clock.advance(1);
      await insertOne(at.store, { name: "gone" });
      const pruned = { ...nothing, jobs: 1, orphans: 2 };
      expect(await at.store.countPrunable(request)).toEqual({ ...pruned, capped: false });
      expect(await prune(request)).toEqual(pruned);
      expect(await at.store.jobNames()).toEqual(["other"]);
      expect((await at.store.schedules()).map(({ job }) => job)).toEqual(["other"]);
      expect(await at.store.find(kept)).not.toBeNull();
      expect(await list(at.store, { limit: 10 })).toMatchObject([{ name: "other" }, { id: kept }]);
    });

    const alone = { job: "gone", jobsUnseenFor: 5000, orphansOlderThan: 5000 };

    test("a pruned job is declared again by a dispatch of any process", async () => {
      const other = await at.another();
      for (const store of [at.store, other]) {
        await insertOne(store, { name: "gone", job: DECLARED });
        await at.clock.advance(6);
        expect(await prune(alone)).toEqual({ ...nothing, jobs: 1, orphans: 1 });
        expect(await at.store.jobNames()).toEqual([]);
        await insertOne(store, { name: "gone", job: DECLARED });
        expect(await at.store.job("gone")).toMatchObject({ name: "gone", limit: 1 });
        await at.clock.advance(6);
        expect(await prune(alone)).toEqual({ ...nothing, jobs: 1, orphans: 1 });
      }
    });

    test("a pruned job is declared again by the retry of its run", async () => {
      const id = await finish(at.store, "failed", { name: "gone", queue: "mail", priority: 7 });
      await at.clock.advance(6);
      expect(await prune(alone)).toEqual({ ...nothing, jobs: 1 });
      expect(await at.store.revive(id)).toBe("revived");
      const job = { name: "gone", queue: "mail", priority: 7, limit: 1 };
      expect(await at.store.job("gone")).toMatchObject(job);
      expect((await at.store.status()).jobs).toMatchObject([{ ...job, waiting: 1 }]);
    });

    test("a dispatch during a prune never leaves a run that no status lists", async () => {
      const other = await at.another();
      const dispatch = async () => {
        for (let n = 0; n < 5; n++) await insertOne(other, { name: "gone", job: DECLARED });
      };
      for (let round = 0; round < 20; round++) {
        await insertOne(at.store, { name: "gone", job: DECLARED });
        await at.clock.advance(6);
        await Promise.all([prune(alone), dispatch()]);
        const waiting = (await list(at.store)).length;
        const { jobs } = await at.store.status();
        expect(jobs).toMatchObject(waiting === 0 && jobs.length === 0 ? [] : [{ name: "gone", waiting }]);
        // The row itself is certain to stay only if inserts wait for the prune.
        const rows = await at.store.jobNames();
        if (at.store.database === "sqlite" && waiting > 0) expect(rows).toEqual(["gone"]);
        await at.clock.advance(6);
        await prune(alone);
      }
    });

    test("deletes the attempts of a pruned run that waited for its next attempt", async () => {
      const id = await insertOne(at.store, { name: "gone" });
      await settle(at.store, await claimOne(at.store), "retried", { error: "why" });
      await at.clock.advance(10);
      expect(await prune({ orphansOlderThan: 5000 })).toEqual({ ...nothing, orphans: 1 });
      expect(await everythingOf(at, id)).toEqual({ runs: [], history: [], attempts: [] });
    });

    test("deletes workers that died long ago, and counts past their retention", async () => {
      await beat(at.store, "w1");
      const minute = at.clock.now() / 60_000;
      const tally = {
        name: "job",
        counts: { completed: 1 },
        busy: 0,
        lastRun: null,
        lastFailure: null,
        last: null,
      };
      await at.store.flush([
        { ...tally, minute: minute - 500 },
        { ...tally, minute },
        { ...tally, minute: minute + 60 },
      ]);
      await at.clock.advance(300);
      expect(await prune()).toEqual(nothing);
      await at.clock.advance("7d");
      await beat(at.store, "w2");
      expect(await prune()).toEqual({ ...nothing, workers: 1 });
      expect((await at.store.status()).workers).toMatchObject([{ id: "w2" }]);
      expect(await at.sql("select distinct worker from punctual_exchanges")).toEqual([{ worker: "w2" }]);
      expect(await at.sql("select minute from punctual_minutes")).toEqual([{ minute: minute + 60 }]);
    });
  });
}
