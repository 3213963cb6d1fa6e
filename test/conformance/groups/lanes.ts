import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimRequest,
  define,
  exchange,
  ids,
  insert,
  insertOne,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** More than any claim reads in order. */
const MANY = 200;

export function lanes(database: Database): void {
  describe("lanes", () => {
    const at = fresh(database);

    test("a closed lane that fills the window does not hide an open one behind it", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      await insert(at.store, ...times(MANY, () => ({ key: "a" })));
      const [first] = await claim(at.store);
      const open = await insertOne(at.store, { key: "b" });
      expect(ids(await claim(at.store))).toEqual([open]);
      expect(first!.lane).toBe("job|a");
    });

    test("a closed job does not hide an open one behind it, nor one of lower priority", async () => {
      await define(at.store, [
        { name: "closed", limit: 1 },
        { name: "open", limit: 2 },
      ]);
      await insert(at.store, ...times(MANY, () => ({ name: "closed", priority: 1 })));
      await claim(at.store);
      const open = await insert(at.store, ...times(3, (n) => ({ name: "open", priority: 5 + n })));
      expect(ids(await claim(at.store))).toEqual(open.slice(0, 2));
    });

    test("a closed lane does not hide an open one in another queue", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      for (const queue of ["a", "b"]) {
        await insert(at.store, ...times(MANY, () => ({ queue, key: "full" })));
      }
      await claim(at.store);
      const open = await insert(at.store, { queue: "a", key: "open in a" }, { queue: "b", key: "open in b" });
      expect(ids(await claim(at.store))).toEqual(open);
    });

    test.each([
      ["among the first", 5],
      ["in the middle", 40],
      ["behind all", MANY],
    ])("a closed lane does not starve an open %s: it is claimed within some claims", async (_, place) => {
      await define(at.store, [
        { name: "long", limit: 1 },
        { name: "open", limit: 1 },
      ]);
      const age = (n: number) => at.clock.now() - 1000 + 2 * n;
      await insert(at.store, ...times(MANY, (n) => ({ name: "long", runAt: age(n) })));
      let running = await claim(at.store);
      const next = async () => {
        const settle = running.map((run) => settlement(run, "completed"));
        running = (await exchange(at.store, { settle, claim: claimRequest() })).claimed;
        expect(running.filter(({ name }) => name === "long")).toHaveLength(1);
        return running.map(({ name }) => name);
      };
      for (let n = 0; n < 5; n++) await next();
      await insertOne(at.store, { name: "open", runAt: age(6 + place) - 1 });
      const seen: string[] = [];
      for (let n = 0; n < 4; n++) seen.push(...(await next()));
      expect(seen).toContain("open");
    });

    test("paused and excluded jobs do not hide others", async () => {
      await define(at.store, [{ name: "paused" }, { name: "theirs", limit: 9 }, { name: "open", limit: 1 }]);
      await insert(
        at.store,
        ...times(MANY, () => ({ name: "paused" })),
        ...times(MANY, () => ({ name: "theirs" })),
      );
      await at.store.pauseJob("paused", true);
      const open = await insertOne(at.store, { name: "open" });
      expect(ids(await claim(at.store, { exclude: ["theirs"] }))).toEqual([open]);
    });

    test("one claim takes the runs of several open lanes in order", async () => {
      await define(at.store, [{ name: "job", keyLimit: 2 }]);
      await insert(at.store, ...times(MANY, () => ({ key: "full" })));
      await claim(at.store);
      const open = await insert(at.store, ...times(9, (n) => ({ key: `open-${n % 3}` })));
      const claimed = await claim(at.store);
      expect(ids(claimed)).toEqual(open.slice(0, 6));
    });

    test("a claim finds the one open lane among 2,000", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      const run = (n: number) => ({ key: String(n).padStart(4, "0") });
      await insert(at.store, ...times(2000, run));
      // A claim walks a bounded number of lanes; the next claims continue from there.
      let running = 0;
      for (let claims = 0; claims < 100 && running < 2000; claims++) {
        running += (await claim(at.store, { limit: 2000 })).length;
      }
      expect(running).toBe(2000);
      await insert(at.store, ...times(2000, run));
      const open = await insertOne(at.store, { key: "1500b" });
      // While it finds nothing, it continues at once.
      expect(ids(await claim(at.store, { limit: 5 }))).toEqual([open]);
      expect(await claim(at.store, { limit: 5 })).toEqual([]);
    });

    describe("a job that can start no run", () => {
      const KEYS = 2000;
      /** More than a claim reads in order, each in its own lane. */
      const many = (name: string) =>
        insert(at.store, ...times(KEYS, (n) => ({ name, key: `k${n}`, priority: 1 })));

      /** Number of rows that a claim reads which finds only the job behind them. */
      async function rowsUntil(open: string, exclude: string[] = []): Promise<number> {
        await insertOne(at.store, { name: open, priority: 2 });
        let found: string[] = [];
        const plans = await at.plans(async (store) => {
          found = (await claim(store, { exclude })).map(({ name }) => name);
        });
        expect(found).toEqual([open]);
        return plans.reduce((sum, { rows }) => sum + rows, 0);
      }

      test("at its limit, with 2,000 keys, is skipped in one step", async () => {
        await define(at.store, [
          { name: "closed", limit: 1, keyLimit: 1 },
          { name: "open", limit: 1 },
        ]);
        await many("closed");
        await claim(at.store);
        expect(await rowsUntil("open")).toBeLessThan(500);
      });

      test("that is paused, with 2,000 keys, is skipped in one step", async () => {
        await define(at.store, [
          { name: "paused", keyLimit: 1 },
          { name: "zebra", limit: 1 },
        ]);
        await many("paused");
        await at.store.pauseJob("paused", true);
        expect(await rowsUntil("zebra")).toBeLessThan(500);
      });

      test("of another worker, with 2,000 keys, is skipped in one step", async () => {
        await define(at.store, [
          { name: "theirs", keyLimit: 1 },
          { name: "zebra", limit: 1 },
        ]);
        await many("theirs");
        expect(await rowsUntil("zebra", ["theirs"])).toBeLessThan(500);
      });

      test("does not hide a job whose name continues its own after a bar", async () => {
        await define(at.store, [
          { name: "a", limit: 1, keyLimit: 1 },
          { name: "a|k5", limit: 1 },
        ]);
        await many("a");
        await claim(at.store);
        const open = await insertOne(at.store, { name: "a|k5", key: "x", priority: 1 });
        expect(ids(await claim(at.store))).toEqual([open]);
      });

      test("is skipped at every priority, and so is each further one", async () => {
        const closed = ["b", "c", "d"];
        await define(at.store, [
          ...closed.map((name) => ({ name, limit: 1, keyLimit: 1 })),
          { name: "open", limit: 1 },
        ]);
        for (const name of closed) {
          await insert(at.store, ...times(400, (n) => ({ name, key: `k${n}`, priority: n % 2 })));
        }
        // If some run fits, a server walks lanes at every fourth claim only.
        for (let claims = 0; claims < 8; claims++) await claim(at.store);
        expect(await rowsUntil("open")).toBeLessThan(1500);
      });
    });

    test("a claim does not walk the lanes of a queue at its limit", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }], { queues: [{ name: "default", limit: 1 }] });
      await insert(at.store, ...times(MANY, (n) => ({ key: `k${n}` })));
      await claim(at.store);
      const plans = await at.plans(async (store) => {
        expect(await claim(store)).toEqual([]);
      });
      expect(plans.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(MANY);
    });

    test("a lane that floods its queue does not starve any of 600 lanes", {
      timeout: 300_000,
    }, async () => {
      await define(at.store, [{ name: "job", limit: 10, keyLimit: 1 }]);
      await insert(at.store, ...times(1000, () => ({ key: "flood" })));
      await insert(at.store, ...times(600, (n) => ({ key: `lane-${n}` })));
      const served = new Set<string>();
      let running: Awaited<ReturnType<typeof claim>> = [];
      for (let exchanges = 0; exchanges < 900 && served.size < 601; exchanges++) {
        const { claimed } = await exchange(at.store, {
          settle: running.map((run) => settlement(run, "completed", { keep: 0 })),
          claim: claimRequest({ limit: 10 }),
        });
        running = claimed;
        for (const { lane } of claimed) served.add(lane);
      }
      expect(served.size).toBe(601);
    });
  });
}
