import { describe, expect, test } from "vitest";
import type { ClaimedRun } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  cap,
  claim,
  claimOne,
  defineLimited,
  exchange,
  found,
  ids,
  insert,
  insertOne,
  LIMITED,
  type RunFields,
  reap,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Support of the store for workers that isolate crashed runs. */
export function isolation(database: Database): void {
  describe("isolation", () => {
    const at = fresh(database);

    /** Ready runs, each of them with one crash. */
    async function crashed(...runs: RunFields[]): Promise<number[]> {
      const made = await insert(at.store, ...runs);
      // A claim reads a bounded number of limited runs.
      for (let left = made.length; left > 0; ) left -= (await claim(at.store, { lease: 1000 })).length;
      await at.clock.advance(2);
      await reap(at.store);
      return made;
    }

    /** Starts a claimed run, and lets its worker die. */
    async function crash(run: ClaimedRun, isolated: boolean): Promise<string[]> {
      await at.store.start(run, isolated);
      await at.clock.advance(2);
      const reaped = await at.store.reap(10, { isolated: 3, shared: 5 }, "crashed", null);
      return reaped.map(({ state }) => state);
    }

    test.each<[string, RunFields]>([
      ["under no limit", {}],
      ["under a limit", LIMITED],
    ])("a claim takes no more crashed runs than it can isolate, %s", async (_, fields) => {
      await defineLimited(at.store);
      const five = await crashed(...times(5, () => fields));
      expect(ids(await claim(at.store, { crashed: 0 }))).toEqual([]);
      expect(ids(await claim(at.store, { worker: "w1", crashed: 1 }))).toEqual(five.slice(0, 1));
      expect(ids(await claim(at.store, { worker: "w2", crashed: 2 }))).toEqual(five.slice(1, 3));
      for (const id of five.slice(3)) expect(await found(at.store, id)).toMatchObject({ state: "ready" });
      expect(ids(await claim(at.store, { worker: "w3", crashed: 5 }))).toEqual(five.slice(3));
    });

    test("limited and unlimited crashed runs share one bound", async () => {
      await defineLimited(at.store);
      const made = await crashed({}, LIMITED, {}, LIMITED);
      expect(ids(await claim(at.store, { crashed: 2 }))).toEqual(made.slice(0, 2));
    });

    test.each<[string, RunFields]>([
      ["under no limit", {}],
      ["under a limit", LIMITED],
      ["in one lane", { ...LIMITED, key: "a" }],
    ])("crashed runs do not hide others from a claim that takes none, %s", async (_, fields) => {
      await defineLimited(at.store);
      // More than a claim reads in the order of the queue.
      await crashed(...times(100, () => fields));
      const fine = await insert(at.store, ...times(3, () => fields));
      expect(ids(await claim(at.store, { limit: 2, crashed: 0 }))).toEqual(fine.slice(0, 2));
      expect(ids(await claim(at.store, { limit: 2, crashed: 0 }))).toEqual(fine.slice(2));
    });

    test("a crashed run that is left out does not use the room of another", async () => {
      const [first] = await crashed({ priority: 1 }, { priority: 2 });
      const fine = await insertOne(at.store, { priority: 3 });
      expect(ids(await claim(at.store, { limit: 3, crashed: 1 }))).toEqual([first, fine]);
    });

    test("the bound holds in queues with weights", async () => {
      const [first] = await crashed({ queue: "a" }, { queue: "a" });
      const fine = await insertOne(at.store, { queue: "b" });
      const claimed = await claim(at.store, { crashed: 1, stride: () => 1 });
      expect(ids(claimed).sort()).toEqual([first, fine]);
    });

    test("an ad hoc run is not bounded: its process has survived", async () => {
      const made = await crashed({ owner: "w1" }, { owner: "w1" });
      expect(ids(await claim(at.store, { crashed: 0 }))).toEqual(made);
    });

    test("the cap ends an isolated run; a run with neighbours has a higher cap", async () => {
      const id = await insertOne(at.store);
      expect(await crash(await claimOne(at.store, { lease: 1000 }), false)).toEqual(["ready"]);
      expect(await crash(await claimOne(at.store, { lease: 1000 }), false)).toEqual(["ready"]);
      expect(await crash(await claimOne(at.store, { lease: 1000 }), false)).toEqual(["ready"]);
      expect(await crash(await claimOne(at.store, { lease: 1000 }), true)).toEqual(["failed"]);
      expect(await found(at.store, id)).toMatchObject({ state: "failed", crashes: 4 });
      const shared = await insertOne(at.store);
      for (const state of ["ready", "ready", "ready", "ready", "failed"]) {
        expect(await crash(await claimOne(at.store, { lease: 1000 }), false)).toEqual([state]);
      }
      expect(await found(at.store, shared)).toMatchObject({ state: "failed", crashes: 5 });
    });

    test("the third crash of a run that was isolated each time ends it", async () => {
      await insertOne(at.store);
      for (const state of ["ready", "ready", "failed"]) {
        expect(await crash(await claimOne(at.store, { lease: 1000 }), true)).toEqual([state]);
      }
    });

    test("a run that others joined is no longer isolated; its start mark stays", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 60_000, start: 0 });
      const now = at.clock.now();
      expect(await at.store.start(run, true)).toBe(true);
      expect(await found(at.store, id)).toMatchObject({ isolated: true, startedAt: now });
      await at.clock.advance(5);
      expect(await at.store.start(run, false)).toBe(true);
      expect(await found(at.store, id)).toMatchObject({ isolated: false, startedAt: now });
    });

    test("a run that waits again is not isolated", async () => {
      const id = await insertOne(at.store);
      for (const outcome of ["retried", "released", "snoozed"] as const) {
        const run = await claimOne(at.store);
        await at.store.start(run, true);
        await settle(at.store, run, outcome);
        expect(await found(at.store, id)).toMatchObject({ isolated: false });
      }
    });

    test("status and wait facts name the isolated runs", async () => {
      const [id] = await crashed({ name: "long" });
      await crashed({ owner: "w1" });
      const waiting = await insertOne(at.store);
      const isolated = async () => {
        const { isolated: all } = await at.store.status();
        expect((await at.store.waitFacts(waiting))!.isolated).toEqual(all);
        return all;
      };
      expect(await isolated()).toEqual([]);
      const runs = await claim(at.store, { limit: 2, lease: 60_000 });
      const run = runs.find((one) => one.id === id)!;
      expect(await isolated()).toEqual([{ id, name: "long", worker: "w1", child: null, startedAt: null }]);
      await at.store.start(run, true);
      const startedAt = at.clock.now();
      expect(await isolated()).toEqual([{ id, name: "long", worker: "w1", child: null, startedAt }]);
      await exchange(at.store, { started: [{ ...run, child: "2:99" }] });
      expect(await isolated()).toMatchObject([{ id, child: "2:99" }]);
      await at.store.start(run, false);
      expect(await isolated()).toEqual([]);
      await at.store.start(run, true);
      await at.clock.advance(61);
      expect(await isolated()).toEqual([]);
    });

    test("runs of a child process have the same caps", async () => {
      const id = await insertOne(at.store);
      for (const [isolated, state] of [
        [true, "ready"],
        [true, "ready"],
        [false, "ready"],
        [true, "failed"],
      ] as const) {
        const run = await claimOne(at.store);
        await at.store.start({ ...run, child: "1:100" }, isolated);
        const taken = await at.store.takeBack([run], { isolated: 3, shared: 5 }, "its child ended", null);
        expect(taken).toMatchObject([{ id, state }]);
      }
      expect(await at.store.takeBack([], cap(1), "", null)).toEqual([]);
    });
  });
}
