import { describe, expect, test } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimOne,
  ids,
  list,
  newRun,
  type RunFields,
  reap,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function uniqueness(database: Database): void {
  describe("uniqueness", () => {
    const at = fresh(database);

    type Unique = { key?: string; until?: "started" | "finished"; for?: number };
    const ask = async (unique: Unique = {}, fields: RunFields = {}, store: Store = at.store) => {
      const run = newRun({ unique: { key: "once", until: "finished", for: 0, ...unique }, ...fields });
      return (await store.insert([run]))[0]!;
    };

    test("a second run with a held key gets the id of the holder", async () => {
      const first = await ask();
      expect(first.inserted).toBe(true);
      expect(await ask()).toEqual({ id: first.id, inserted: false });
      expect(await ask({}, { name: "another job" })).toEqual({ id: first.id, inserted: false });
      expect(await ask({ key: "other" })).toMatchObject({ inserted: true });
      expect(await list(at.store, { limit: 10 })).toHaveLength(2);
    });

    test("a second run with a held key changes nothing", async () => {
      const { id } = await ask({}, { args: "[1]", delay: 1000 });
      const before = await at.store.find(id);
      await ask({ for: 9000, until: "started" }, { args: "[2]", priority: 1 });
      expect(await at.store.find(id)).toEqual(before);
    });

    test("holds within one insert too", async () => {
      const run = () => newRun({ unique: { key: "once", until: "finished", for: 0 } });
      const [one, two, three] = await at.store.insert([run(), newRun(), run()]);
      expect(one).toMatchObject({ inserted: true });
      expect(two).toMatchObject({ inserted: true });
      expect(three).toEqual({ id: one!.id, inserted: false });
    });

    test.each(["completed", "failed", "skipped", "cancelled"] as const)(
      "until finished: the key is free again once the run is %s",
      async (outcome) => {
        const { id } = await ask();
        const run = await claimOne(at.store);
        expect(await ask()).toEqual({ id, inserted: false });
        await settle(at.store, run, outcome);
        expect(await ask()).toMatchObject({ inserted: true });
      },
    );

    test.each(["retried", "snoozed", "released"] as const)(
      "until finished: the key is still held while the run is %s",
      async (outcome) => {
        const { id } = await ask();
        await settle(at.store, await claimOne(at.store), outcome, {
          delay: outcome === "released" ? 0 : 1000,
        });
        expect(await ask()).toEqual({ id, inserted: false });
      },
    );

    test("until finished: the key is free again once the waiting run is cancelled or removed", async () => {
      const first = await ask();
      await at.store.cancel(first.id, null);
      const second = await ask();
      expect(second.inserted).toBe(true);
      await at.store.remove(second.id);
      expect(await ask()).toMatchObject({ inserted: true });
    });

    test("until started: the key is free again with the claim, also of a prefetched run", async () => {
      const { id } = await ask({ until: "started" }, { delay: 1000 });
      expect(await ask({ until: "started" })).toEqual({ id, inserted: false });
      await at.clock.advance(1);
      const [run] = await claim(at.store, { start: 0 });
      const second = await ask({ until: "started" });
      expect(second.inserted).toBe(true);
      // The second run holds the key by now, and the first may be revived.
      await settle(at.store, run!, "retried");
      expect(await ask({ until: "started" })).toEqual({ id: second.id, inserted: false });
    });

    test("for a while: the key is held after the run has finished, until the while is over", async () => {
      const { id } = await ask({ for: 10_000 });
      await settle(at.store, await claimOne(at.store), "completed");
      await at.clock.advance("9999ms");
      expect(await ask()).toEqual({ id, inserted: false });
      await at.clock.advance("1ms");
      expect(await ask()).toMatchObject({ inserted: true });
    });

    test("for a while: the key is held even if history does not keep the run that long", async () => {
      const first = await ask({ for: 10_000 });
      await settle(at.store, await claimOne(at.store), "completed", { keep: 0 });
      const second = await ask({ key: "other", for: 10_000 });
      await settle(at.store, await claimOne(at.store), "failed", { keep: 1000 });
      await at.clock.advance(5);
      await at.store.prune({ finishedFor: 0, jobsUnseenFor: null, orphansOlderThan: null, batch: 100 });
      expect(await ask()).toEqual({ id: first.id, inserted: false });
      expect(await ask({ key: "other" })).toEqual({ id: second.id, inserted: false });
      await at.clock.advance(5);
      expect(
        (await at.store.prune({ finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 100 }))
          .history,
      ).toBe(2);
      expect(await ask()).toMatchObject({ inserted: true });
    });

    test("for a while and until finished: the later of the two holds", async () => {
      const { id } = await ask({ for: 1000 });
      await at.clock.advance(60);
      expect(await ask()).toEqual({ id, inserted: false });
      await settle(at.store, await claimOne(at.store), "completed");
      expect(await ask()).toMatchObject({ inserted: true });
    });

    test("for a while and until started: the later of the two holds", async () => {
      const { id } = await ask({ for: 10_000, until: "started" });
      await claimOne(at.store);
      await at.clock.advance("9999ms");
      expect(await ask()).toEqual({ id, inserted: false });
      await at.clock.advance("1ms");
      expect(await ask()).toMatchObject({ inserted: true });
    });

    test("20 concurrent dispatches insert one run, and all get its id", async () => {
      const stores = await Promise.all(times(20, () => at.another()));
      const answers = await Promise.all(stores.map((store) => ask({}, {}, store)));
      expect(answers.filter(({ inserted }) => inserted)).toHaveLength(1);
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
      expect(await list(at.store, { limit: 50 })).toHaveLength(1);
    });

    test("a run that was reaped still holds its key", async () => {
      const { id } = await ask();
      await claimOne(at.store, { lease: 1000 });
      await at.clock.advance(2);
      await reap(at.store);
      expect(await ask()).toEqual({ id, inserted: false });
    });

    describe("of a revived run", () => {
      const fail = async (store: Store = at.store) => settle(store, await claimOne(store), "failed");
      const keyOf = async (id: number) => (await at.store.find(id))!.uniqueKey;

      test("is held again while it waits and runs", async () => {
        const { id } = await ask();
        await fail();
        await at.store.revive(id);
        expect(await ask()).toEqual({ id, inserted: false });
        const run = await claimOne(at.store);
        expect(await ask()).toEqual({ id, inserted: false });
        await settle(at.store, run, "completed");
        expect(await ask()).toMatchObject({ inserted: true });
      });

      test("is held until the start again, if its window or a cancellation has kept it", async () => {
        const windowed = await ask({ until: "started", for: 60_000 });
        await fail();
        await at.clock.advance(61);
        const cancelled = await ask({ key: "other", until: "started" });
        await at.store.cancel(cancelled.id, null);
        for (const [{ id }, key] of [
          [windowed, "once"],
          [cancelled, "other"],
        ] as const) {
          await at.store.revive(id);
          expect(await ask({ key })).toEqual({ id, inserted: false });
          const run = await claimOne(at.store);
          const next = await ask({ key });
          expect(next).toMatchObject({ inserted: true });
          await settle(at.store, run, "completed");
          await at.store.cancel(next.id, null);
        }
      });

      test("stays free if the run released it at its start", async () => {
        const { id } = await ask({ until: "started" });
        await fail();
        await at.store.revive(id);
        expect(await ask({ until: "started" })).toMatchObject({ inserted: true });
      });

      test("is held for the window of the dispatch only", async () => {
        const { id } = await ask({ for: 60_000 });
        await fail();
        await at.store.revive(id);
        await fail();
        expect(await ask()).toEqual({ id, inserted: false });
        await at.clock.advance(61);
        expect(await ask()).toMatchObject({ inserted: true });
      });

      test("stays with the run that holds it, waiting or finished", async () => {
        const first = await ask();
        await fail();
        const second = await ask({ for: 60_000 });
        await at.store.revive(first.id);
        expect(await keyOf(first.id)).toBeNull();
        expect(await ask()).toEqual({ id: second.id, inserted: false });
        for (let settled = 0; settled < 2; settled++) await fail();
        await at.store.revive(second.id);
        expect(await ask()).toEqual({ id: second.id, inserted: false });
      });

      test("stays with a finished run for the window of that run", async () => {
        const first = await ask();
        await fail();
        const second = await ask({ for: 60_000 });
        await fail();
        await at.store.revive(first.id);
        expect(await keyOf(first.id)).toBeNull();
        expect(await ask()).toEqual({ id: second.id, inserted: false });
        expect(ids(await claim(at.store))).toEqual([first.id]);
      });

      test("is taken from a running run whose window has ended", async () => {
        const first = await ask();
        await fail();
        const second = await ask({ until: "started", for: 60_000 });
        await claimOne(at.store);
        await at.clock.advance(61);
        await at.store.revive(first.id);
        expect(await ask()).toEqual({ id: first.id, inserted: false });
        expect(await keyOf(second.id)).toBeNull();
      });

      test("has one holder when two runs are revived and others are dispatched at once", async () => {
        const other = await at.another();
        const third = await at.another();
        for (let round = 0; round < 15; round++) {
          const finished: number[] = [];
          for (let n = 0; n < 2; n++) {
            finished.push((await ask()).id);
            await fail();
          }
          const [one, two, ...dispatched] = await Promise.all([
            other.revive(finished[0]!),
            third.revive(finished[1]!),
            ask(),
            ask({}, {}, other),
          ]);
          expect([one, two]).toEqual(["revived", "revived"]);
          const all = await list(at.store, { limit: 100, states: ["ready"] });
          const holders = all.filter(({ uniqueKey }) => uniqueKey === "once").map(({ id }) => id);
          expect(holders).toHaveLength(1);
          for (const answer of dispatched as { id: number }[]) expect(answer.id).toBe(holders[0]);
          expect(all.length).toBe(holders.every((id) => finished.includes(id)) ? 2 : 3);
          for (const run of await claim(at.store, { limit: 10 })) await settle(at.store, run, "failed");
        }
      });
    });
  });
}
