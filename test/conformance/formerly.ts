import { describe, expect, test } from "vitest";
import { fresh } from "./fresh.ts";
import { claim, claimOne, define, finish, found, insert, insertOne, list, settle } from "./requests.ts";
import type { Database } from "./stores.ts";

export function formerly(database: Database): void {
  describe("a job with a former name", () => {
    const at = fresh(database);
    const rename = (fields = {}) => define(at.store, [{ name: "new", formerly: ["old"], ...fields }]);

    test("takes over the runs that wait and run, and history", async () => {
      await define(at.store, [{ name: "old" }, { name: "other" }]);
      const done = await finish(at.store, "completed", { name: "old" });
      const running = await insertOne(at.store, { name: "old" });
      const run = await claimOne(at.store);
      const [ready, scheduled, other] = await insert(
        at.store,
        { name: "old" },
        { name: "old", delay: 1000 },
        { name: "other" },
      );
      await rename();
      for (const id of [done, running, ready!, scheduled!])
        expect((await found(at.store, id)).name).toBe("new");
      expect((await found(at.store, other!)).name).toBe("other");
      expect((await at.store.jobNames()).sort()).toEqual(["new", "other"]);
      expect(await settle(at.store, run, "completed")).toBe(true);
      expect(await found(at.store, running)).toMatchObject({ name: "new", state: "completed" });
    });

    test("takes over the lanes, with their keys as they are", async () => {
      await define(at.store, [{ name: "old", keyLimit: 1 }]);
      const keys = ["a", "old|x", "old", "🕰️|old|", "a|old|b"];
      const waiting = await insert(at.store, { name: "old" }, ...keys.map((key) => ({ name: "old", key })));
      const done = await finish(at.store, "completed", { name: "old", key: "old|x", priority: 1 });
      await rename({ keyLimit: 1 });
      const records = await Promise.all(waiting.map((id) => found(at.store, id)));
      expect(records.map(({ key }) => key)).toEqual([null, ...keys]);
      expect((await found(at.store, done)).key).toBe("old|x");
      const lanes = (await list(at.store, { states: ["running"], limit: 10 })).map(({ name }) => name);
      expect(new Set(lanes)).toEqual(new Set(["new"]));
    });

    test("takes over its name in letters that take more than one unit", async () => {
      await define(at.store, [{ name: "⏰🕰️" }]);
      const id = await insertOne(at.store, { name: "⏰🕰️", key: "k" });
      await define(at.store, [{ name: "ü", formerly: ["⏰🕰️"] }]);
      expect(await claimOne(at.store)).toMatchObject({ id, name: "ü", lane: "ü|k" });
    });

    test("its limits count what runs under the former name", async () => {
      await define(at.store, [{ name: "old", limit: 2, keyLimit: 1 }]);
      await insert(
        at.store,
        { name: "old", key: "a", limited: true },
        { name: "old", key: "a", limited: true },
      );
      await claimOne(at.store);
      await rename({ limit: 2, keyLimit: 1 });
      expect(await claim(at.store)).toEqual([]);
      await insertOne(at.store, { name: "new", key: "b", limited: true });
      expect((await claim(at.store)).map(({ lane }) => lane)).toEqual(["new|b"]);
      await insertOne(at.store, { name: "new", key: "c", limited: true });
      expect(await claim(at.store)).toEqual([]);
    });

    test("takes over what was counted, and its state", async () => {
      await define(at.store, [{ name: "old" }]);
      await at.store.pauseJob("old", true);
      const tally = {
        name: "old",
        minute: 5,
        counts: { completed: 3 },
        busy: 10,
        lastRun: 99,
        lastFailure: 98,
      };
      await at.store.flush([{ ...tally, last: { ok: false, failed: 2, error: "why" } }]);
      await rename();
      expect((await at.store.status()).jobs).toMatchObject([
        { name: "new", paused: true, lastRun: 99, lastFailure: 98, fails: 2, lastError: "why" },
      ]);
      expect(await at.sql("select minute, name, completed, busy from punctual_minutes")).toEqual([
        { minute: 5, name: "new", completed: 3, busy: 10 },
      ]);
    });

    test("beside a job that has the new name already", async () => {
      await define(at.store, [{ name: "old" }, { name: "new" }]);
      const [one, two] = await insert(at.store, { name: "old" }, { name: "new" });
      await rename({ limit: 5 });
      expect(await at.store.jobNames()).toEqual(["new"]);
      expect(await at.store.job("new")).toMatchObject({ limit: 5 });
      for (const id of [one!, two!]) expect((await found(at.store, id)).name).toBe("new");
    });

    test("leaves the ad hoc runs of that name alone", async () => {
      await define(at.store, [{ name: "old" }]);
      const id = await insertOne(at.store, { name: "old", owner: "w1", lane: "1|adhoc" });
      const done = await insertOne(at.store, { name: "old", owner: "w2", lane: "2|adhoc" });
      await settle(at.store, await claimOne(at.store, { worker: "w2" }), "completed");
      await rename();
      expect((await found(at.store, id)).name).toBe("old");
      expect((await found(at.store, done)).name).toBe("old");
      expect(await claimOne(at.store)).toMatchObject({ id, lane: "1|adhoc" });
    });

    test("that nobody knows changes nothing, and the second time neither", async () => {
      await rename();
      await rename();
      expect(await at.store.jobNames()).toEqual(["new"]);
    });
  });
}
