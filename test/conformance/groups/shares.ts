import { describe, expect, test } from "vitest";
import { strideOf } from "../../../src/worker/options.ts";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimRequest,
  define,
  defineLimited,
  exchange,
  ids,
  insert,
  insertOne,
  LIMITED,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** More than any claim looks at in order. */
const MANY = 200;

/** Three of a for each of b, without chance: a stands at 1, 2, 3 and so on, b at 3.4, 6.8 and so on. */
const stride = (queue: string) => (queue === "a" ? 1 : 3.4);

const queuesOf = (runs: { queue: string }[]) => runs.map(({ queue }) => queue).join("");

/** The same numbers for each test. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

export function shares(database: Database): void {
  describe("queues left out", () => {
    const at = fresh(database);

    test("nothing of them is claimed, limited or not", async () => {
      await defineLimited(at.store);
      for (const queue of ["a", "b", "c"]) await insert(at.store, { queue }, { queue, ...LIMITED });
      expect(queuesOf(await claim(at.store, { exceptQueues: ["b", "unknown"] }))).toBe("aacc");
      expect(await claim(at.store, { exceptQueues: ["b"] })).toEqual([]);
      expect(queuesOf(await claim(at.store))).toBe("bb");
    });

    test("also where they are among those named", async () => {
      await defineLimited(at.store);
      await insert(at.store, { queue: "a" }, { queue: "b", ...LIMITED });
      expect(queuesOf(await claim(at.store, { queues: ["a", "b"], exceptQueues: ["b"] }))).toBe("a");
    });

    test("a function that this process owns is claimed in whatever queue", async () => {
      const mine = await insertOne(at.store, { queue: "a", owner: "w1" });
      expect(ids(await claim(at.store, { exceptQueues: ["a"] }))).toEqual([mine]);
    });

    test("any worker promotes a due run, and leaves it to those that serve its queue", async () => {
      const id = await insertOne(at.store, { queue: "a", delay: 1000 });
      await at.clock.advance(1);
      expect(await claim(at.store, { exceptQueues: ["a"] })).toEqual([]);
      expect(ids(await claim(at.store))).toEqual([id]);
    });
  });

  describe("shares of queues", () => {
    const at = fresh(database);
    const fill = (queue: string, count: number, fields: object = {}) =>
      insert(at.store, ...times(count, () => ({ queue, ...fields })));

    test.each([
      ["without limits", {}],
      ["under limits", LIMITED],
    ])("in turn, whatever the priorities; what one has not is for the other: %s", async (_, fields) => {
      await defineLimited(at.store);
      await fill("b", 6, { ...fields, priority: -5 });
      await fill("a", 6, fields);
      expect(queuesOf(await claim(at.store, { stride, limit: 8 }))).toBe("aaabaaab");
      expect(queuesOf(await claim(at.store, { stride, limit: 3 }))).toBe("bbb");
      expect(queuesOf(await claim(at.store, { stride }))).toBe("b");
    });

    test("within a queue by priority, due time and id, limited or not", async () => {
      const now = at.clock.now();
      await defineLimited(at.store);
      const [last, third, first, second] = await insert(
        at.store,
        { queue: "a", priority: 900 },
        { queue: "a", ...LIMITED },
        { queue: "a", priority: 1, ...LIMITED },
        { queue: "a", runAt: now - 10 },
      );
      const [other, another] = await fill("b", 2, { ...LIMITED, priority: -1 });
      const claimed = ids(await claim(at.store, { stride }));
      expect(claimed).toEqual([first, second, third, other, last, another]);
    });

    test("those beyond what starts at once are without limits", async () => {
      await defineLimited(at.store);
      await fill("a", 4, { ...LIMITED, priority: 1 });
      await fill("a", 3);
      await fill("b", 3);
      const claimed = await claim(at.store, { stride, limit: 6, start: 2 });
      expect(claimed.map(({ queue, limited, started }) => [queue, limited, started])).toEqual([
        ["a", true, true],
        ["a", true, true],
        ["a", false, false],
        ["b", false, false],
        ["a", false, false],
        ["a", false, false],
      ]);
      expect(queuesOf(await claim(at.store, { stride }))).toBe("aabb");
    });

    test("a limit that is full leaves its places to the others, and holds", async () => {
      await define(at.store, [{ name: "job", limit: 2 }]);
      await fill("a", 5);
      await fill("b", 3, { name: "free" });
      expect(queuesOf(await claim(at.store, { stride, limit: 4 }))).toBe("aabb");
      expect(queuesOf(await claim(at.store, { stride, limit: 4 }))).toBe("b");
    });

    test("by weight, also where each claim takes one run", async () => {
      // Of one of them runs of both kinds: it must not be drawn twice for one place, nor the other.
      await defineLimited(at.store);
      await fill("a", 200, LIMITED);
      await fill("b", 100, { ...LIMITED, priority: -1 });
      await fill("b", 100, { priority: -1 });
      const drawn = strideOf({ queues: null, exceptQueues: [], weights: { a: 3 } }, seeded(7));
      let ofA = 0;
      let settle: ReturnType<typeof settlement>[] = [];
      for (let n = 0; n < 160; n++) {
        const answer = await exchange(at.store, { settle, claim: claimRequest({ stride: drawn, limit: 1 }) });
        if (answer.claimed[0]!.queue === "a") ofA++;
        settle = answer.claimed.map((run) => settlement(run, "completed", { keep: 0 }));
      }
      expect(ofA).toBeGreaterThan(105);
      expect(ofA).toBeLessThan(135);
    });

    test("a queue whose open lane is out of sight has its turn, whatever another has", async () => {
      await define(at.store, [
        { name: "job", keyLimit: 1 },
        { name: "other", limit: 100 },
      ]);
      await fill("a", MANY, { key: "closed" });
      await claim(at.store, { limit: 1, queues: ["a"] });
      const open = await insertOne(at.store, { queue: "a", key: "open", priority: 1000 });
      await fill("b", 20, { name: "other", priority: -1 });
      const claimed: number[] = [];
      for (let n = 0; n < 8; n++) claimed.push(...ids(await claim(at.store, { stride, limit: 1 })));
      expect(claimed).toContain(open);
    });

    test("with queues left out, nothing else is left over", async () => {
      await defineLimited(at.store);
      for (const queue of ["a", "b", "c"]) await insert(at.store, { queue }, { queue, ...LIMITED });
      expect(queuesOf(await claim(at.store, { stride, exceptQueues: ["c"] }))).toBe("aabb");
      expect(queuesOf(await claim(at.store))).toBe("cc");
    });

    test("sent again, it gives the same runs", async () => {
      await fill("a", 5);
      await fill("b", 5);
      const request = { worker: "w1", stream: 0, seq: 1, settle: [], started: [] };
      const asked = claimRequest({ stride, limit: 5 });
      const first = await at.store.exchange({ ...request, again: false, claim: asked });
      const again = await at.store.exchange({ ...request, again: true, claim: asked });
      expect(ids(again.claimed).toSorted()).toEqual(ids(first.claimed).toSorted());
    });
  });
}
