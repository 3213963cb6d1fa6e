import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimOne,
  claimRequest,
  DECLARED,
  define,
  exchange,
  ids,
  insert,
  insertOne,
  names,
  type RunFields,
  reap,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function limits(database: Database): void {
  describe("limits", () => {
    const at = fresh(database);
    const limited = (count: number, fields: RunFields = {}) =>
      insert(at.store, ...times(count, () => ({ ...fields })));

    test("of a job bound its running runs", async () => {
      await define(at.store, [{ name: "job", limit: 2 }]);
      const inserted = await limited(5);
      expect(ids(await claim(at.store))).toEqual(inserted.slice(0, 2));
      expect(await claim(at.store)).toEqual([]);
      expect(await claim(await at.another(), { worker: "w2" })).toEqual([]);
    });

    test("of a key bound the runs of each key, and no run without one", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      await limited(3, { key: "a" });
      await limited(3, { key: "b" });
      await limited(3, { key: null });
      const claimed = await claim(at.store);
      expect(claimed.map(({ lane }) => lane)).toEqual(["job|a", "job|b", "job|", "job|", "job|"]);
      expect(await claim(at.store)).toEqual([]);
      await settle(at.store, claimed[0]!, "completed");
      expect((await claim(at.store)).map(({ lane }) => lane)).toEqual(["job|a"]);
    });

    test("of a queue bound the runs of all its jobs, and of no other queue", async () => {
      await define(at.store, [{ name: "a" }, { name: "b" }], { queues: [{ name: "small", limit: 3 }] });
      await limited(2, { name: "a", queue: "small" });
      await limited(4, { name: "b", queue: "small" });
      await limited(2, { name: "a", queue: "large" });
      expect(names(await claim(at.store, { queues: ["small"] }))).toEqual(["a", "a", "b"]);
      expect(await claim(at.store, { queues: ["small"] })).toEqual([]);
      expect(names(await claim(at.store))).toEqual(["a", "a"]);
    });

    test("hold together if a run is under several", async () => {
      await define(
        at.store,
        [
          { name: "a", limit: 3, keyLimit: 1 },
          { name: "b", limit: 9 },
        ],
        {
          queues: [{ name: "default", limit: 5 }],
        },
      );
      await limited(4, { name: "a", key: "x" });
      await limited(4, { name: "a", key: null });
      await limited(9, { name: "b" });
      const claimed = await claim(at.store);
      expect(claimed.map(({ lane }) => lane)).toEqual(["a|x", "a|", "a|", "b", "b"]);
      expect(await claim(at.store)).toEqual([]);
      await settle(at.store, claimed[1]!, "completed");
      expect((await claim(at.store)).map(({ lane }) => lane)).toEqual(["a|"]);
    });

    test("that are full hold back no other runs", async () => {
      await define(at.store, [{ name: "closed", limit: 1 }, { name: "open", limit: 5 }, { name: "free" }]);
      await limited(20, { name: "closed", priority: 1 });
      await insert(at.store, { name: "open", priority: 2 }, { name: "free", priority: 3 });
      expect(names(await claim(at.store))).toEqual(["closed", "open", "free"]);
    });

    test.each(["completed", "failed", "skipped", "cancelled", "retried", "snoozed", "released"] as const)(
      "a run that is %s frees its slot for the claim of the same exchange",
      async (outcome) => {
        await define(at.store, [{ name: "job", limit: 1, keyLimit: 1 }], {
          queues: [{ name: "default", limit: 1 }],
        });
        const [first, second] = await limited(2, { key: "k" });
        const run = await claimOne(at.store);
        const answer = await exchange(at.store, {
          settle: [settlement(run, outcome)],
          claim: claimRequest(),
        });
        const back = ["retried", "snoozed", "released"].includes(outcome);
        expect(ids(answer.claimed)).toEqual([back ? first : second]);
      },
    );

    test("a settlement without a lease frees no slot", async () => {
      await define(at.store, [{ name: "job", limit: 1 }]);
      await limited(2);
      const stale = await claimOne(at.store, { lease: 1000 });
      await at.clock.advance(2);
      await reap(at.store);
      await claimOne(at.store, { worker: "w2" });
      const answer = await exchange(at.store, {
        settle: [settlement(stale, "completed"), settlement(stale, "released")],
        claim: claimRequest(),
      });
      expect(answer).toMatchObject({ settled: [false, false], claimed: [] });
    });

    test("a run of a dead worker uses its slot until it is reaped", async () => {
      await define(at.store, [{ name: "job", limit: 2 }]);
      await limited(4);
      await claim(at.store, { lease: 1000 });
      await at.clock.advance(2);
      expect(await claim(at.store)).toEqual([]);
      await reap(at.store);
      expect(await claim(at.store)).toHaveLength(2);
    });

    test("raised, admit more runs at the next claim", async () => {
      await define(at.store, [{ name: "job", limit: 1 }]);
      await limited(5);
      expect(await claim(at.store)).toHaveLength(1);
      await define(at.store, [{ name: "job", limit: 3 }]);
      expect(await claim(at.store)).toHaveLength(2);
      expect(await claim(at.store)).toEqual([]);
    });

    test("lowered, let running runs finish, and the next start when there is room", async () => {
      await define(at.store, [{ name: "job", limit: 3 }]);
      await limited(6);
      const [one, two, three] = await claim(at.store);
      await define(at.store, [{ name: "job", limit: 1 }]);
      expect(await claim(at.store)).toEqual([]);
      expect(await settle(at.store, one!, "completed")).toBe(true);
      expect(await settle(at.store, two!, "completed")).toBe(true);
      expect(await claim(at.store)).toEqual([]);
      await settle(at.store, three!, "completed");
      expect(await claim(at.store)).toHaveLength(1);
    });

    test("removed, admit all waiting runs", async () => {
      await define(at.store, [{ name: "job", limit: 1, keyLimit: 1 }], {
        queues: [{ name: "default", limit: 1 }],
      });
      await limited(5, { key: "k" });
      expect(await claim(at.store)).toHaveLength(1);
      await define(at.store, [{ name: "job", limit: 0, keyLimit: 0 }], {
        queues: [{ name: "default", limit: 0 }],
      });
      expect(await claim(at.store)).toHaveLength(4);
    });

    test("of 0 mean no limit", async () => {
      await define(at.store, [{ name: "job", limit: 0, keyLimit: 0 }], {
        queues: [{ name: "default", limit: 0 }],
      });
      await limited(5, { key: "k" });
      expect(await claim(at.store)).toHaveLength(5);
    });

    test("do not exist for a job that no worker has synced", async () => {
      await limited(3, { name: "unknown" });
      expect(await claim(at.store)).toHaveLength(3);
    });

    test("are 1 for a job that is only declared", async () => {
      await limited(3, { job: DECLARED });
      expect(await claim(at.store)).toHaveLength(1);
      expect(await claim(at.store)).toEqual([]);
    });

    test.each([
      { what: "a job", job: { limit: 2 }, queue: 0 },
      { what: "a key", job: { keyLimit: 2 }, queue: 0 },
      { what: "a queue", job: {}, queue: 2 },
    ])("introduced for $what, hold for runs that wait and run without one", async ({ job, queue }) => {
      await define(at.store, [{ name: "job" }], { queues: [{ name: "default", limit: 0 }] });
      await insert(at.store, ...times(4, () => ({ key: "k" })), { delay: 1000, key: "k" });
      await claim(at.store, { limit: 1 });
      await define(at.store, [{ name: "job", ...job }], { queues: [{ name: "default", limit: queue }] });
      await at.clock.advance(1);
      expect(await claim(at.store)).toHaveLength(1);
      expect(await claim(at.store)).toEqual([]);
    });

    test("of a new job hold for runs dispatched before", async () => {
      await insert(at.store, ...times(4, () => ({})));
      await define(at.store, [{ name: "job", limit: 1 }]);
      expect(await claim(at.store)).toHaveLength(1);
      expect(await claim(at.store)).toEqual([]);
    });

    test("a run under a limit is not prefetched", async () => {
      await define(at.store, [{ name: "job", limit: 9 }, { name: "free" }]);
      await limited(5, { priority: 1 });
      await insert(at.store, ...times(5, () => ({ name: "free", priority: 2 })));
      const claimed = await claim(at.store, { limit: 6, start: 2 });
      expect(names(claimed)).toEqual(["job", "job", "free", "free", "free", "free"]);
      expect(claimed.map(({ started }) => started)).toEqual([true, true, false, false, false, false]);
      expect(names(await claim(at.store, { limit: 6, start: 0 }))).toEqual(["free"]);
    });

    test("a run under a limit may be claimed as the next to start, and counts from then on", async () => {
      await define(at.store, [{ name: "job", limit: 2 }, { name: "free" }]);
      await limited(5, { priority: 1 });
      await insert(at.store, ...times(2, () => ({ name: "free", priority: 2 })));
      const claimed = await claim(at.store, { limit: 3, start: 0, limited: 1 });
      expect(claimed.map(({ name, started }) => [name, started])).toEqual([
        ["job", false],
        ["free", false],
        ["free", false],
      ]);
      expect(names(await claim(at.store, { limit: 3, start: 0, limited: 3 }))).toEqual(["job"]);
    });

    test("a run before it in the order takes the slot in which it would start", async () => {
      await define(at.store, [{ name: "job", limit: 9 }]);
      await insert(at.store, { name: "free", priority: 1 }, { name: "free", priority: 1 });
      await limited(3, { priority: 2 });
      expect(names(await claim(at.store, { limit: 4, start: 2 }))).toEqual(["free", "free"]);
      expect(names(await claim(at.store, { limit: 4, start: 2 }))).toEqual(["job", "job"]);
    });

    test("a run with an owner is under none", async () => {
      await define(at.store, [{ name: "job", limit: 1 }], { queues: [{ name: "default", limit: 1 }] });
      await limited(2);
      await insert(at.store, { owner: "w1", lane: "1|adhoc" }, { owner: "w1", lane: "2|adhoc" });
      expect(await claim(at.store)).toHaveLength(3);
    });

    test("distinguish jobs and keys whose names concatenate to the same text", async () => {
      await define(at.store, [
        { name: "a", keyLimit: 3 },
        { name: "a|b", keyLimit: 1 },
      ]);
      await insert(
        at.store,
        ...times(3, () => ({ name: "a", key: "b|c" })),
        ...times(3, () => ({ name: "a|b", key: "c" })),
      );
      expect(names(await claim(at.store))).toEqual(["a", "a", "a", "a|b"]);
    });

    test("hold over two connections that claim at once", async () => {
      await define(at.store, [{ name: "job", limit: 3 }]);
      const other = await at.another();
      for (let round = 0; round < 20; round++) {
        await limited(6);
        const both = (
          await Promise.all([claim(at.store, { worker: "w1" }), claim(other, { worker: "w2" })])
        ).flat();
        expect(both).toHaveLength(3);
        await exchange(at.store, { settle: both.map((run) => settlement(run, "completed", { keep: 0 })) });
      }
    });

    test("of a paused job free their slots, and its runs wait", async () => {
      await define(
        at.store,
        [
          { name: "job", limit: 1 },
          { name: "other", limit: 1 },
        ],
        {
          queues: [{ name: "default", limit: 1 }],
        },
      );
      await limited(2);
      const other = await insertOne(at.store, { name: "other" });
      const run = await claimOne(at.store);
      await at.store.pauseJob("job", true);
      const answer = await exchange(at.store, {
        settle: [settlement(run, "completed")],
        claim: claimRequest(),
      });
      expect(ids(answer.claimed)).toEqual([other]);
    });
  });
}
