import { describe, expect, test } from "vitest";
import type { Rate } from "../../../src/store/rate.ts";
import type { RateSearch } from "../../../src/store/reads.ts";
import type { ClaimedRun, SyncRequest } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  type ClaimFields,
  claim,
  claimOne,
  claimRequest,
  define,
  exchange,
  found,
  ids,
  insert,
  insertOne,
  type RunFields,
  rate,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** More than any claim reads in order. */
const MANY = 150;

export function rates(database: Database): void {
  describe("rates", () => {
    const at = fresh(database);
    const fill = (count: number, fields: RunFields = {}) => insert(at.store, ...times(count, () => fields));
    const ofJob = (job: Rate, fields: object = {}) =>
      define(at.store, [{ name: "job", rates: { job, key: null }, ...fields }]);
    const ofKey = (key: Rate, fields: object = {}) =>
      define(at.store, [{ name: "job", rates: { job: null, key }, ...fields }]);
    const ofQueue = (queue: Rate | null, fields: Partial<SyncRequest["queues"][number]> = {}) =>
      define(at.store, [{ name: "job" }], {
        queues: [{ name: "default", limit: 0, rate: queue, ...fields }],
      });
    const started = async (fields: ClaimFields = {}) => (await claim(at.store, fields)).length;
    /** Claims and says when to claim again. */
    const look = (fields: ClaimFields = {}) =>
      exchange(at.store, { worker: fields.worker ?? "w1", claim: claimRequest(fields) });

    /** Claims until a claim finds nothing: not every claim looks behind the first runs of a queue. */
    const all = async () => {
      const claimed: number[] = [];
      for (let some = await claim(at.store); some.length > 0; some = await claim(at.store))
        claimed.push(...ids(some));
      return claimed;
    };

    for (const [what, prepare] of [
      ["job", () => ofJob(rate(3))],
      ["queue", () => ofQueue(rate(3))],
      ["key", () => ofKey(rate(3))],
    ] as const) {
      test(`of a ${what}: no more runs start within the time, and the others stay ready`, async () => {
        await prepare();
        const all = await fill(8, { key: "a" });
        expect(ids(await claim(at.store))).toEqual(all.slice(0, 3));
        expect(await found(at.store, all[3]!)).toMatchObject({ state: "ready", attempts: 0 });
        await at.clock.advance(0.999);
        expect(await started()).toBe(0);
        await at.clock.advance(0.001);
        expect(await started()).toBe(3);
        await at.clock.advance(1);
        expect(await started()).toBe(2);
      });
    }

    test("hold in every window, wherever it begins", async () => {
      await ofJob(rate(3));
      await fill(9);
      expect(await started({ limit: 1 })).toBe(1);
      await at.clock.advance(0.6);
      expect(await started()).toBe(2);
      await at.clock.advance(0.4);
      expect(await started()).toBe(1);
      await at.clock.advance(0.6);
      expect(await started()).toBe(2);
    });

    test("a claim says when the first of them opens", async () => {
      await ofJob(rate(2));
      await fill(5);
      await look({ limit: 1 });
      await at.clock.advance(0.3);
      // Also together with the claim that uses it up.
      expect((await look()).nextDue).toBe(at.clock.now() + 700);
      expect((await look()).nextDue).toBe(at.clock.now() + 700);
      const due = at.clock.now() + 100;
      await insertOne(at.store, { name: "later", runAt: due });
      expect((await look()).nextDue).toBe(due);
    });

    test("of job, key and queue at once: all must have room", async () => {
      await define(at.store, [{ name: "job", rates: { job: rate(4), key: rate(2) } }], {
        queues: [{ name: "small", limit: 0, rate: rate(1) }],
      });
      await fill(5, { key: "a" });
      await fill(5, { key: "b" });
      await fill(5, { key: "c" });
      const lanes = async () => (await claim(at.store)).map(({ lane }) => lane).sort();
      expect(await lanes()).toEqual(["job|a", "job|a", "job|b", "job|b"]);
      await at.clock.advance(1);
      await insert(at.store, ...times(3, () => ({ key: "d", queue: "small", priority: 1 })));
      expect(await lanes()).toEqual(["job|a", "job|a", "job|b", "job|d"]);
    });

    test("a run without a key is not under a rate per key", async () => {
      await ofKey(rate(1));
      await fill(3, { key: null });
      await fill(3, { key: "a" });
      expect(await started()).toBe(4);
    });

    test("a burst is how many may start ahead of an even pace", async () => {
      await ofJob(rate(10, 1000, 2));
      await fill(30);
      expect(await started()).toBe(2);
      expect((await look()).nextDue).toBe(at.clock.now() + 100);
      await at.clock.advance(0.099);
      expect(await started()).toBe(0);
      await at.clock.advance(0.001);
      expect(await started()).toBe(1);
      await at.clock.advance(0.5);
      expect(await started()).toBe(2);
    });

    test("every attempt counts, and none is given back", async () => {
      await ofJob(rate(2));
      const [first] = await fill(2);
      const run = await claimOne(at.store);
      expect(run.id).toBe(first);
      await settle(at.store, run, "released");
      expect(await claimOne(at.store)).toMatchObject({ id: first });
      expect(await started()).toBe(0);
    });

    test("a run that takes the place of a finished one is a start", async () => {
      await ofJob(rate(2), { limit: 1 });
      await fill(4);
      let { claimed } = await look();
      expect(claimed).toHaveLength(1);
      const next = async ([run]: ClaimedRun[]) =>
        (await exchange(at.store, { settle: [settlement(run!, "completed")], claim: claimRequest() }))
          .claimed;
      claimed = await next(claimed);
      expect(claimed).toHaveLength(1);
      expect(await next(claimed)).toEqual([]);
    });

    test("runs do not follow one another in a chain", async () => {
      await ofJob(rate(5), { limit: 1 });
      await fill(4);
      expect(await started({ behind: () => 3 })).toBe(1);
    });

    test("a run waits for its limit and its rate", async () => {
      await ofJob(rate(2), { limit: 1 });
      await fill(4);
      const first = await claimOne(at.store);
      expect(await started()).toBe(0);
      await settle(at.store, first, "completed");
      const second = await claimOne(at.store);
      await settle(at.store, second, "completed");
      expect(await started()).toBe(0);
      await at.clock.advance(1);
      expect(await started()).toBe(1);
    });

    test("a run whose key is not computed is claimed for it, and is no start", async () => {
      await define(at.store, [{ name: "job", rates: { job: rate(2), key: rate(1) } }]);
      await fill(2);
      const runs = await claim(at.store);
      expect(runs.map(({ unkeyed }) => unkeyed)).toEqual([true, true]);
      for (const run of runs) await settle(at.store, run, "released", { lane: "job|a" });
      expect(await started()).toBe(1);
      expect(await started()).toBe(0);
      expect(await started({ worker: "w2", computesKey: () => false })).toBe(0);
    });

    test("hold runs that were dispatched before there was a rate", async () => {
      await define(at.store, [{ name: "job" }]);
      await fill(3);
      await ofJob(rate(1));
      await fill(3);
      expect(await started()).toBe(1);
      await define(at.store, [{ name: "job" }]);
      expect(await started()).toBe(5);
    });

    test("that are lowered hold at once, and higher ones open at once", async () => {
      await ofJob(rate(4));
      await fill(20);
      expect(await started({ limit: 2 })).toBe(2);
      await ofJob(rate(1));
      expect(await started()).toBe(0);
      await ofJob(rate(3));
      expect(await started()).toBe(1);
    });

    test("of a queue with a limit leave the limit as it was, and are taken back by null", async () => {
      await ofQueue(rate(5), { limit: 2 });
      await fill(10);
      expect(await started()).toBe(2);
      expect((await at.store.status()).queues).toMatchObject([{ limit: 2, rate: rate(5) }]);
      await ofQueue(rate(5));
      expect(await started()).toBe(3);
      expect((await at.store.status()).queues).toMatchObject([{ limit: 0, rate: rate(5) }]);
      await ofQueue(null);
      expect(await started()).toBe(5);
    });

    test("runs of other jobs pass those that a rate holds back", async () => {
      await ofJob(rate(1));
      await fill(MANY);
      const free = await insertOne(at.store, { name: "free" });
      await define(at.store, [{ name: "limited", limit: 5 }], { worker: "w2" });
      const limited = await insertOne(at.store, { name: "limited" });
      expect((await all()).slice(1)).toEqual([free, limited]);
    });

    test("a key that is open passes the keys that are closed", async () => {
      await ofKey(rate(1));
      for (const key of times(5, String)) await fill(MANY / 5, { key });
      expect(await all()).toHaveLength(5);
      const open = await insertOne(at.store, { key: "open" });
      expect(ids(await claim(at.store, { immediate: true }))).toEqual([open]);
      expect(await started()).toBe(0);
    });

    test("after the clock was set back, they open within their time", async () => {
      await ofJob(rate(2));
      await fill(9);
      expect(await started()).toBe(2);
      at.clock.set(new Date(at.clock.now() - 3_600_000));
      expect(await started()).toBe(0);
      await at.clock.advance(0.999);
      expect(await started()).toBe(0);
      await at.clock.advance(0.001);
      expect(await started()).toBe(2);
    });

    test("a clock that is a little behind the last start opens nothing early", async () => {
      await ofJob(rate(2));
      await fill(9);
      expect(await started()).toBe(2);
      at.clock.set(new Date(at.clock.now() - 2000));
      expect(await started()).toBe(0);
      await at.clock.advance(2.999);
      expect(await started()).toBe(0);
      await at.clock.advance(0.001);
      expect(await started()).toBe(2);
    });

    test("many claims at once start no more than one after the other", async () => {
      await define(at.store, [{ name: "job", rates: { job: rate(7), key: rate(3) } }], {
        queues: [{ name: "default", limit: 0, rate: rate(9) }],
      });
      for (const key of ["a", "b", "c"]) await fill(10, { key });
      await fill(9, { name: "other" });
      const stores = await Promise.all(times(6, () => at.another({ clock: at.clock })));
      const claimed: ClaimedRun[] = [];
      for (const _ of times(5, () => 0)) {
        const looks = stores.map((store, n) => claim(store, { worker: `w${n}`, limit: 2 }));
        claimed.push(...(await Promise.all(looks)).flat());
      }
      expect(claimed.length).toBe(9);
      const jobs = claimed.filter(({ name }) => name === "job");
      expect(jobs.length).toBeLessThanOrEqual(7);
      for (const key of ["a", "b", "c"])
        expect(jobs.filter(({ lane }) => lane === `job|${key}`).length).toBeLessThanOrEqual(3);
    });

    test("a claim that is sent again returns its runs and counts them once", async () => {
      await ofJob(rate(3));
      await fill(9);
      const request = claimRequest({ limit: 2 });
      const { claimed } = await exchange(at.store, { claim: request });
      const again = await exchange(at.store, { claim: request, again: true });
      expect(ids(again.claimed)).toEqual(ids(claimed));
      expect(await started()).toBe(1);
    });

    test("a worker that found only runs above their rate looks again when they open, after a change, or after some time", async () => {
      await define(at.store, [
        { name: "job", rates: { job: rate(1, 60_000), key: null } },
        { name: "limited", limit: 9 },
      ]);
      await fill(MANY);
      expect(await started()).toBe(1);
      const opening = at.clock.now() + 60_000;
      expect(await look()).toMatchObject({ claimed: [], nextDue: opening });
      // Twice: a look at which nothing was claimed for a slot does not count.
      expect(await look()).toMatchObject({ claimed: [], nextDue: opening });
      const other = () => insertOne(at.store, { name: "limited" });
      const first = await other();
      expect(await look()).toMatchObject({ claimed: [], nextDue: opening });
      expect(ids((await look({ immediate: true })).claimed)).toEqual([first]);
      await look();
      const second = await other();
      await at.clock.advance(30);
      expect(ids((await look()).claimed)).toEqual([second]);
      await look();
      const free = await insertOne(at.store, { name: "free" });
      expect(ids((await look()).claimed)).toEqual([free]);
      await at.clock.advance(30);
      expect((await look()).claimed).toHaveLength(1);
    });

    test("a run that waits for a slot beside runs above their rate is looked at again", async () => {
      await ofJob(rate(2, 60_000), { limit: 1 });
      await define(at.store, [{ name: "single", limit: 1 }], { worker: "w2" });
      await fill(9);
      const first = await claimOne(at.store);
      const single = await insertOne(at.store, { name: "single" });
      const [held] = await claim(at.store, { worker: "w2" });
      expect(held!.id).toBe(single);
      const next = await insertOne(at.store, { name: "single" });
      // One more start of the job: then its rate holds back the rest, and a slot the other run.
      await settle(at.store, first, "completed");
      await settle(at.store, await claimOne(at.store), "completed");
      expect((await look()).claimed).toEqual([]);
      expect((await look()).claimed).toEqual([]);
      await settle(at.store, held!, "completed");
      expect(ids((await look()).claimed)).toEqual([next]);
    });

    test("are listed with what is spent, and explain why a run waits", async () => {
      await define(at.store, [{ name: "job", rates: { job: rate(5), key: rate(1, 2000) } }], {
        queues: [{ name: "default", limit: 0, rate: rate(9, 1000, 3) }],
      });
      await fill(2, { key: "a" });
      const [, second] = await fill(2, { key: "b" });
      expect(await started()).toBe(2);
      const opensAt = at.clock.now() + 2000;
      const slowedUntil = null;
      const ofKeys = {
        job: "job",
        queue: null,
        limit: 1,
        per: 2000,
        burst: null,
        spent: 1,
        opensAt,
        slowedUntil,
      };
      expect(await at.store.rates({ most: 100 })).toEqual([
        { job: "job", key: null, queue: null, ...rate(5), spent: 2, opensAt: null, slowedUntil },
        { ...ofKeys, key: "a" },
        { ...ofKeys, key: "b" },
        { job: null, key: null, queue: "default", ...rate(9, 1000, 3), spent: 2, opensAt: null, slowedUntil },
      ]);
      expect(await at.store.rates({ most: 2 })).toHaveLength(2);
      expect((await at.store.waitFacts(second!))?.rates).toEqual([
        { job: "job", key: null, queue: null, ...rate(5), spent: 2, opensAt: null, slowedUntil },
        { ...ofKeys, key: "b" },
        { job: null, key: null, queue: "default", ...rate(9, 1000, 3), spent: 2, opensAt: null, slowedUntil },
      ]);
    });

    test("are listed of one job, one queue or one kind", async () => {
      await define(
        at.store,
        [
          { name: "job", rates: { job: rate(5), key: rate(1) } },
          { name: "job2", rates: { job: rate(5), key: null } },
        ],
        { queues: ["default", "other"].map((name) => ({ name, limit: 0, rate: rate(9) })) },
      );
      await fill(1, { key: "a" });
      expect(await started()).toBe(1);
      const listed = async (search: Partial<RateSearch>) =>
        (await at.store.rates({ most: 100, ...search })).map(({ job, key, queue }) => [job, key, queue]);
      const [ofJob, ofOther, ofKey] = [
        ["job", null, null],
        ["job2", null, null],
        ["job", "a", null],
      ];
      expect(await listed({ job: "job" })).toEqual([ofJob, ofKey]);
      expect(await listed({ job: "job", kind: "key" })).toEqual([ofKey]);
      expect(await listed({ queue: "other" })).toEqual([[null, null, "other"]]);
      expect(await listed({ job: "job2", queue: "other" })).toEqual([ofOther, [null, null, "other"]]);
      expect(await listed({ kind: "job" })).toEqual([ofJob, ofOther]);
      expect(await listed({ kind: "queue" })).toEqual([
        [null, null, "default"],
        [null, null, "other"],
      ]);
      expect(await listed({ job: "none", queue: "none" })).toEqual([]);
    });

    test("of many keys, closed ones are listed first", async () => {
      await ofKey(rate(2));
      await insert(at.store, ...times(130, (n) => ({ key: `k${1000 + n}` })));
      await all();
      await fill(1, { key: "k1120" });
      expect(await started()).toBe(1);
      const listed = await at.store.rates({ most: 1000 });
      expect(listed).toHaveLength(100);
      expect(listed.slice(0, 2)).toMatchObject([
        { key: "k1120", spent: 2, opensAt: at.clock.now() + 1000 },
        { key: "k1000", spent: 1, opensAt: null },
      ]);
      await at.clock.advance(1);
      expect(await at.store.rates({ most: 1000 })).toEqual([]);
    });

    test("keep their starts when the job is renamed", async () => {
      const rates = { job: rate(3), key: rate(1) };
      await define(at.store, [{ name: "job", rates }]);
      await fill(3, { key: "a" });
      await fill(3, { key: "b" });
      expect(await started()).toBe(2);
      await define(at.store, [{ name: "renamed", formerly: ["job"], rates }]);
      await insert(at.store, ...times(3, (n) => ({ name: "renamed", key: `c${n}` })));
      expect((await claim(at.store)).map(({ lane }) => lane)).toEqual(["renamed|c0"]);
      await at.clock.advance(1);
      expect(await all()).toHaveLength(3);
    });

    test("rows that mean nothing any more are deleted, and others are kept", async () => {
      const names = async () =>
        (await at.sql<{ name: string }>("select name from punctual_rates order by name")).map(
          ({ name }) => name,
        );
      await define(at.store, [{ name: "job", rates: { job: rate(5, 9000), key: rate(1) } }]);
      await fill(1, { key: "a" });
      await fill(1, { key: "b" });
      expect(await started()).toBe(2);
      expect(await names()).toEqual(["j:job", "k:3:job|a", "k:3:job|b"]);
      const prune = () =>
        at.store.prune({ finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 100 });
      await at.clock.advance(0.9);
      await prune();
      expect(await names()).toHaveLength(3);
      await at.clock.advance(0.2);
      await prune();
      expect(await names()).toEqual(["j:job"]);
    });

    describe("and workers of older versions", () => {
      const limitsOf = async (name: string) =>
        (
          await at.sql<{ lim: number; key_lim: number }>(
            "select lim, key_lim from punctual_jobs where name = ?",
            name,
          )
        )[0]!;

      test("find no room for a run of the job", async () => {
        await ofJob(rate(5), { limit: 3, keyLimit: 2 });
        const { lim, key_lim: keyLimit } = await limitsOf("job");
        // They put its runs under limits, and compare the limit with the number of running runs.
        expect(lim).toBeLessThan(0);
        expect(keyLimit).toBeGreaterThan(0);
        expect(await at.store.job("job")).toMatchObject({ limit: 3, keyLimit: 2, rates: { job: rate(5) } });
      });

      test("that define the job again take the rate away", async () => {
        await ofJob(rate(1));
        await fill(3);
        await at.sql("update punctual_jobs set lim = 2, key_lim = 0 where name = 'job'");
        expect(await at.store.job("job")).toMatchObject({ limit: 2, keyLimit: 0, rates: null });
        expect(await started()).toBe(2);
      });

      test("are refused from the first rate of a queue on", async () => {
        const oldest = async () =>
          (
            await at.sql<{ compatible_from: number }>(
              "select compatible_from from punctual_migrations where number = 12",
            )
          )[0]!.compatible_from;
        await at.sql("update punctual_migrations set compatible_from = 3 where number = 12");
        await ofJob(rate(1));
        expect(await oldest()).toBe(3);
        await ofQueue(rate(1));
        expect(await oldest()).toBe(12);
        await ofQueue(null);
        expect(await oldest()).toBe(12);
        await at.sql("update punctual_migrations set compatible_from = 3 where number = 12");
      });
    });
  });
}
