import { describe, expect, test } from "vitest";
import { fresh } from "./fresh.ts";
import { beat, claim, define, ids, insert, insertOne, names } from "./requests.ts";
import type { Database } from "./stores.ts";

export function queues(database: Database): void {
  describe("queues", () => {
    const at = fresh(database);
    const queue = async (name: string) => (await at.store.status()).queues.find((one) => one.name === name);

    test("paused, nothing of it is claimed until it is resumed", async () => {
      const inserted = await insert(at.store, { queue: "a" }, { queue: "a", limited: true });
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

    test("paused for a while, it opens at the moment it was said", async () => {
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

    test("paused again, the last word counts", async () => {
      await insertOne(at.store, { queue: "a" });
      await at.store.pauseQueue("a", true, at.clock.now() + 1000);
      await at.store.pauseQueue("a", true, null);
      await at.clock.advance(60);
      expect(await claim(at.store)).toEqual([]);
    });

    test("a pause and a limit do not touch each other", async () => {
      await define(at.store, [], { queues: [{ name: "a", limit: 3 }] });
      await at.store.pauseQueue("a", true, null);
      expect(await queue("a")).toMatchObject({ limit: 3, paused: true });
      await define(at.store, [], { queues: [{ name: "a", limit: 5 }] });
      expect(await queue("a")).toMatchObject({ limit: 5, paused: true });
      await at.store.pauseQueue("a", false, null);
      expect(await queue("a")).toMatchObject({ limit: 5, paused: false });
    });

    test("of the versions alive the latest started sets the limit", async () => {
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
