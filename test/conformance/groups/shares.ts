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

/** More than any claim reads in order. */
const MANY = 200;

/** Three of a for each of b, without random numbers: a is at 1, 2, 3 and so on, b at 3.4, 6.8 and so on. */
const stride = (queue: string) => (queue === "a" ? 1 : 3.4);

const queuesOf = (runs: { queue: string }[]) => runs.map(({ queue }) => queue).join("");

/** The same random numbers for each test. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

export function shares(database: Database): void {
  describe("excluded queues", () => {
    const at = fresh(database);

    test("have no run claimed, limited or not", async () => {
      await defineLimited(at.store);
      for (const queue of ["a", "b", "c"]) await insert(at.store, { queue }, { queue, ...LIMITED });
      expect(queuesOf(await claim(at.store, { exceptQueues: ["b", "unknown"] }))).toBe("aacc");
      expect(await claim(at.store, { exceptQueues: ["b"] })).toEqual([]);
      expect(queuesOf(await claim(at.store))).toBe("bb");
    });

    test("are left out even if the request names them", async () => {
      await defineLimited(at.store);
      await insert(at.store, { queue: "a" }, { queue: "b", ...LIMITED });
      expect(queuesOf(await claim(at.store, { queues: ["a", "b"], exceptQueues: ["b"] }))).toBe("a");
    });

    test("may contain ad hoc runs of this process, which are claimed", async () => {
      const mine = await insertOne(at.store, { queue: "a", owner: "w1" });
      expect(ids(await claim(at.store, { exceptQueues: ["a"] }))).toEqual([mine]);
    });

    test("any worker promotes a due run, and leaves it to the workers that serve its queue", async () => {
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
    ])("alternate, whatever the priorities; one queue takes what the other leaves: %s", async (_, fields) => {
      await defineLimited(at.store);
      await fill("b", 6, { ...fields, priority: -5 });
      await fill("a", 6, fields);
      expect(queuesOf(await claim(at.store, { stride, limit: 8 }))).toBe("aaabaaab");
      expect(queuesOf(await claim(at.store, { stride, limit: 3 }))).toBe("bbb");
      expect(queuesOf(await claim(at.store, { stride }))).toBe("b");
    });

    test("take the runs of a queue by priority, due time and id, limited or not", async () => {
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

    test("prefetch unlimited runs only", async () => {
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

    test("leave the share of a full limit to the others", async () => {
      await define(at.store, [{ name: "job", limit: 2 }]);
      await fill("a", 5);
      await fill("b", 3, { name: "free" });
      expect(queuesOf(await claim(at.store, { stride, limit: 4 }))).toBe("aabb");
      expect(queuesOf(await claim(at.store, { stride, limit: 4 }))).toBe("b");
    });

    test("follow the weights even if each claim takes one run", async () => {
      // One queue has runs of both kinds: neither queue may be drawn twice for one position.
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

    test("include a queue whose open lane is beyond the window", async () => {
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

    test("divide all runs among the queues that are not excluded", async () => {
      await defineLimited(at.store);
      for (const queue of ["a", "b", "c"]) await insert(at.store, { queue }, { queue, ...LIMITED });
      expect(queuesOf(await claim(at.store, { stride, exceptQueues: ["c"] }))).toBe("aabb");
      expect(queuesOf(await claim(at.store))).toBe("cc");
    });

    test("return the same runs to a claim that is sent again", async () => {
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
