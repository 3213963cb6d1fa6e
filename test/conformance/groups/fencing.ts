import { describe, expect, test } from "vitest";
import { type Outcome, outcomeRules } from "../../../src/run/states.ts";
import type { ClaimedRun, Lease, Store } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import { cap, claimOne, exchange, found, insertOne, reap, settle, settlement } from "../support/requests.ts";
import { everythingOf } from "../support/rows.ts";
import type { Database } from "../support/stores.ts";

interface Write {
  what: string;
  /** Returns whether the store reports the write as done. */
  attempt(store: Store, stale: Lease): Promise<boolean | "cancelled">;
}

const outcomes = Object.keys(outcomeRules) as Outcome[];

const settlements: Write[] = outcomes.flatMap((outcome) => [
  {
    what: `settle as ${outcome}`,
    attempt: (store, stale) => settle(store, stale, outcome, { delay: 10, error: "stale", result: "[9]" }),
  },
  {
    what: `settle as ${outcome} and not keep it`,
    attempt: (store, stale) => settle(store, stale, outcome, { keep: 0, error: "stale" }),
  },
]);

const writes: Write[] = [
  ...settlements,
  {
    what: "settle in a group with others",
    attempt: async (store, stale) => {
      const { settled } = await exchange(store, {
        settle: outcomes.map((outcome) => settlement(stale, outcome, { error: "stale" })),
      });
      return settled.includes(true);
    },
  },
  {
    what: "renew",
    attempt: async (store, stale) =>
      (await store.renew("w1", [{ ...stale, lease: 999_999 }])).held.has(stale.id),
  },
  { what: "start", attempt: (store, stale) => store.start(stale, false) },
  {
    what: "say that it has started",
    attempt: async (store, stale) => {
      await exchange(store, { started: [stale] });
      return false;
    },
  },
  { what: "progress", attempt: (store, stale) => store.progress(stale, '"stale"') },
  {
    what: "name a slow hook",
    attempt: (store, stale) => store.slowHook(stale, { name: "onAfter", elapsed: 5000, limit: 30_000 }),
  },
  {
    what: "take back",
    attempt: async (store, stale) => (await store.takeBack([stale], cap(1), "stale", null)).length > 0,
  },
  {
    what: "write in a transaction",
    attempt: (store, stale) => {
      const work = () => {
        throw new Error("the work of a stale lease was begun");
      };
      return store.transaction(settlement(stale, "completed"), work);
    },
  },
];

export function fencing(database: Database): void {
  describe("fencing", () => {
    const at = fresh(database);

    /** A worker that paused until its lease was over, and another worker that has the run. */
    async function overtaken(): Promise<{ stale: ClaimedRun; current: ClaimedRun }> {
      const id = await insertOne(at.store, { args: "[1]", unique: { key: "u", until: "finished", for: 0 } });
      const stale = await claimOne(at.store, { worker: "w1", lease: 1000 });
      await at.clock.advance(2);
      await reap(at.store);
      const current = await claimOne(at.store, { worker: "w2", start: 0 });
      expect([stale.id, current.id]).toEqual([id, id]);
      return { stale, current };
    }

    test.each(writes)("a stale lease cannot $what while the next attempt runs", async ({ attempt }) => {
      const { stale, current } = await overtaken();
      const before = await everythingOf(at, stale.id);
      await at.clock.advance(1);
      expect(await attempt(at.store, stale)).toBe(false);
      expect(await everythingOf(at, stale.id)).toEqual(before);
      expect(await settle(at.store, current, "completed")).toBe(true);
    });

    test.each(writes)(
      "a stale lease cannot $what once the next attempt has finished",
      async ({ attempt }) => {
        const { stale, current } = await overtaken();
        await settle(at.store, current, "completed", { result: "[2]" });
        const before = await everythingOf(at, stale.id);
        await at.clock.advance(1);
        expect(await attempt(at.store, stale)).toBe(false);
        expect(await everythingOf(at, stale.id)).toEqual(before);
      },
    );

    test.each(writes)("a stale lease cannot $what while the run waits", async ({ attempt }) => {
      const { stale, current } = await overtaken();
      await settle(at.store, current, "retried", { delay: 60_000, error: "second" });
      const before = await everythingOf(at, stale.id);
      await at.clock.advance(1);
      expect(await attempt(at.store, stale)).toBe(false);
      expect(await everythingOf(at, stale.id)).toEqual(before);
    });

    test.each(writes)("a stale lease cannot $what when the run was deleted", async ({ attempt }) => {
      const { stale, current } = await overtaken();
      await settle(at.store, current, "completed", { keep: 0 });
      expect(await attempt(at.store, stale)).toBe(false);
      expect(await everythingOf(at, stale.id)).toEqual({ runs: [], history: [], attempts: [] });
    });

    test.each(writes)("the token of one run cannot $what of another", async ({ attempt }) => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      const other = await insertOne(at.store);
      const theirs = await claimOne(at.store);
      const before = [await everythingOf(at, id), await everythingOf(at, other)];
      await at.clock.advance(1);
      expect(await attempt(at.store, { id, token: theirs.token })).toBe(false);
      expect(await attempt(at.store, { id: other, token: run.token })).toBe(false);
      expect([await everythingOf(at, id), await everythingOf(at, other)]).toEqual(before);
    });

    test("a stale lease and the current one in one group each get their own answer", async () => {
      const { stale, current } = await overtaken();
      const { settled } = await exchange(at.store, {
        settle: [
          settlement(stale, "completed", { result: "[1]" }),
          settlement(current, "completed", { result: "[2]" }),
        ],
      });
      expect(settled).toEqual([false, true]);
      expect((await found(at.store, stale.id)).result).toBe("[2]");
    });

    test("an earlier lease of the same worker is stale too", async () => {
      const id = await insertOne(at.store);
      const stale = await claimOne(at.store);
      await settle(at.store, stale, "released");
      const current = await claimOne(at.store);
      const before = await everythingOf(at, id);
      expect(await settle(at.store, stale, "completed")).toBe(false);
      expect(await everythingOf(at, id)).toEqual(before);
      expect(await settle(at.store, current, "completed")).toBe(true);
    });

    test("a revived run cannot be settled by its earlier lease", async () => {
      const id = await insertOne(at.store);
      const stale = await claimOne(at.store);
      await settle(at.store, stale, "failed");
      await at.store.revive(id);
      await claimOne(at.store, { worker: "w2" });
      expect(await settle(at.store, stale, "completed")).toBe(false);
    });
  });
}
