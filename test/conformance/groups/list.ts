import { describe, expect, test } from "vitest";
import type { RunState } from "../../../src/run/states.ts";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimOne,
  finish,
  ids,
  insert,
  insertOne,
  type ListFields,
  list,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const states: RunState[] = ["scheduled", "ready", "running", "completed", "failed", "cancelled", "skipped"];

export function listing(database: Database): void {
  describe("list", () => {
    const at = fresh(database);
    const listed = async (filter: ListFields = {}) => ids(await list(at.store, filter));

    /** One run in each state. */
    async function oneOfEach(): Promise<Record<RunState, number>> {
      const completed = await finish(at.store, "completed");
      const failed = await finish(at.store, "failed");
      const cancelled = await finish(at.store, "cancelled");
      const skipped = await finish(at.store, "skipped");
      const running = await insertOne(at.store);
      await claimOne(at.store);
      const [ready, scheduled] = await insert(at.store, {}, { delay: 1000 });
      return { completed, failed, cancelled, skipped, running, ready: ready!, scheduled: scheduled! };
    }

    test("returns all runs, the newest first, finished or not", async () => {
      const each = Object.values(await oneOfEach());
      expect(await listed()).toEqual(each.sort((a, b) => b - a));
    });

    test("filters by state", async () => {
      const each = await oneOfEach();
      for (const state of states) expect(await listed({ states: [state] })).toEqual([each[state]]);
      expect(await listed({ states: ["failed", "ready"] })).toEqual([each.ready, each.failed]);
      expect(await listed({ states: [] })).toEqual([]);
    });

    test.each([
      { what: "name", theirs: { name: "a" }, others: { name: "b" }, filter: { name: "a" } },
      { what: "queue", theirs: { queue: "a" }, others: { queue: "b" }, filter: { queue: "a" } },
      { what: "key", theirs: { key: "a" }, others: { key: "b" }, filter: { key: "a" } },
      { what: "tag", theirs: { tags: ["x", "a"] }, others: { tags: ["x"] }, filter: { tag: "a" } },
      { what: "batch", theirs: { batchId: "a" }, others: { batchId: "b" }, filter: { batchId: "a" } },
      { what: "parent", theirs: { parentId: 1 }, others: { parentId: 2 }, filter: { parentId: 1 } },
    ])("filters by $what, finished or not", async ({ theirs, others, filter }) => {
      const done = await finish(at.store, "completed", theirs);
      await finish(at.store, "completed", others);
      await finish(at.store, "completed");
      const [waiting] = await insert(at.store, theirs, others, {});
      expect(await listed(filter)).toEqual([waiting, done]);
    });

    test("filters by all fields at once", async () => {
      const filter = { name: "a", queue: "b", key: "c", tag: "d", batchId: "e", parentId: 6 };
      const fields = { name: "a", queue: "b", key: "c", tags: ["d"], batchId: "e", parentId: 6 };
      const [id] = await insert(
        at.store,
        fields,
        { ...fields, name: "z" },
        { ...fields, queue: "z" },
        { ...fields, key: "z" },
        { ...fields, tags: ["z"] },
        { ...fields, batchId: "z" },
        { ...fields, parentId: 9 },
      );
      expect(await listed({ ...filter, states: ["ready"] })).toEqual([id]);
    });

    test("filters by a whole key, not by a part of it", async () => {
      const [key] = await insert(
        at.store,
        { key: "b" },
        { key: "a|b" },
        { key: "B" },
        { key: "b " },
        { key: "bb" },
      );
      expect(await listed({ key: "b" })).toEqual([key]);
    });

    test.each([
      "%",
      "_",
      "a_c",
      "a!b",
      'quo"ted',
      "back\\slash",
      "'; drop table punctual_runs; --",
      ",",
      "é",
      "🕰️",
    ])("takes the key and tag %s literally", async (text) => {
      const others = ["abc", "A_C", "a!b!", "quoted", "backslash", "x", "y", "é", "e"].filter(
        (one) => one !== text,
      );
      const id = await insertOne(at.store, { key: text, tags: ["first", text, "last"] });
      await insert(at.store, ...others.map((one) => ({ key: one, tags: [one, "x", "y"] })), {
        tags: ["a,", "b"],
      });
      expect(await listed({ key: text })).toEqual([id]);
      expect(await listed({ tag: text })).toEqual([id]);
    });

    test("compares the case of a tag", async () => {
      const [lower, upper] = await insert(at.store, { tags: ["tag"] }, { tags: ["TAG"] });
      expect(await listed({ tag: "tag" })).toEqual([lower]);
      expect(await listed({ tag: "TAG" })).toEqual([upper]);
      expect(await listed({ tag: "ta" })).toEqual([]);
    });

    test("pages through each run once, while runs move between the pages", async () => {
      const inserted = await insert(at.store, ...times(25, (n) => ({ delay: n % 3 === 0 ? 9000 : 0 })));
      const runs = await claim(at.store, { limit: 9 });
      for (const run of runs.slice(0, 5)) await settle(at.store, run, "completed");
      const seen: number[] = [];
      let before: number | undefined;
      for (let pages = 0; pages < 10; pages++) {
        const page = await listed({ limit: 4, ...(before !== undefined && { before }) });
        if (page.length === 0) break;
        expect(page).toEqual([...page].sort((a, b) => b - a));
        seen.push(...page);
        before = page.at(-1)!;
        const [next] = await claim(at.store, { limit: 1 });
        if (next) await settle(at.store, next, "failed");
        await insertOne(at.store);
      }
      expect(seen).toEqual([...inserted].reverse());
    });

    test("returns at most the limit", async () => {
      await insert(at.store, ...times(5, () => ({})));
      for (let n = 0; n < 5; n++) await finish(at.store, "completed", { priority: 1 });
      expect(await listed({ limit: 3 })).toHaveLength(3);
      expect(await listed({ limit: 100 })).toHaveLength(10);
    });
  });

  describe("find", () => {
    const at = fresh(database);

    test("returns null for a run that does not exist", async () => {
      expect(await at.store.find(999_999)).toBeNull();
      expect(await at.store.attempts(999_999)).toEqual([]);
    });
  });
}
