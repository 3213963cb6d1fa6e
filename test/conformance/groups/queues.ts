import { describe, expect, test } from "vitest";
import type { ClaimedRun } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  claim,
  claimRequest,
  define,
  defineLimited,
  exchange,
  ids,
  insert,
  insertOne,
  LIMITED,
  names,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function queues(database: Database): void {
  describe("queues", () => {
    const at = fresh(database);
    const queue = async (name: string) => (await at.store.status()).queues.find((one) => one.name === name);

    test("very many queues, and runs of jobs of other workers, do not prevent a claim", async () => {
      const foreign = times(100, (n) => `foreign ${n}`);
      const queues = times(700, (n) => `queue ${n}`);
      await define(
        at.store,
        [...foreign.map((name) => ({ name, limit: 1 })), { name: "held", keyLimit: 1 }, { name: "free" }],
        { queues: [{ name: "queue 5", limit: 1 }] },
      );
      await insert(
        at.store,
        ...queues.flatMap((queue, n) => [
          { name: foreign[n % 100]!, queue },
          { name: "held", queue, key: queue },
          { name: "free", queue, priority: 200 },
        ]),
      );
      const claimed = await claim(at.store, { limit: 2000, exclude: foreign });
      expect(names(claimed).filter((name) => name === "free")).toHaveLength(699);
      expect(names(claimed).filter((name) => name === "held")).toHaveLength(700);
    });

    test("a paused queue has no run claimed until it is resumed", async () => {
      await defineLimited(at.store);
      const inserted = await insert(at.store, { queue: "a" }, { queue: "a", ...LIMITED });
      await insertOne(at.store, { name: "other", queue: "b" });
      await at.store.pauseQueue("a", true, null);
      expect(names(await claim(at.store))).toEqual(["other"]);
      expect(await claim(at.store, { queues: ["a"] })).toEqual([]);
      expect(await queue("a")).toMatchObject({ paused: true, pausedUntil: null });
      await at.clock.advance("300 days");
      expect(await claim(at.store)).toEqual([]);
      await at.store.pauseQueue("a", false, null);
      expect(ids(await claim(at.store))).toEqual(inserted);
      expect(await queue("a")).toMatchObject({ paused: false, pausedUntil: null });
    });

    test("a change since the last claim takes effect in the exchange that settles", async () => {
      await define(at.store, [{ name: "job", limit: 3 }, { name: "free" }, { name: "held" }]);
      const both = (queue: string) => [
        { name: "job", queue },
        { name: "free", queue },
      ];
      await insert(at.store, ...both("a"), ...both("a"), { name: "held", queue: "a" });
      let seq = 0;
      const next = async (runs: ClaimedRun[], limit = 2) => {
        const settle = runs.map((run) => settlement(run, "completed"));
        return (await exchange(at.store, { seq: ++seq, settle, claim: claimRequest({ limit }) })).claimed;
      };
      const first = await next([]);
      expect(names(first).sort()).toEqual(["free", "job"]);
      await at.store.pauseQueue("a", true, null);
      expect(await next([first[0]!])).toEqual([]);
      await insert(at.store, ...both("b"));
      const second = await next([first[1]!]);
      expect(second.map(({ queue }) => queue)).toEqual(["b", "b"]);
      await at.store.pauseQueue("a", false, null);
      await at.store.pauseJob("held", true);
      const third = await next(second, 10);
      expect(names(third).sort()).toEqual(["free", "job"]);
      await at.store.pauseJob("held", false);
      expect(names(await next(third))).toEqual(["held"]);
    });

    test("a queue paused for a while opens at the given time", async () => {
      await insertOne(at.store, { queue: "a" });
      const until = at.clock.now() + 10_000;
      await at.store.pauseQueue("a", true, until);
      await at.clock.advance("9999ms");
      expect(await queue("a")).toMatchObject({ paused: true, pausedUntil: until });
      expect(await claim(at.store)).toEqual([]);
      await at.clock.advance("1ms");
      expect(await queue("a")).toMatchObject({ paused: false, pausedUntil: null });
      expect(await claim(at.store)).toHaveLength(1);
    });

    test("a pause keeps by whom, since when and why, until it is resumed", async () => {
      const since = at.clock.now();
      await at.store.pauseQueue("a", true, null, { by: "ana", reason: "on fire: 100%\nreally é" });
      await at.store.pauseQueue("b", true, since + 1000);
      expect(await queue("a")).toMatchObject({
        pause: { since, by: "ana", reason: "on fire: 100%\nreally é" },
      });
      expect(await queue("b")).toMatchObject({ pause: { since, by: null, reason: null } });
      const id = await insertOne(at.store, { queue: "a" });
      expect(await at.store.waitFacts(id)).toMatchObject({ queue: { pause: { by: "ana" } } });
      await at.clock.advance(1);
      expect(await queue("b")).toMatchObject({ paused: false, pause: null });
      await at.store.pauseQueue("a", false, null);
      expect(await queue("a")).toMatchObject({ paused: false, pause: null });
      await at.store.pauseQueue("a", true, null);
      expect(await queue("a")).toMatchObject({ pause: { by: null, reason: null } });
    });

    test("the last of two pauses holds", async () => {
      await insertOne(at.store, { queue: "a" });
      await at.store.pauseQueue("a", true, at.clock.now() + 1000);
      await at.store.pauseQueue("a", true, null);
      await at.clock.advance(60);
      expect(await claim(at.store)).toEqual([]);
    });

    test("a pause and a limit do not affect each other", async () => {
      await define(at.store, [], { queues: [{ name: "a", limit: 3 }] });
      await at.store.pauseQueue("a", true, null);
      expect(await queue("a")).toMatchObject({ limit: 3, paused: true });
      await define(at.store, [], { queues: [{ name: "a", limit: 5 }] });
      expect(await queue("a")).toMatchObject({ limit: 5, paused: true });
      await at.store.pauseQueue("a", false, null);
      expect(await queue("a")).toMatchObject({ limit: 5, paused: false });
    });

    test("the most recently started live worker sets the limit", async () => {
      await beat(at.store, "old");
      await beat(at.store, "new");
      const show = (worker: string, startedAt: number, limit: number) =>
        define(at.store, [], { worker, startedAt, queues: [{ name: "a", limit }] });
      await show("new", 200, 9);
      await show("old", 100, 1);
      expect(await queue("a")).toMatchObject({ limit: 9 });
      await at.store.leave("new");
      await show("old", 100, 1);
      expect(await queue("a")).toMatchObject({ limit: 1 });
    });
  });
}
