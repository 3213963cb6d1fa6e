import { describe, expect, test } from "vitest";
import { WORKER_SILENT_AFTER } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import { beat, cap, claim, claimOne, define, found, insert, insertOne } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Longer than the silence after which the runs of an ended process are taken back. */
const LEASE = 10 * WORKER_SILENT_AFTER;

export function gone(database: Database): void {
  describe("workers whose process has ended", () => {
    const at = fresh(database);
    const reapGone = (...workers: string[]) => at.store.reapGone(workers, cap(3), "its process ended", null);
    const silent = () => at.clock.advance(WORKER_SILENT_AFTER / 1000);

    test("lose all their runs before the leases end, and charge those that had started", async () => {
      const [started, ahead] = await insert(at.store, {}, {});
      await beat(at.store, "w1");
      await claim(at.store, { start: 1, lease: LEASE });
      await silent();
      expect(await reapGone("w1")).toMatchObject([
        { id: started, state: "ready", worker: "w1", crashed: true },
        { id: ahead, state: "ready", worker: "w1", crashed: false },
      ]);
      expect(await found(at.store, started!)).toMatchObject({ state: "ready", crashes: 1, worker: null });
      expect(await found(at.store, ahead!)).toMatchObject({ state: "ready", crashes: 0, worker: null });
      expect(await at.store.attempts(started!)).toMatchObject([{ outcome: "crashed" }]);
      expect(await at.store.attempts(ahead!)).toMatchObject([{ outcome: "lost" }]);
    });

    test("free the slots of their limits", async () => {
      await define(at.store, [{ name: "job", limit: 1 }]);
      const [first] = await insert(at.store, {}, {});
      await beat(at.store, "w1");
      expect(await claim(at.store, { lease: LEASE })).toMatchObject([{ id: first }]);
      expect(await claim(at.store)).toEqual([]);
      await silent();
      await reapGone("w1");
      expect(await claim(at.store)).toMatchObject([{ id: first, crashes: 1 }]);
    });

    test("keep their runs until they have been silent for a while", async () => {
      const id = await insertOne(at.store);
      await beat(at.store, "w1");
      const run = await claimOne(at.store, { lease: LEASE });
      await at.clock.advance((WORKER_SILENT_AFTER - 1) / 1000);
      expect(await reapGone("w1")).toEqual([]);
      expect(await found(at.store, id)).toMatchObject({ worker: "w1", lockedUntil: run.claimedAt + LEASE });
      await at.clock.advance("1ms");
      expect(await reapGone("w1")).toMatchObject([{ id }]);
    });

    test("leave the runs of others alone", async () => {
      const id = await insertOne(at.store);
      for (const worker of ["w1", "w2"]) await beat(at.store, worker);
      await claimOne(at.store, { worker: "w2", lease: LEASE });
      await silent();
      expect(await reapGone("w1", "w3")).toEqual([]);
      expect(await found(at.store, id)).toMatchObject({ worker: "w2" });
    });

    test("cannot write about a run that was taken back", async () => {
      const id = await insertOne(at.store);
      await beat(at.store, "w1");
      const run = await claimOne(at.store, { lease: LEASE });
      await silent();
      await reapGone("w1");
      expect(await at.store.start(run, false)).toBe(false);
      expect((await at.store.renew("w1", [{ ...run, lease: LEASE }])).held.has(id)).toBe(false);
    });

    test("are found by their host, if they hold runs, with the marks of their processes", async () => {
      const facts = { process: "mark 1", version: "1", memory: 1, load: 0, lag: 0, children: [] };
      await insert(at.store, {}, {}, {});
      await beat(at.store, "w1", { host: "here", pid: 7, facts });
      await beat(at.store, "w2", { host: "here", pid: 8, facts: { ...facts, process: null } });
      await beat(at.store, "w3", { host: "there", facts });
      await beat(at.store, "idle", { host: "here", facts });
      for (const worker of ["w1", "w2", "w3"]) await claimOne(at.store, { worker, lease: LEASE });
      await at.clock.advance(3);
      await beat(at.store, "w2", { host: "here", pid: 8 });
      expect((await at.store.busyWorkersOf("here")).sort((a, b) => a.pid - b.pid)).toEqual([
        { id: "w1", pid: 7, process: "mark 1", silence: 3000 },
        { id: "w2", pid: 8, process: null, silence: 0 },
      ]);
    });
  });
}
