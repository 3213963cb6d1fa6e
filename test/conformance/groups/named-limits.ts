import { describe, expect, test } from "vitest";
import type { Rate } from "../../../src/store/rate.ts";
import type { ClaimedRun } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  type ClaimFields,
  claim,
  claimOne,
  claimRequest,
  define,
  exchange,
  ids,
  insert,
  insertOne,
  type JobFields,
  type RunFields,
  rate,
  reap,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** More than any claim reads in order. */
const MANY = 150;

export function namedLimits(database: Database): void {
  describe("named limits", () => {
    const at = fresh(database);
    const under = (name: string, hasCost = false, fields: Partial<JobFields> = {}): JobFields => ({
      name,
      rates: { job: null, key: null, under: { limit: "api", hasCost } },
      ...fields,
    });
    const setLimit = (limit: number, ofLimit: Rate | null = null, jobs = [under("a"), under("b")]) =>
      define(at.store, jobs, { limits: [{ name: "api", limit, rate: ofLimit }] });
    const costly = (ofLimit: Rate, limit = 0) =>
      setLimit(limit, ofLimit, [under("a", true), under("b", true)]);
    const fill = (count: number, fields: RunFields) => insert(at.store, ...times(count, () => fields));
    const started = async (fields: ClaimFields = {}) => (await claim(at.store, fields)).length;
    const look = (fields: ClaimFields = {}) =>
      exchange(at.store, { worker: fields.worker ?? "w1", claim: claimRequest(fields) });

    describe("on concurrency", () => {
      test("count the running runs of all jobs under them", async () => {
        await setLimit(3);
        await fill(2, { name: "a" });
        await fill(5, { name: "b" });
        await fill(2, { name: "free" });
        const runs = await claim(at.store);
        expect(runs.map(({ name }) => name)).toEqual(["a", "a", "b", "free", "free"]);
        expect(await started({ worker: "w2" })).toBe(0);
        await settle(at.store, runs[0]!, "completed");
        expect(await started({ worker: "w2" })).toBe(1);
        expect(await started()).toBe(0);
      });

      test("hold together with those of the job, the key and the queue", async () => {
        await define(
          at.store,
          [under("a", false, { limit: 1 }), under("b", false, { keyLimit: 1 }), { name: "c" }],
          { limits: [{ name: "api", limit: 4, rate: null }], queues: [{ name: "default", limit: 4 }] },
        );
        await fill(3, { name: "a" });
        await fill(3, { name: "b", key: "x" });
        await fill(3, { name: "b", key: null });
        await fill(3, { name: "c" });
        const lanes = (await claim(at.store)).map(({ lane }) => lane);
        expect(lanes).toEqual(["a", "b|x", "b|", "b|"]);
      });

      test("a run may take the place of a finished one of its job", async () => {
        await setLimit(2);
        await fill(6, { name: "a" });
        const runs = await claim(at.store);
        expect(runs).toHaveLength(2);
        const { claimed } = await exchange(at.store, {
          settle: runs.map((run) => settlement(run, "completed")),
          claim: claimRequest(),
        });
        expect(claimed).toHaveLength(2);
        expect(await started({ worker: "w2" })).toBe(0);
      });

      test("runs do not follow one another in a chain", async () => {
        await setLimit(5, null, [under("a", false, { limit: 1 })]);
        await fill(4, { name: "a" });
        expect(await started({ behind: () => 3 })).toBe(1);
      });

      test("a run of a chain from before there was the limit uses one slot", async () => {
        await define(at.store, [{ name: "a", limit: 1 }, { name: "b" }]);
        await fill(3, { name: "a" });
        expect(await started({ behind: () => 3 })).toBe(3);
        await setLimit(2);
        await fill(5, { name: "b" });
        expect(await started()).toBe(1);
      });

      test("a crashed worker gives its slots back", async () => {
        await setLimit(1);
        const [first, second] = [
          await insertOne(at.store, { name: "a" }),
          await insertOne(at.store, { name: "b", priority: 1 }),
        ];
        expect(ids(await claim(at.store))).toEqual([second]);
        await at.clock.advance(61);
        expect(await started({ worker: "w2", crashed: 0 })).toBe(0);
        await reap(at.store);
        expect(ids(await claim(at.store, { worker: "w2", crashed: 0 }))).toEqual([first]);
      });

      test("hold runs that started before their job was under them", async () => {
        await define(at.store, [{ name: "a" }, { name: "b" }]);
        await fill(2, { name: "a" });
        expect(await started()).toBe(2);
        await fill(3, { name: "b" });
        await setLimit(2);
        expect(await started()).toBe(0);
        await setLimit(3);
        expect(await started()).toBe(1);
      });

      test("many claims at once start no more than one after the other", async () => {
        await setLimit(4);
        for (const name of ["a", "b"]) await fill(10, { name });
        const stores = await Promise.all(times(5, () => at.another({ clock: at.clock })));
        const claimed: ClaimedRun[] = [];
        for (const _ of times(4, () => 0)) {
          const looks = stores.map((store, n) => claim(store, { worker: `w${n}`, limit: 2 }));
          claimed.push(...(await Promise.all(looks)).flat());
        }
        expect(claimed).toHaveLength(4);
      });
    });

    describe("on starts", () => {
      test("count the starts of all jobs under them", async () => {
        await setLimit(0, rate(3));
        await fill(2, { name: "a" });
        await fill(5, { name: "b" });
        expect(await started()).toBe(3);
        await at.clock.advance(0.999);
        expect(await started()).toBe(0);
        await at.clock.advance(0.001);
        expect(await started()).toBe(3);
      });

      test("and rates of the job hold at once", async () => {
        await define(
          at.store,
          [
            { name: "a", rates: { job: rate(1), key: null, under: { limit: "api", hasCost: false } } },
            under("b"),
          ],
          { limits: [{ name: "api", limit: 0, rate: rate(3) }] },
        );
        for (const name of ["a", "b"]) await fill(9, { name });
        const names = async () => (await claim(at.store)).map(({ name }) => name);
        expect(await names()).toEqual(["a", "b", "b"]);
        expect(await at.store.job("a")).toMatchObject({ rates: { job: rate(1) } });
      });

      test("costs add up in every window, wherever it begins", async () => {
        await costly(rate(10));
        await insert(at.store, { name: "a", cost: 4 }, { name: "b", cost: 5 }, { name: "a", cost: 1 });
        expect(await started({ limit: 1 })).toBe(1);
        await at.clock.advance(0.6);
        expect(await started()).toBe(2);
        await insert(at.store, { name: "a", cost: 5 }, { name: "b", cost: 2 });
        await at.clock.advance(0.399);
        expect(await started()).toBe(0);
        // Four are free, which is not enough for the first.
        await at.clock.advance(0.001);
        expect(await started()).toBe(0);
        await at.clock.advance(0.6);
        expect(await started()).toBe(2);
      });

      test("a run that does not fit keeps cheaper runs of any job from using up what becomes free", async () => {
        await costly(rate(10));
        await insert(at.store, { name: "a", cost: 6 });
        expect(await started()).toBe(1);
        const big = await insertOne(at.store, { name: "a", cost: 8 });
        await fill(MANY, { name: "b", cost: 1 });
        const free = await insertOne(at.store, { name: "free" });
        // When the first start leaves the window, the big run starts: nothing was started meanwhile.
        const { claimed, nextDue } = await look();
        expect(ids(claimed)).toEqual([free]);
        expect(nextDue).toBe(at.clock.now() + 1000);
        await at.clock.advance(1);
        const next = await claim(at.store);
        expect(next[0]!.id).toBe(big);
        expect(next).toHaveLength(3);
      });

      test("a run that waits for another limit does not keep the named one free", async () => {
        await define(at.store, [under("a", true, { limit: 1 }), under("b", true)], {
          limits: [{ name: "api", limit: 0, rate: rate(10) }],
        });
        await insert(at.store, { name: "a", cost: 2 });
        expect(await started()).toBe(1);
        await insert(at.store, { name: "a", cost: 9 }, { name: "b", cost: 1 }, { name: "b", cost: 1 });
        expect(await started()).toBe(2);
      });

      test("a run that costs more than the limit costs as much as the limit", async () => {
        await costly(rate(10));
        const [first, big] = await insert(at.store, { name: "a", cost: 1 }, { name: "a", cost: 8 });
        expect(ids(await claim(at.store, { limit: 1 }))).toEqual([first]);
        await costly(rate(5));
        await insert(at.store, { name: "b", cost: 1 });
        expect(await started()).toBe(0);
        await at.clock.advance(1);
        expect(ids(await claim(at.store))).toEqual([big]);
        await at.clock.advance(0.999);
        expect(await started()).toBe(0);
        await at.clock.advance(0.001);
        expect(await started()).toBe(1);
      });

      test("a run that costs more than the burst starts when an even pace has caught up", async () => {
        await costly(rate(10, 1000, 2));
        await insert(at.store, { name: "a", cost: 5 }, { name: "a", cost: 1 }, { name: "a", cost: 3 });
        expect(await started()).toBe(1);
        expect((await look()).nextDue).toBe(at.clock.now() + 400);
        await at.clock.advance(0.4);
        expect(await started()).toBe(1);
        expect((await look()).nextDue).toBe(at.clock.now() + 200);
        await at.clock.advance(0.2);
        expect(await started()).toBe(1);
      });

      test("a claim says when the first run that fits may start", async () => {
        await costly(rate(10));
        await insert(at.store, { name: "a", cost: 3 });
        await started();
        await at.clock.advance(0.3);
        await insert(at.store, { name: "a", cost: 5 });
        await started();
        await insert(at.store, { name: "b", cost: 4 }, { name: "a", cost: 1 });
        expect(await look()).toMatchObject({ claimed: [], nextDue: at.clock.now() + 700 });
        await insert(at.store, { name: "b", cost: 8, priority: 1 });
        expect(await look({ immediate: true })).toMatchObject({
          claimed: [],
          nextDue: at.clock.now() + 1000,
        });
      });

      test("a cost that the producer could not compute is computed first, and that is no start", async () => {
        await costly(rate(10));
        const id = await insertOne(at.store, { name: "a" });
        expect(await started({ worker: "w2", computesCost: () => false })).toBe(0);
        const run = await claimOne(at.store);
        expect(run).toMatchObject({ id, unkeyed: true, rated: false });
        await settle(at.store, run, "released", { lane: "a|", cost: 7 });
        await insert(at.store, { name: "b", cost: 4 });
        expect(await claimOne(at.store)).toMatchObject({ id, unkeyed: false, rated: true, attempts: 1 });
        expect(await started()).toBe(0);
      });

      test("every attempt costs as much, and none is given back", async () => {
        await costly(rate(10));
        const id = await insertOne(at.store, { name: "a", cost: 4 });
        await settle(at.store, await claimOne(at.store), "retried", { delay: 0 });
        await settle(at.store, await claimOne(at.store), "retried", { delay: 0 });
        expect(await started()).toBe(0);
        await at.clock.advance(1);
        await settle(at.store, await claimOne(at.store), "failed", { keep: null });
        await at.store.revive(id, {});
        // The cost of a run that was retried by hand is computed again.
        expect(await claimOne(at.store)).toMatchObject({ id, unkeyed: true });
      });

      test("the starts of runs that history does not keep count as well", async () => {
        await costly(rate(10));
        await insert(at.store, { name: "a", cost: 8 }, { name: "b", cost: 3 });
        const run = await claimOne(at.store);
        await settle(at.store, run, "completed", { keep: 0 });
        expect(await at.store.find(run.id)).toBeNull();
        expect(await started()).toBe(0);
      });

      test("a claim that is sent again returns its runs and counts them once", async () => {
        await costly(rate(10));
        await insert(at.store, { name: "a", cost: 4 }, { name: "a", cost: 4 }, { name: "a", cost: 4 });
        const request = claimRequest({ limit: 1 });
        const { claimed } = await exchange(at.store, { claim: request });
        const again = await exchange(at.store, { claim: request, again: true });
        expect(again.claimed).toMatchObject([{ id: claimed[0]!.id, unkeyed: false, rated: true }]);
        expect(await started()).toBe(1);
      });

      test("a handler that slows down closes the named limit, unless its job has a rate", async () => {
        await define(
          at.store,
          [
            { name: "a", rates: { job: rate(9), key: null, under: { limit: "api", hasCost: false } } },
            under("b"),
          ],
          {
            limits: [{ name: "api", limit: 0, rate: rate(9) }],
            queues: [{ name: "default", limit: 0, rate: rate(9) }],
          },
        );
        await fill(4, { name: "a" });
        await fill(4, { name: "b" });
        const slowDown = (run: ClaimedRun) => settle(at.store, run, "snoozed", { delay: 0, slowDown: 5000 });
        const slowed = async () =>
          (await at.store.rates({ most: 9 }))
            .filter(({ slowedUntil }) => slowedUntil !== null)
            .map(({ job, queue, name }) => job ?? queue ?? name);
        await slowDown(await claimOne(at.store));
        expect(await slowed()).toEqual(["a"]);
        await slowDown(await claimOne(at.store));
        expect(await slowed()).toEqual(["a", "api"]);
        expect(await started()).toBe(0);
        const ofLimit = { job: null, key: null, queue: null, name: "api" };
        expect(await at.store.reopenRates(ofLimit)).toBe(1);
        expect(await at.store.reopenRates(ofLimit)).toBe(0);
        expect(await slowed()).toEqual(["a"]);
        expect(await started()).toBe(4);
      });
    });

    test("that no process has defined admit no run", async () => {
      expect((await define(at.store, [under("a")])).undefinedLimits).toEqual(["api"]);
      const id = await insertOne(at.store, { name: "a" });
      expect(await started()).toBe(0);
      expect((await at.store.waitFacts(id))?.named).toMatchObject({ name: "api", limit: null });
      expect((await at.store.status()).limits).toEqual([
        { name: "api", limit: null, rate: null, jobs: ["a"], running: 0 },
      ]);
      expect((await setLimit(1)).undefinedLimits).toEqual([]);
      expect(ids(await claim(at.store))).toEqual([id]);
    });

    test("that are taken away hold no run, and are the newest definition's", async () => {
      await setLimit(1, rate(1));
      await fill(5, { name: "a" });
      expect(await started()).toBe(1);
      await setLimit(0, null);
      expect(await started()).toBe(4);
      // An older worker does not bring the limit back while the newer one is alive.
      await beat(at.store, "w1");
      await define(at.store, [under("a")], {
        worker: "w2",
        startedAt: 0,
        limits: [{ name: "api", limit: 1, rate: null }],
      });
      await fill(5, { name: "a" });
      expect(await started()).toBe(5);
    });

    test("hold no job that is under them no longer", async () => {
      await setLimit(1, rate(1));
      await fill(5, { name: "a" });
      expect(await started()).toBe(1);
      await define(at.store, [{ name: "a" }]);
      expect(await started()).toBe(4);
      await fill(5, { name: "b" });
      await setLimit(1, null, [under("b")]);
      expect(await started()).toBe(1);
    });

    test("a job that moves to another limit uses that one", async () => {
      await setLimit(1);
      await define(
        at.store,
        [{ name: "a", rates: { job: null, key: null, under: { limit: "other", hasCost: false } } }],
        {
          limits: [{ name: "other", limit: 2, rate: null }],
        },
      );
      await fill(5, { name: "a" });
      await fill(5, { name: "b" });
      expect((await claim(at.store)).map(({ name }) => name)).toEqual(["a", "a", "b"]);
    });

    test("runs of other jobs pass those that a named limit holds back", async () => {
      await setLimit(1, rate(1));
      await fill(MANY, { name: "a" });
      await fill(MANY, { name: "b", key: "x" });
      await define(at.store, [{ name: "limited", limit: 5 }], { worker: "w2" });
      const other = await insertOne(at.store, { name: "limited" });
      const claimed: number[] = [];
      for (let some = await claim(at.store); some.length > 0; some = await claim(at.store))
        claimed.push(...ids(some));
      expect(claimed.slice(1)).toEqual([other]);
    });

    test("are listed with what is spent, and explain why a run waits", async () => {
      await costly(rate(10), 7);
      const [, second] = await insert(at.store, { name: "a", cost: 6 }, { name: "b", cost: 5 });
      expect(await started()).toBe(1);
      const record = {
        job: null,
        key: null,
        queue: null,
        name: "api",
        ...rate(10),
        spent: 6,
        slowedUntil: null,
      };
      expect(await at.store.rates({ most: 9 })).toEqual([{ ...record, opensAt: null }]);
      expect(await at.store.rates({ most: 9, kind: "limit" })).toHaveLength(1);
      expect(await at.store.rates({ most: 9, name: "api" })).toHaveLength(1);
      expect(await at.store.rates({ most: 9, name: "other" })).toEqual([]);
      expect(await at.store.rates({ most: 9, kind: "queue" })).toEqual([]);
      // The rates of a job include the limit that it is under.
      expect(await at.store.rates({ most: 9, job: "a" })).toHaveLength(1);
      expect(await at.store.rates({ most: 9, job: "a", kind: "job" })).toEqual([]);
      expect((await at.store.status()).limits).toEqual([
        { name: "api", limit: 7, rate: rate(10), jobs: ["a", "b"], running: 1 },
      ]);
      // For this run, which costs more than is left, it is closed.
      expect(await at.store.waitFacts(second!)).toMatchObject({
        named: { name: "api", limit: 7, cost: 5, running: { slots: 1 } },
        rates: [{ ...record, opensAt: at.clock.now() + 1000 }],
      });
    });

    describe("and workers of older versions", () => {
      test("find no room for a run of a job under one", async () => {
        await setLimit(3, null, [under("a", false, { limit: 3 })]);
        const [row] = await at.sql<{ lim: number; key_lim: number; rate: string }>(
          "select lim, key_lim, rate from punctual_jobs where name = 'a'",
        );
        expect(row!.lim).toBeLessThan(0);
        expect(row!.key_lim).toBeGreaterThan(0);
        // As code of schema 12 reads it: a rate of no start at all.
        expect(JSON.parse(row!.rate).job.limit).toBe(0);
        expect(await at.store.job("a")).toMatchObject({ limit: 3, rates: { job: null } });
      });

      test("that define the job again take it from under the limit", async () => {
        await setLimit(1);
        await fill(3, { name: "a" });
        await fill(3, { name: "b" });
        await at.sql("update punctual_jobs set lim = 0, key_lim = 0 where name = 'a'");
        expect((await claim(at.store)).map(({ name }) => name).sort()).toEqual(["a", "a", "a", "b"]);
      });

      test("are refused from the first job under a named limit on", async () => {
        const read = "select compatible_from from punctual_migrations where number = 15";
        const oldest = async () => (await at.sql<{ compatible_from: number }>(read))[0]!.compatible_from;
        await at.sql("update punctual_migrations set compatible_from = 3 where number = 15");
        await define(at.store, [{ name: "a", rates: { job: rate(1), key: null } }]);
        expect(await oldest()).toBe(3);
        await setLimit(1);
        expect(await oldest()).toBe(15);
        await at.sql("update punctual_migrations set compatible_from = 3 where number = 15");
      });
    });
  });
}
