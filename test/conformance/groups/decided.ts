import { describe, expect, test } from "vitest";
import { laneOf } from "../../../src/run/lanes.ts";
import { fresh } from "../support/fresh.ts";
import { minutely, tick } from "../support/minutely.ts";
import {
  claim,
  claimOne,
  claimRequest,
  define,
  exchange,
  ids,
  insert,
  insertOne,
  names,
  newRun,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Limits of each kind, each of which admits two of these runs. */
const KINDS = [
  { what: "a job", job: { limit: 2 }, queue: 0 },
  { what: "a key", job: { keyLimit: 2 }, queue: 0 },
  { what: "a queue", job: {}, queue: 2 },
];

export function deciding(database: Database): void {
  describe("limits that the database decides", () => {
    const at = fresh(database);

    /** Simulates an insert whose statement began before a limit was set: the run is without the limit hint. */
    const astray = () => at.sql("update punctual_runs set limited = 0 where owner is null");
    const limitedRows = async () =>
      (await at.sql<{ id: number }>("select id from punctual_runs where limited = 1 order by id")).map(
        ({ id }) => Number(id),
      );
    const set = ({ job, queue }: Pick<(typeof KINDS)[number], "job" | "queue">) =>
      define(at.store, [{ name: "job", ...job }], { queues: [{ name: "default", limit: queue }] });
    const held = () => insert(at.store, ...times(6, () => ({ key: "k" })));

    test.each(KINDS)("an insert applies the limit of $what", async (kind) => {
      await set(kind);
      const inserted = await held();
      expect(await limitedRows()).toEqual(inserted);
      const free = await insertOne(at.store, { name: "free", queue: "other" });
      expect(await limitedRows()).not.toContain(free);
    });

    test("an insert of many jobs and queues applies the limit of each", async () => {
      await define(at.store, [{ name: "a", limit: 1 }, { name: "b" }, { name: "c", keyLimit: 1 }], {
        queues: [{ name: "small", limit: 1 }],
      });
      const [a, , c, small, , again] = await insert(
        at.store,
        { name: "a" },
        { name: "b" },
        { name: "c" },
        { name: "b", queue: "small" },
        { name: "a", queue: "small", owner: "w9", lane: "1|adhoc" },
        { name: "a", unique: { key: "u", until: "finished", for: 0 } },
      );
      expect(await limitedRows()).toEqual([a, c, small, again]);
    });

    test.each(KINDS)("a run that missed a new limit of $what is held by it nevertheless", async (kind) => {
      await set(kind);
      const inserted = await held();
      await astray();
      expect(ids(await claim(at.store))).toEqual(inserted.slice(0, 2));
      expect(await claim(at.store)).toEqual([]);
      expect(await claim(await at.another(), { worker: "w2" })).toEqual([]);
    });

    test("runs that missed a limit do not hide unlimited runs behind them", async () => {
      await define(at.store, [{ name: "job", limit: 1 }, { name: "free" }]);
      await insert(at.store, ...times(30, () => ({ priority: 1 })));
      const free = await insertOne(at.store, { name: "free", priority: 2 });
      await astray();
      const claimed = await claim(at.store, { limit: 3 });
      for (let claims = 0; claims < 20 && claimed.length < 2; claims++) {
        claimed.push(...(await claim(at.store, { limit: 3 })));
      }
      expect(names(claimed)).toEqual(["job", "free"]);
      expect(claimed[1]!.id).toBe(free);
    });

    test.each(KINDS)("a new limit of $what counts runs that started before it", async (kind) => {
      await set({ job: {}, queue: 0 });
      await held();
      const running = await claim(at.store, { limit: 1 });
      await set(kind);
      // Simulates a claim that began before the limit was set, and committed after it.
      await at.sql("update punctual_runs set limited = 0 where state = 2");
      expect(await claim(at.store)).toHaveLength(1);
      expect(await claim(at.store)).toEqual([]);
      await settle(at.store, running[0]!, "completed");
      expect(await claim(at.store)).toHaveLength(1);
    });

    test.each(["retried", "released", "snoozed"] as const)(
      "a run that was started without a limit and is %s waits under the current one",
      async (outcome) => {
        await define(at.store, [{ name: "job" }]);
        await insert(at.store, {}, {});
        const both = await claim(at.store);
        await define(at.store, [{ name: "job", limit: 1 }]);
        await exchange(at.store, { settle: both.map((run) => settlement(run, outcome)) });
        expect(await claim(at.store)).toHaveLength(1);
        expect(await claim(at.store)).toEqual([]);
      },
    );

    test("a revived run waits under the current limit", async () => {
      await define(at.store, [{ name: "job" }]);
      const [one, two] = await insert(at.store, {}, {});
      for (const run of await claim(at.store)) await settle(at.store, run, "failed");
      await define(at.store, [{ name: "job", limit: 1 }]);
      for (const id of [one!, two!]) await at.store.revive(id);
      expect(await limitedRows()).toEqual([one, two]);
      expect(await claim(at.store)).toHaveLength(1);
      expect(await claim(at.store)).toEqual([]);
    });

    test("the run of a tick is under the limits of its job", async () => {
      await define(at.store, [{ name: "job", schedules: [minutely()] }], {
        queues: [{ name: "default", limit: 1 }],
      });
      await at.clock.advance(60);
      await tick(at.store);
      expect(await limitedRows()).toHaveLength(1);
    });

    test("a run in the caller's transaction is under its limits and locks no row of the job", async () => {
      await define(at.store, [{ name: "job", limit: 1 }]);
      const callers = await at.begin();
      const [inserted] = await at.store.insert([newRun()], callers.tx);
      // On SQLite the transaction holds the write lock.
      if (database.name !== "sqlite") {
        const other = await at.another();
        await other.pauseJob("job", true);
        await other.pauseJob("job", false);
      }
      await callers.commit();
      expect(await limitedRows()).toEqual([inserted!.id]);
    });

    test("removing a limit leaves no run waiting under it", async () => {
      await set(KINDS[0]!);
      await held();
      await set({ job: {}, queue: 0 });
      await held();
      expect(await claim(at.store)).toHaveLength(12);
    });
  });

  describe("keys that the producer did not compute", () => {
    const at = fresh(database);

    test("a run is claimed to compute its key first, then waits in its lane without a charge", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      const [first, second] = await insert(at.store, {}, {});
      const claimed = await claim(at.store);
      expect(claimed.map(({ unkeyed, attempts }) => ({ unkeyed, attempts }))).toEqual([
        { unkeyed: true, attempts: 1 },
        { unkeyed: true, attempts: 1 },
      ]);
      const { claimed: keyed } = await exchange(at.store, {
        settle: claimed.map((run) => settlement(run, "released", { lane: laneOf("job", "a") })),
        claim: claimRequest(),
      });
      expect(keyed).toMatchObject([{ id: first, lane: "job|a", unkeyed: false, attempts: 1 }]);
      expect(await claim(at.store)).toEqual([]);
      await settle(at.store, keyed[0]!, "completed");
      expect(await claim(at.store)).toMatchObject([{ id: second, lane: "job|a", unkeyed: false }]);
    });

    test("a run whose key was computed as none is under no limit per key", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      await insert(at.store, {}, {});
      const claimed = await claim(at.store);
      await exchange(at.store, {
        settle: claimed.map((run) => settlement(run, "released", { lane: laneOf("job", null) })),
      });
      expect((await claim(at.store)).map(({ unkeyed }) => unkeyed)).toEqual([false, false]);
    });

    test("a worker that cannot compute the key leaves the run to others", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      const id = await insertOne(at.store);
      const keyed = await insertOne(at.store, { key: "a" });
      expect(ids(await claim(at.store, { computesKey: () => false }))).toEqual([keyed]);
      expect(ids(await claim(at.store))).toEqual([id]);
    });

    test("no worker computes a key without a limit per key", async () => {
      await define(at.store, [{ name: "job", limit: 5 }, { name: "free" }]);
      await insert(at.store, {}, { name: "free" });
      expect((await claim(at.store)).map(({ unkeyed }) => unkeyed)).toEqual([false, false]);
    });

    test("the limits of job and queue hold while keys are computed", async () => {
      await define(at.store, [{ name: "job", limit: 2, keyLimit: 1 }]);
      await insert(at.store, ...times(5, () => ({})));
      expect(await claim(at.store)).toHaveLength(2);
      expect(await claim(at.store)).toEqual([]);
    });

    test("a claim that is sent again returns that the key must be computed", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      await insert(at.store, {}, { key: "a" });
      const request = claimRequest();
      const first = await exchange(at.store, { claim: request });
      const again = await exchange(at.store, { claim: request, again: true });
      expect(again.claimed).toEqual(first.claimed);
      expect(first.claimed.map(({ unkeyed }) => unkeyed)).toEqual([true, false]);
    });

    test("a run with an owner has no key", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      await insert(at.store, { owner: "w1", lane: "job" });
      expect(await claimOne(at.store)).toMatchObject({ unkeyed: false });
    });

    test("why() gives the missing key as the reason", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      const id = await insertOne(at.store);
      expect(await at.store.waitFacts(id)).toMatchObject({ keyed: false, job: { keyLimit: 1 } });
      const keyed = await insertOne(at.store, { key: null });
      expect(await at.store.waitFacts(keyed)).toMatchObject({ keyed: true, run: { key: null } });
    });

    test("a rename keeps the computed key", async () => {
      await define(at.store, [{ name: "old", keyLimit: 1 }]);
      await insert(at.store, { name: "old" }, { name: "old", key: null }, { name: "old", key: "a" });
      await define(at.store, [{ name: "new", keyLimit: 1, formerly: ["old"] }]);
      const claimed = await claim(at.store);
      expect(claimed.map(({ lane, unkeyed }) => ({ lane, unkeyed }))).toEqual([
        { lane: "new", unkeyed: true },
        { lane: "new|", unkeyed: false },
        { lane: "new|a", unkeyed: false },
      ]);
    });
  });
}
