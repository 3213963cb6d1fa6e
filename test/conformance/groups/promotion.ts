import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import { claim, claimRequest, exchange, ids, insert, names, times } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function promotion(database: Database): void {
  describe("promotion", () => {
    const at = fresh(database);

    test("puts due runs among the ready ones, in their order", async () => {
      await insert(
        at.store,
        { name: "later", delay: 2000, priority: 1 },
        { name: "sooner", delay: 1000, priority: 2 },
      );
      await insert(at.store, { name: "now", priority: 3 });
      await at.clock.advance(5);
      expect(names(await claim(at.store))).toEqual(["later", "sooner", "now"]);
    });

    test("ignores queues: a claim for one queue makes the due runs of all ready", async () => {
      await insert(
        at.store,
        { queue: "a", delay: 1000 },
        { queue: "b", delay: 1000 },
        { queue: "b", delay: 9000 },
      );
      await at.clock.advance(1);
      await claim(at.store, { queues: ["a"] });
      const { queues } = await at.store.status();
      expect(queues.filter(({ name }) => name !== "default")).toMatchObject([
        { name: "a", ready: 0, running: 1 },
        { name: "b", ready: 1, scheduled: 1 },
      ]);
    });

    test("takes at most 1,000 runs at a time, the longest due first, and ends", async () => {
      const due = at.clock.now() + 1000;
      const inserted = await insert(at.store, ...times(2500, (n) => ({ runAt: due + (n % 3) })));
      await at.clock.advance("1003ms");
      const first = await exchange(at.store, { claim: claimRequest({ limit: 10 }) });
      expect(first.claimed.every(({ runAt }) => runAt === due)).toBe(true);
      expect(first.nextDue).toBe(due + 1);
      const [queue] = (await at.store.status()).queues;
      expect(queue!.ready + queue!.running).toBe(1000);
      const claimed = ids(first.claimed);
      while (claimed.length < inserted.length) {
        const more = await claim(at.store, { limit: 400 });
        expect(more).not.toEqual([]);
        claimed.push(...ids(more));
      }
      expect(claimed.sort((a, b) => a - b)).toEqual(inserted);
    });
  });
}
