import { describe, expect, test } from "vitest";
import type { PruneRequest } from "../../src/store/store.ts";
import { DAY } from "../../src/time.ts";
import { fresh } from "./fresh.ts";
import {
  beat,
  claim,
  claimOne,
  define,
  finish,
  found,
  insert,
  insertOne,
  settle,
  times,
} from "./requests.ts";
import { everythingOf } from "./rows.ts";
import type { Database } from "./stores.ts";

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

    test("finished runs whose retention has ended, with their tries", async () => {
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

    test("finished longer ago than told, whatever their retention", async () => {
      const old = await finish(at.store, "completed", {}, { keep: null });
      await at.clock.advance(10);
      const recent = await finish(at.store, "completed", {}, { keep: null });
      expect(await prune({ finishedFor: 10_001 })).toEqual(nothing);
      expect(await prune({ finishedFor: 10_000 })).toEqual({ ...nothing, history: 1 });
      expect(await at.store.find(old)).toBeNull();
      expect(await prune({ finishedFor: 0 })).toEqual({ ...nothing, history: 1 });
      expect(await at.store.find(recent)).toBeNull();
    });

    test("in groups, to the end", async () => {
      await insert(at.store, ...times(25, () => ({})));
      for (const run of await claim(at.store)) await settle(at.store, run, "completed", { keep: 1 });
      await at.clock.advance(1);
      expect(await prune({ batch: 10 })).toEqual({ ...nothing, history: 25 });
      expect(await at.store.list({ limit: 10 })).toEqual([]);
    });

    test("nothing that has not finished, however old", async () => {
      await define(at.store, [{ name: "job" }]);
      const [running, ahead, ready, scheduled] = await insert(at.store, {}, {}, {}, { delay: 900 * DAY });
      const retried = await insertOne(at.store, { priority: 1 });
      await settle(at.store, await claimOne(at.store), "retried", { error: "why", delay: 900 * DAY });
      const runs = await claim(at.store, { limit: 2, start: 1 });
      await at.clock.advance("300 days");
      await define(at.store, [{ name: "job" }]);
      await prune({ finishedFor: 0, jobsUnseenFor: 0, orphansOlderThan: 0 });
      for (const id of [running!, ahead!]) expect((await found(at.store, id)).state).toBe("running");
      expect((await found(at.store, ready!)).state).toBe("ready");
      for (const id of [scheduled!, retried]) expect((await found(at.store, id)).state).toBe("scheduled");
      expect(await at.store.attempts(retried)).toHaveLength(1);
      expect(await settle(at.store, runs[0]!, "completed")).toBe(true);
    });

    test("a run that was brought back is not finished", async () => {
      const id = await finish(at.store, "failed", {}, { keep: 1000, error: "why" });
      await at.store.revive(id);
      await at.clock.advance(60);
      expect(await prune({ finishedFor: 0 })).toEqual(nothing);
      expect(await at.store.attempts(id)).toHaveLength(1);
    });

    test("jobs that no worker has shown for so long, unless something of them is unfinished", async () => {
      await define(at.store, [
        { name: "gone" },
        { name: "waiting" },
        { name: "running" },
        { name: "living" },
      ]);
      await at.store.declareJobs(["declared"], "default", 100);
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

    test("waiting runs of a job that nobody has shown for so long", async () => {
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

    test("a run that waits for its next try and is pruned leaves no tries behind", async () => {
      const id = await insertOne(at.store, { name: "gone" });
      await settle(at.store, await claimOne(at.store), "retried", { error: "why" });
      await at.clock.advance(10);
      expect(await prune({ orphansOlderThan: 5000 })).toEqual({ ...nothing, orphans: 1 });
      expect(await everythingOf(at, id)).toEqual({ runs: [], history: [], attempts: [] });
    });

    test("workers that have been dead for long, and counts that nobody looks at any more", async () => {
      await beat(at.store, "w1");
      const minute = at.clock.now() / 60_000;
      const tally = { name: "job", counts: { completed: 1 }, busy: 0, lastRun: null, last: null };
      await at.store.flush([
        { ...tally, minute },
        { ...tally, minute: minute + 60 },
      ]);
      await at.clock.advance(300);
      expect(await prune()).toEqual(nothing);
      await at.clock.advance("7d");
      await beat(at.store, "w2");
      expect(await prune()).toEqual({ ...nothing, workers: 1 });
      expect((await at.store.status()).workers).toMatchObject([{ id: "w2" }]);
      expect(await at.sql("select minute from punctual_minutes")).toEqual([{ minute: minute + 60 }]);
    });
  });
}
