import { beforeEach, describe, expect, test } from "vitest";
import type { ClaimRequest, ExchangeRequest, ExchangeResult } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  claim,
  claimOne,
  claimRequest,
  define,
  exchange,
  ids,
  insert,
  insertOne,
  names,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** The first claim of a woken worker. On every database it takes only runs that an ordinary claim would take. */
export function claimingImmediately(database: Database): void {
  describe("an immediate claim", () => {
    const at = fresh(database);

    /** Returns a store that has seen runs in these queues. */
    beforeEach(async () => {
      await beat(at.store, "w1");
      await insert(at.store, {}, { queue: "other" });
      const settle = (await claim(at.store)).map((run) => settlement(run, "completed", { keep: 0 }));
      await exchange(at.store, { settle });
    });

    const claimed = (fields: Partial<ClaimRequest> = {}, more: Partial<ExchangeRequest> = {}) =>
      exchange(at.store, { claim: claimRequest({ immediate: true, ...fields }), ...more });
    const rowOf = async (id: number) => {
      const [row] = await at.sql<Record<string, unknown>>(`select * from punctual_runs where id = ${id}`);
      return { ...row, id: 0, lease_token: "", created_at: 0, run_at: 0 };
    };
    const isPartial = ({ isPartial = false }: ExchangeResult) => isPartial;

    test("takes the first of the order", async () => {
      await insert(
        at.store,
        { name: "late", priority: 3 },
        { name: "first", priority: 1, queue: "other" },
        { name: "second", priority: 2 },
      );
      const answer = await claimed({ limit: 2, start: 2 });
      expect(names(answer.claimed)).toEqual(["first", "second"]);
      expect(isPartial(answer)).toBe(database.name === "postgres");
      const rest = await claimed();
      expect(names(rest.claimed)).toEqual(["late"]);
      expect(isPartial(await claimed())).toBe(false);
    });

    test("writes what an ordinary claim writes", async () => {
      await define(at.store, [{ name: "job" }]);
      const unique = (key: string) => ({ key, until: "started" as const, for: 0 });
      const ordinary = await insertOne(at.store, { args: '["ä"]', unique: unique("a"), tags: ["t"] });
      const one = await claimOne(at.store, { leases: { job: 1234 } });
      const immediate = await insertOne(at.store, { args: '["ä"]', unique: unique("b"), tags: ["t"] });
      const [other] = (await claimed({ leases: { job: 1234, constructor: 5 } })).claimed;
      expect(await rowOf(immediate)).toEqual(await rowOf(ordinary));
      expect({ ...other, id: 0, token: "" }).toEqual({ ...one, id: 0, token: "" });
      // The key is free again.
      expect(await insertOne(at.store, { unique: unique("b") })).not.toBe(immediate);
    });

    test("takes as many runs as can start; the next exchange prefetches the rest", async () => {
      await insert(at.store, ...times(5, () => ({})));
      const answer = await claimed({ limit: 5, start: 2 });
      const started = await at.sql("select id from punctual_runs where state = 2 and started_at is not null");
      expect(started).toHaveLength(2);
      const rest = isPartial(answer) ? await claim(at.store, { limit: 3, start: 0, limited: 0 }) : [];
      expect([...answer.claimed, ...rest]).toHaveLength(5);
      const all = await at.sql("select id from punctual_runs where state = 2 and started_at is null");
      expect(all).toHaveLength(3);
    });

    test("leaves out paused jobs and queues", async () => {
      await define(at.store, [{ name: "job" }, { name: "paused" }]);
      await insert(at.store, { name: "paused" }, { queue: "other" });
      await at.store.pauseJob("paused", true);
      await at.store.pauseQueue("other", true, null);
      // Simulates a run that was inserted while the pause began.
      await at.sql("update punctual_runs set limited = 0");
      expect((await claimed()).claimed).toEqual([]);
      const free = await insertOne(at.store);
      expect(ids((await claimed()).claimed)).toEqual([free]);
      await at.store.pauseQueue("other", true, at.clock.now() + 1000);
      await at.clock.advance(1001);
      expect((await claimed()).claimed).toHaveLength(1);
    });

    test("respects limits of jobs and queues, also for runs that missed the hint", async () => {
      await define(at.store, [{ name: "job", limit: 1 }, { name: "free" }], {
        queues: [{ name: "other", limit: 1 }],
      });
      await insert(at.store, {}, {}, { name: "free", queue: "other" }, { name: "free", queue: "other" });
      await at.sql("update punctual_runs set limited = 0");
      const all = [];
      for (let tries = 0; tries < 6; tries++) all.push(...(await claimed({ limit: 3 })).claimed);
      expect(names(all).sort()).toEqual(["free", "job"]);
    });

    test("leaves out excluded jobs, and finds runs behind very many of them", async () => {
      await insert(at.store, ...times(100, () => ({ name: "foreign", priority: 1 })));
      const own = await insertOne(at.store, { priority: 2 });
      expect(ids((await claimed({ exclude: ["foreign"] })).claimed)).toEqual([own]);
      expect((await claimed({ exclude: ["foreign"] })).claimed).toEqual([]);
    });

    test("differs from the claim before it in its queues, its excluded jobs and its leases", async () => {
      const requests: Partial<ClaimRequest>[] = [
        {},
        { exclude: ["foreign"] },
        { leases: { job: 1234 } },
        { exclude: ["foreign"], leases: { job: 1234 } },
        { queues: ["default"] },
      ];
      for (const request of requests) {
        const own = await insertOne(at.store);
        expect(ids((await claimed(request)).claimed)).toEqual([own]);
      }
    });

    test("leaves out ad hoc runs and queues that the worker does not serve", async () => {
      await insert(at.store, { owner: "w9" }, { queue: "other" });
      expect((await claimed({ exceptQueues: ["other"] })).claimed).toEqual([]);
      expect((await claimed({ queues: ["default"] })).claimed).toEqual([]);
      const own = await insertOne(at.store, { owner: "w1" });
      expect(ids((await claimed({ queues: ["default"] })).claimed)).toEqual([own]);
    });

    test("returns runs with a cancellation request", async () => {
      const id = await insertOne(at.store);
      await at.sql("update punctual_runs set cancelled_at = 1");
      const { claimed: runs, cancelled } = await claimed();
      expect([ids(runs), cancelled]).toEqual([[id], [id]]);
    });

    test("that is sent again returns the runs it has taken, or takes them once", async () => {
      const inserted = await insert(at.store, {}, {});
      const request = { seq: 100_000, claim: claimRequest({ immediate: true, limit: 1 }) };
      const first = await exchange(at.store, request);
      expect(ids(first.claimed)).toEqual([inserted[0]]);
      const again = await exchange(at.store, { ...request, again: true });
      expect(again.claimed.map(({ id, token, attempts }) => [id, token, attempts])).toEqual(
        first.claimed.map(({ id, token, attempts }) => [id, token, attempts]),
      );
      const lost = { seq: 100_001, claim: claimRequest({ immediate: true, limit: 1 }), again: true };
      expect(ids((await exchange(at.store, lost)).claimed)).toEqual([inserted[1]]);
    });
  });
}
