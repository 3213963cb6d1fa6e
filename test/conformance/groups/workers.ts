import { describe, expect, test } from "vitest";
import type { WorkerRecord } from "../../../src/store/records.ts";
import { WORKER_DEAD_AFTER, WORKER_SEEN_WITHIN } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import { beat, claimOne, found, ids, insert, insertOne, list, settle } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function workers(database: Database): void {
  describe("workers", () => {
    const at = fresh(database);
    const alive = async () => (await at.store.status()).workers;

    test("describe themselves", async () => {
      const startedAt = at.clock.now() - 5000;
      await beat(at.store, "w1", { host: "here", pid: 7, parallel: 3, queues: ["a", "b"], startedAt });
      expect(await alive()).toEqual([
        {
          id: "w1",
          host: "here",
          pid: 7,
          parallel: 3,
          queues: ["a", "b"],
          exceptQueues: [],
          weights: null,
          schedules: true,
          startedAt,
          seenAt: at.clock.now(),
          facts: null,
          request: null,
        },
      ]);
      await at.clock.advance(10);
      await beat(at.store, "w1", { host: "here", pid: 7, parallel: 9, queues: null, startedAt });
      expect(await alive()).toMatchObject([{ parallel: 9, queues: null, seenAt: at.clock.now() }]);
    });

    test("describe the queues they exclude, their weights, and whether they tick", async () => {
      const shown: Partial<WorkerRecord>[] = [
        { queues: null, exceptQueues: ["a", "!b", "c*2"], weights: null, schedules: true },
        { queues: ["a"], exceptQueues: [], weights: { a: 7, constructor: 2 }, schedules: true },
        { queues: ["exceptQueues", "null"], exceptQueues: [], weights: null, schedules: false },
        { queues: null, exceptQueues: ["é"], weights: { "": 1 }, schedules: false },
      ];
      for (const one of shown) {
        await beat(at.store, "w1", one);
        expect(await alive()).toMatchObject([one]);
      }
      await beat(at.store, "w1");
      expect(await alive()).toMatchObject([
        { queues: null, exceptQueues: [], weights: null, schedules: true },
      ]);
    });

    test("that were not seen for some heartbeats are not alive", async () => {
      await beat(at.store, "w1");
      await at.clock.advance((WORKER_SEEN_WITHIN - 1) / 1000);
      expect(await alive()).toHaveLength(1);
      await at.clock.advance("1ms");
      expect(await alive()).toEqual([]);
      await beat(at.store, "w1");
      expect(await alive()).toHaveLength(1);
    });

    test("learn from their heartbeat what an operator asks of them", async () => {
      const note = { by: "ana", reason: "deploy – ünïcode" };
      expect(await beat(at.store, "w1")).toBeNull();
      await beat(at.store, "w2");
      expect(await at.store.askWorker("w1", "pause", note)).toBe("asked");
      const asked = { action: "pause", since: at.clock.now(), ...note };
      expect(await beat(at.store, "w1", { parallel: 5 })).toEqual(asked);
      expect(await beat(at.store, "w2")).toBeNull();
      expect(await alive()).toMatchObject([
        { id: "w1", request: asked },
        { id: "w2", request: null },
      ]);
      expect(await at.store.askWorker("w1", null)).toBe("asked");
      expect(await beat(at.store, "w1")).toBeNull();
    });

    test("keep a request to stop: neither a pause nor a resumption replaces it", async () => {
      await beat(at.store, "w1");
      await at.store.askWorker("w1", "pause");
      expect(await at.store.askWorker("w1", "stop", { by: "ana", reason: null })).toBe("asked");
      for (const action of ["pause", "stop", null] as const)
        expect(await at.store.askWorker("w1", action, { by: "bo", reason: null })).toBe("stopping");
      expect(await beat(at.store, "w1")).toMatchObject({ action: "stop", by: "ana" });
    });

    test("are not asked if they are unknown or only dispatch", async () => {
      expect(await at.store.askWorker("never seen", "pause")).toBeNull();
      await beat(at.store, "w1", { parallel: 0 });
      expect(await at.store.askWorker("w1", "stop")).toBeNull();
      expect(await beat(at.store, "w1")).toBeNull();
    });

    test("forget a request when they end, also if their row stays for its ad hoc runs", async () => {
      await beat(at.store, "w1");
      await at.store.askWorker("w1", "stop");
      await at.store.releaseJobs("w1");
      expect(await beat(at.store, "w1")).toBeNull();
    });

    test("may leave", async () => {
      await beat(at.store, "w1");
      await beat(at.store, "w2");
      await at.store.leave("w1");
      await at.store.leave("never seen");
      expect(await alive()).toMatchObject([{ id: "w2" }]);
    });

    test("ad hoc runs of an owner that is gone fail", async () => {
      await beat(at.store, "living");
      await beat(at.store, "dying");
      const [ready, scheduled, gone, theirs, nobodys] = await insert(
        at.store,
        { owner: "dying" },
        { owner: "dying", delay: 1000 },
        { owner: "never seen" },
        { owner: "living" },
        {},
      );
      expect(await at.store.reapOwnerless("another", "gone", null)).toEqual([gone]);
      await at.clock.advance(WORKER_DEAD_AFTER / 1000);
      await beat(at.store, "living");
      expect((await at.store.reapOwnerless("another", "gone", null)).sort((a, b) => a - b)).toEqual([
        ready,
        scheduled,
      ]);
      expect(await at.store.reapOwnerless("another", "gone", null)).toEqual([]);
      for (const id of [ready!, scheduled!, gone!]) {
        expect(await found(at.store, id)).toMatchObject({ state: "failed", error: "gone", attempts: 0 });
      }
      for (const id of [theirs!, nobodys!]) expect((await found(at.store, id)).state).toBe("ready");
    });

    test("the calling worker counts as alive, however long ago it was seen", async () => {
      await beat(at.store, "w1");
      await beat(at.store, "w2");
      const [mine, theirs] = await insert(at.store, { owner: "w1" }, { owner: "w2" });
      await at.clock.advance(WORKER_DEAD_AFTER / 1000 + 4);
      expect(await at.store.reapOwnerless("w1", "gone", null)).toEqual([theirs]);
      expect((await found(at.store, mine!)).state).toBe("ready");
    });

    test("a run that its owner has claimed is left as it is", async () => {
      const id = await insertOne(at.store, { owner: "w1" });
      const run = await claimOne(at.store);
      expect(await at.store.reapOwnerless("another", "gone", null)).toEqual([]);
      expect(await at.store.disown("w1", "gone", null)).toEqual([]);
      expect(await settle(at.store, run, "completed")).toBe(true);
      expect((await found(at.store, id)).state).toBe("completed");
    });

    test("an owner that stops fails its own runs and no others", async () => {
      const [mine, later, theirs, nobodys] = await insert(
        at.store,
        { owner: "w1" },
        { owner: "w1", delay: 1000 },
        { owner: "w2" },
        {},
      );
      expect((await at.store.disown("w1", "gone", 0)).sort((a, b) => a - b)).toEqual([mine, later]);
      expect(await at.store.find(mine!)).toBeNull();
      const left = await list(at.store, { limit: 10 });
      expect(ids(left)).toEqual([nobodys, theirs]);
    });
  });
}
