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

    test("in order of priority, then due time, then id, whatever the queue and the limits", async () => {
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
      // Inserted so that id alone gives another order, and among equals the right one.
      const [one, two, three, four, five, six, seven] = inOrder;
      await insert(at.store, seven!, three!, four!, five!, six!, two!, one!);
      expect(names(await claim(at.store))).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
    });

    test("the first of the order, where there is room for only some", async () => {
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

    test("a claimed run says by whom, since when and until when", async () => {
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

    test("a job's own lease goes before the common one", async () => {
      const [short, long] = await insert(at.store, { name: "short" }, { name: "long" });
      await claim(at.store, { lease: 1000, leases: { long: 9000 } });
      expect((await found(at.store, short!)).lockedUntil).toBe(at.clock.now() + 1000);
      expect((await found(at.store, long!)).lockedUntil).toBe(at.clock.now() + 9000);
    });

    test.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
      "a job named %s has the common lease",
      async (name) => {
        const id = await insertOne(at.store, { name });
        await claimOne(at.store, { lease: 1000, leases: {} });
        expect((await found(at.store, id)).lockedUntil).toBe(at.clock.now() + 1000);
      },
    );

    test("a run belongs to one claimer only", async () => {
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

    test("only from the queues asked for", async () => {
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

    test("a queue asked for twice is asked once", async () => {
      const inserted = await insert(at.store, { name: "a" }, { name: "b" });
      const claimed = await claim(at.store, { queues: ["default", "default"] });
      expect(ids(claimed)).toEqual(inserted);
      expect(claimed.map(({ attempts }) => attempts)).toEqual([1, 1]);
      expect((await found(at.store, inserted[0]!)).attempts).toBe(1);
    });

    test("not the jobs that are excluded", async () => {
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
        // Names behind the excluded one, which is then among the first lanes.
        const jobs = (queue: string) => times(100, (n) => ({ name: `zebra ${n}`, queue }));
        await insert(at.store, { name: "theirs" }, { name: "theirs", queue: "wide" });
        const ours = await insert(at.store, ...jobs("wide"), { name: "zebra 1" });
        expect(ids(await claim(at.store, { exclude, limit: 200 }))).toEqual(ours);
      });
    });

    test("a run with an owner is for its owner alone", async () => {
      const id = await insertOne(at.store, { owner: "w2" });
      expect(await claim(at.store, { worker: "w1" })).toEqual([]);
      expect(await claimOne(at.store, { worker: "w2" })).toMatchObject({ id, owner: "w2" });
    });

    test("nothing before it is due", async () => {
      await insert(at.store, { delay: 1000 }, { delay: 1000 }, { delay: 1000, owner: "w1" });
      expect(await claim(at.store)).toEqual([]);
      await at.clock.advance("999ms");
      expect(await claim(at.store)).toEqual([]);
      await at.clock.advance("1ms");
      expect(await claim(at.store)).toHaveLength(3);
    });

    test("nothing before it is due, also when others are", async () => {
      await insert(at.store, { name: "later", delay: 1, priority: 1 }, { name: "now", priority: 2 });
      expect(names(await claim(at.store))).toEqual(["now"]);
    });

    test("only the runs that start at once are marked as started", async () => {
      const inserted = await insert(at.store, ...times(4, () => ({})));
      const claimed = await claim(at.store, { limit: 3, start: 1 });
      expect(claimed.map(({ started }) => started)).toEqual([true, false, false]);
      const startedAt = await Promise.all(inserted.map(async (id) => (await found(at.store, id)).startedAt));
      expect(startedAt).toEqual([at.clock.now(), null, null, null]);
      const ahead = await claim(at.store, { limit: 3, start: 0 });
      expect(ahead.map(({ started }) => started)).toEqual([false]);
    });

    test("what was claimed ahead is marked as started once it has", async () => {
      await insert(at.store, {}, {});
      const [one, two] = await claim(at.store, { start: 0 });
      await at.clock.advance(1);
      const now = at.clock.now();
      await exchange(at.store, { started: [one!] });
      expect(await at.store.start(two!, false)).toBe(true);
      await at.clock.advance(1);
      await exchange(at.store, { started: [one!] });
      expect(await at.store.start(two!, false)).toBe(true);
      // The first word counts.
      expect((await found(at.store, one!.id)).startedAt).toBe(now);
      expect((await found(at.store, two!.id)).startedAt).toBe(now);
    });

    test("a run with a crash behind it is not marked as started by the claim", async () => {
      const id = await insertOne(at.store);
      await claimOne(at.store, { lease: 1000 });
      await at.clock.advance(2);
      await reap(at.store);
      expect(await claimOne(at.store)).toMatchObject({ id, attempts: 2, crashes: 1, started: false });
      expect((await found(at.store, id)).startedAt).toBeNull();
    });

    test("tells when the next run is due", async () => {
      const now = at.clock.now();
      expect((await exchange(at.store, { claim: claimRequest() })).nextDue).toBeNull();
      await insert(at.store, { delay: 9000 }, { delay: 5000 }, { delay: 7000 });
      expect((await exchange(at.store)).nextDue).toBe(now + 5000);
      await at.clock.advance(5);
      const answer = await exchange(at.store, { claim: claimRequest() });
      expect(answer).toMatchObject({ claimed: [{ runAt: now + 5000 }], nextDue: now + 7000 });
    });

    test("an exchange that asks for nothing changes nothing", async () => {
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

    test("every exchange tells what is paused", async () => {
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

  // A server guesses from the claim before, and must not go by a guess that is wrong.
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

    test("takes nothing of a job that was paused", async () => {
      const claimed = await claimAfter(async () => {
        await insert(at.store, { queue: "a" }, { queue: "a", name: "one" });
        await at.store.pauseJob("job", true);
      });
      expect(names(claimed)).toEqual(["one"]);
    });

    test("takes nothing of a queue that was paused", async () => {
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
