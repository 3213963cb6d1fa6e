import { describe, expect, test } from "vitest";
import type { ClaimedRun } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimOne,
  claimRequest,
  define,
  defineLimited,
  exchange,
  found,
  ids,
  insert,
  insertOne,
  LIMITED,
  names,
  reap,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function claiming(database: Database): void {
  describe("claim", () => {
    const at = fresh(database);

    test("takes runs in order of priority, due time and id, over all queues and limits", async () => {
      const now = at.clock.now();
      const inOrder = [
        { name: "1", priority: -1, queue: "b" },
        { name: "2", priority: 5, runAt: now - 20, queue: "c" },
        { name: "3", priority: 5, runAt: now - 10, queue: "a" },
        { name: "4", priority: 5, runAt: now - 10, queue: "b" },
        { name: "5", priority: 5, queue: "a", owner: "w1" },
        { name: "6", priority: 5, queue: "c" },
        { name: "7", priority: 9, runAt: now - 99, queue: "a" },
      ];
      // Inserted so that the order of ids differs, except among equal runs.
      const [one, two, three, four, five, six, seven] = inOrder;
      await insert(at.store, seven!, three!, four!, five!, six!, two!, one!);
      expect(names(await claim(at.store))).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
    });

    test("takes the first runs of the order if there is not room for all", async () => {
      await insert(
        at.store,
        { name: "late", priority: 3, queue: "a" },
        { name: "first", priority: 1, queue: "b" },
        { name: "second", priority: 2, queue: "a" },
      );
      expect(names(await claim(at.store, { limit: 2 }))).toEqual(["first", "second"]);
      expect(names(await claim(at.store, { limit: 2 }))).toEqual(["late"]);
      expect(await claim(at.store)).toEqual([]);
    });

    test("records the worker, the time and the lease of a run", async () => {
      const id = await insertOne(at.store);
      await at.clock.advance(2);
      const now = at.clock.now();
      const run = await claimOne(at.store, { worker: "w7", lease: 1234 });
      expect(run).toMatchObject({ id, attempts: 1, claimedAt: now, started: true });
      expect(await at.store.find(id)).toMatchObject({
        state: "running",
        attempts: 1,
        worker: "w7",
        startedAt: now,
        lockedUntil: now + 1234,
      });
    });

    test("prefers the lease of the job to the common one", async () => {
      const [short, long] = await insert(at.store, { name: "short" }, { name: "long" });
      await claim(at.store, { lease: 1000, leases: { long: 9000 } });
      expect((await found(at.store, short!)).lockedUntil).toBe(at.clock.now() + 1000);
      expect((await found(at.store, long!)).lockedUntil).toBe(at.clock.now() + 9000);
    });

    test.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
      "gives a job named %s the common lease",
      async (name) => {
        const id = await insertOne(at.store, { name });
        await claimOne(at.store, { lease: 1000, leases: {} });
        expect((await found(at.store, id)).lockedUntil).toBe(at.clock.now() + 1000);
      },
    );

    test("gives a run to one worker only", async () => {
      await defineLimited(at.store);
      const inserted = await insert(
        at.store,
        ...times(1000, (n) => ({ queue: `q${n % 3}`, ...(n % 2 === 0 && LIMITED) })),
      );
      const other = await at.another();
      const claimed: number[] = [];
      for (let got = -1; got !== claimed.length; ) {
        got = claimed.length;
        const both = await Promise.all([
          claim(at.store, { worker: "w1", limit: 60 }),
          claim(other, { worker: "w2", limit: 60 }),
          claim(at.store, { worker: "w1", limit: 7 }),
          claim(other, { worker: "w2", limit: 7 }),
        ]);
        claimed.push(...ids(both.flat()));
      }
      expect(claimed.sort((a, b) => a - b)).toEqual(inserted);
    });

    test("takes runs of the requested queues only", async () => {
      await insert(
        at.store,
        { name: "a", queue: "a" },
        { name: "b", queue: "b" },
        { name: "c", queue: "c" },
        { name: "d", queue: "d" },
      );
      expect(names(await claim(at.store, { queues: ["b", "c", "none"] }))).toEqual(["b", "c"]);
      expect(await claim(at.store, { queues: [] })).toEqual([]);
      expect(names(await claim(at.store, { queues: null }))).toEqual(["a", "d"]);
    });

    test("reads a queue that is requested twice once", async () => {
      const inserted = await insert(at.store, { name: "a" }, { name: "b" });
      const claimed = await claim(at.store, { queues: ["default", "default"] });
      expect(ids(claimed)).toEqual(inserted);
      expect(claimed.map(({ attempts }) => attempts)).toEqual([1, 1]);
      expect((await found(at.store, inserted[0]!)).attempts).toBe(1);
    });

    test("leaves out the excluded jobs", async () => {
      await insert(
        at.store,
        { name: "theirs" },
        { name: "theirs" },
        { name: "ours" },
        { name: "ours, limited" },
      );
      expect(names(await claim(at.store, { exclude: ["theirs", "unknown"] }))).toEqual([
        "ours",
        "ours, limited",
      ]);
      await insertOne(at.store, { name: "ours" });
      const many = times(5000, (n) => `theirs-${n}`);
      expect(names(await claim(at.store, { exclude: ["theirs", ...many] }))).toEqual(["ours"]);
      expect(names(await claim(at.store))).toEqual(["theirs", "theirs"]);
    });

    describe("among runs of excluded jobs", () => {
      const exclude = ["theirs"];

      test("keeps the order of several jobs and priorities", async () => {
        const [, late, , early, soon] = await insert(
          at.store,
          { name: "theirs" },
          { name: "b", priority: 101 },
          { name: "theirs", priority: 99 },
          { name: "b" },
          { name: "a" },
        );
        const [urgent] = await insert(
          at.store,
          { name: "a", priority: 98 },
          { name: "theirs", priority: 98 },
        );
        expect(ids(await claim(at.store, { exclude, limit: 2 }))).toEqual([urgent, early]);
        expect(ids(await claim(at.store, { exclude }))).toEqual([soon, late]);
      });

      test("finds the runs of a job whose lane an excluded job shares", async () => {
        const [, ours, , bare] = await insert(
          at.store,
          { name: "theirs", key: "b" },
          { name: "theirs|b" },
          { name: "theirs" },
          { name: "theirs|" },
          { name: "theirs", key: null },
        );
        expect(ids(await claim(at.store, { exclude }))).toEqual([ours, bare]);
      });

      test("finds runs in more lanes than it reads one by one, and in each queue", async () => {
        // Names that sort after the excluded one, which is then among the first lanes.
        const jobs = (queue: string) => times(100, (n) => ({ name: `zebra ${n}`, queue }));
        await insert(at.store, { name: "theirs" }, { name: "theirs", queue: "wide" });
        const ours = await insert(at.store, ...jobs("wide"), { name: "zebra 1" });
        expect(ids(await claim(at.store, { exclude, limit: 200 }))).toEqual(ours);
      });
    });

    test("gives a run with an owner to its owner only", async () => {
      const id = await insertOne(at.store, { owner: "w2" });
      expect(await claim(at.store, { worker: "w1" })).toEqual([]);
      expect(await claimOne(at.store, { worker: "w2" })).toMatchObject({ id, owner: "w2" });
    });

    test("takes no run before it is due", async () => {
      await insert(at.store, { delay: 1000 }, { delay: 1000 }, { delay: 1000, owner: "w1" });
      expect(await claim(at.store)).toEqual([]);
      await at.clock.advance("999ms");
      expect(await claim(at.store)).toEqual([]);
      await at.clock.advance("1ms");
      expect(await claim(at.store)).toHaveLength(3);
    });

    test("takes no run before it is due, even if others are due", async () => {
      await insert(at.store, { name: "later", delay: 1, priority: 1 }, { name: "now", priority: 2 });
      expect(names(await claim(at.store))).toEqual(["now"]);
    });

    test("marks only the runs that start at once as started", async () => {
      const inserted = await insert(at.store, ...times(4, () => ({})));
      const claimed = await claim(at.store, { limit: 3, start: 1 });
      expect(claimed.map(({ started }) => started)).toEqual([true, false, false]);
      const startedAt = await Promise.all(inserted.map(async (id) => (await found(at.store, id)).startedAt));
      expect(startedAt).toEqual([at.clock.now(), null, null, null]);
      const ahead = await claim(at.store, { limit: 3, start: 0 });
      expect(ahead.map(({ started }) => started)).toEqual([false]);
    });

    test("does not mark a prefetched run as started; a later exchange does", async () => {
      await insert(at.store, {}, {});
      const [one, two] = await claim(at.store, { start: 0 });
      await at.clock.advance(1);
      const now = at.clock.now();
      await exchange(at.store, { started: [one!] });
      expect(await at.store.start(two!, false)).toBe(true);
      await at.clock.advance(1);
      await exchange(at.store, { started: [one!] });
      expect(await at.store.start(two!, false)).toBe(true);
      // The first start mark stands.
      expect((await found(at.store, one!.id)).startedAt).toBe(now);
      expect((await found(at.store, two!.id)).startedAt).toBe(now);
    });

    test("does not mark a crashed run as started", async () => {
      const id = await insertOne(at.store);
      await claimOne(at.store, { lease: 1000 });
      await at.clock.advance(2);
      await reap(at.store);
      expect(await claimOne(at.store)).toMatchObject({ id, attempts: 2, crashes: 1, started: false });
      expect((await found(at.store, id)).startedAt).toBeNull();
    });

    test("returns when the next run is due", async () => {
      const now = at.clock.now();
      expect((await exchange(at.store, { claim: claimRequest() })).nextDue).toBeNull();
      await insert(at.store, { delay: 9000 }, { delay: 5000 }, { delay: 7000 });
      expect((await exchange(at.store)).nextDue).toBe(now + 5000);
      await at.clock.advance(5);
      const answer = await exchange(at.store, { claim: claimRequest() });
      expect(answer).toMatchObject({ claimed: [{ runAt: now + 5000 }], nextDue: now + 7000 });
    });

    test("changes nothing if the exchange requests nothing", async () => {
      const id = await insertOne(at.store);
      expect(await exchange(at.store)).toEqual({
        settled: [],
        claimed: [],
        nextDue: null,
        cancelled: [],
        paused: { jobs: [], queues: [] },
      });
      expect((await found(at.store, id)).state).toBe("ready");
    });

    test("returns the paused jobs and queues with every exchange", async () => {
      await define(at.store, [{ name: "job" }, { name: "other" }]);
      await insert(at.store, { name: "other" }, { name: "other" });
      const [first, second] = await claim(at.store);
      await at.store.pauseJob("job", true);
      await at.store.pauseQueue("for a while", true, at.clock.now() + 1000);
      const answers = async () => [
        await exchange(at.store),
        await exchange(at.store, { claim: claimRequest() }),
      ];
      const paused = { jobs: ["job"], queues: ["for a while"] };
      expect(await answers()).toMatchObject([{ paused }, { paused }]);
      expect(await exchange(at.store, { seq: 8, settle: [settlement(first!, "completed")] })).toMatchObject({
        paused,
      });
      await insert(at.store, { name: "other" });
      const settle = [settlement(second!, "completed")];
      expect(await exchange(at.store, { seq: 9, settle, claim: claimRequest() })).toMatchObject({
        claimed: [{ name: "other" }],
        paused,
      });
      await at.clock.advance(1);
      await at.store.pauseJob("job", false);
      const nothing = { jobs: [], queues: [] };
      expect(await answers()).toMatchObject([{ paused: nothing }, { paused: nothing }]);
    });
  });

  // A server guesses from the previous claim, and must notice a wrong guess.
  describe("a claim that comes with a settle", () => {
    const at = fresh(database);

    /** Claims two runs of queue a; then `change` happens; then one exchange settles one of the two and claims. */
    async function claimAfter(change: () => Promise<unknown>): Promise<ClaimedRun[]> {
      await define(at.store, [{ name: "one", limit: 1 }, { name: "two", limit: 1 }, { name: "job" }]);
      await insert(at.store, { queue: "a", name: "one" }, { queue: "a" });
      const runs = await claim(at.store);
      await change();
      const settle = [settlement(runs.find(({ name }) => name === "one")!, "completed")];
      return (await exchange(at.store, { settle, claim: claimRequest() })).claimed;
    }

    test("finds runs of another queue", async () => {
      const claimed = await claimAfter(() => insert(at.store, { queue: "a" }, { queue: "b" }));
      expect(claimed.map(({ queue }) => queue)).toEqual(["a", "b"]);
    });

    test("keeps the limit of another job", async () => {
      const claimed = await claimAfter(() =>
        insert(at.store, ...times(2, () => ({ queue: "a", name: "two" }))),
      );
      expect(names(claimed)).toEqual(["two"]);
    });

    test("takes no run of a job that was paused meanwhile", async () => {
      const claimed = await claimAfter(async () => {
        await insert(at.store, { queue: "a" }, { queue: "a", name: "one" });
        await at.store.pauseJob("job", true);
      });
      expect(names(claimed)).toEqual(["one"]);
    });

    test("takes no run of a queue that was paused meanwhile", async () => {
      const claimed = await claimAfter(async () => {
        await insert(at.store, { queue: "a" }, { queue: "a", name: "one" });
        await at.store.pauseQueue("a", true, null);
      });
      expect(claimed).toEqual([]);
    });

    test("finds scheduled runs that have become due", async () => {
      const claimed = await claimAfter(async () => {
        await insert(at.store, { queue: "a", delay: 1000 });
        await at.clock.advance(1);
      });
      expect(names(claimed)).toEqual(["job"]);
    });
  });
}
