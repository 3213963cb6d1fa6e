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
  found,
  ids,
  insert,
  insertOne,
  rate,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function slowDowns(database: Database): void {
  describe("slow-downs", () => {
    const at = fresh(database);
    const ofJob = (job: Rate | null, fields: object = {}) =>
      define(at.store, [{ name: "job", ...(job && { rates: { job, key: null } }), ...fields }]);
    const started = async (fields: ClaimFields = {}) => (await claim(at.store, fields)).length;
    const slowDown = (run: ClaimedRun, ms: number) =>
      settle(at.store, run, "snoozed", { delay: 0, slowDown: ms });
    /** The rates that are slowed down, each with the milliseconds that are left. */
    const slowed = async () =>
      (await at.store.rates({ most: 100 }))
        .filter(({ slowedUntil }) => slowedUntil !== null)
        .map(({ job, key, queue, slowedUntil }) => [key ?? job ?? queue, slowedUntil! - at.clock.now()]);

    test("close the rate for everybody, and the run waits in its place without being charged", async () => {
      await ofJob(rate(50));
      const [first, second] = await insert(at.store, {}, {}, {});
      const [run] = await claim(at.store, { limit: 1 });
      expect(run).toMatchObject({ id: first, rated: true, attempts: 1, uncounted: 0 });
      await slowDown(run!, 30_000);
      expect(await found(at.store, first!)).toMatchObject({
        state: "ready",
        attempts: 1,
        runAt: run!.runAt,
        worker: null,
      });
      const closed = { settled: [], claimed: [], nextDue: at.clock.now() + 30_000 };
      for (const worker of ["w1", "w2"])
        expect(await exchange(at.store, { worker, claim: claimRequest() })).toMatchObject(closed);
      await at.clock.advance(29.999);
      expect(await started({ worker: "w3" })).toBe(0);
      await at.clock.advance(0.001);
      const opened = await claim(at.store, { limit: 2 });
      expect(ids(opened)).toEqual([first, second]);
      expect(opened[0]).toMatchObject({ attempts: 2, uncounted: 1, rated: true });
    });

    test("end when an operator reopens the rate, and the starts still count", async () => {
      await define(
        at.store,
        [
          { name: "job", rates: { job: rate(2, 60_000), key: null } },
          { name: "keyed", rates: { job: null, key: rate(5, 60_000) } },
          { name: "queued", queue: "api" },
        ],
        { queues: [{ name: "api", limit: 0, rate: rate(5, 60_000) }] },
      );
      const keys = ["a", "b", "c"].map((key) => ({ name: "keyed", key }));
      await insert(at.store, {}, {}, {}, ...keys, { name: "queued", queue: "api" });
      for (const run of await claim(at.store)) if (run.id !== 2) await slowDown(run, 3_600_000);
      expect((await slowed()).map(([name]) => name)).toEqual(["job", "a", "b", "c", "api"]);
      // A worker that has found everything closed looks again.
      await claim(at.store);
      const ofJob = { job: "job", key: null, queue: null };
      expect(await at.store.reopenRates(ofJob)).toBe(1);
      expect(await at.store.reopenRates(ofJob)).toBe(0);
      expect((await slowed()).map(([name]) => name)).toEqual(["a", "b", "c", "api"]);
      expect(await started()).toBe(0);
      expect(await at.store.reopenRates({ job: "keyed", key: "b", queue: null })).toBe(1);
      expect((await claim(at.store)).map(({ lane }) => lane)).toEqual(["keyed|b"]);
      expect(await at.store.reopenRates({ job: "keyed", key: null, queue: null })).toBe(2);
      expect(await at.store.reopenRates({ job: null, key: null, queue: "api" })).toBe(1);
      expect(await slowed()).toEqual([]);
      expect(await started()).toBe(3);
      expect(await at.store.reopenRates({ job: "missing", key: null, queue: null })).toBe(0);
      await at.clock.advance(60);
      expect(await started()).toBe(2);
    });

    test("together with a claim, the claim takes no run under the closed rate", async () => {
      await ofJob(rate(50));
      await insert(at.store, {}, {}, {});
      const free = await insertOne(at.store, { name: "free" });
      const [run] = await claim(at.store, { limit: 1 });
      const { claimed } = await exchange(at.store, {
        settle: [settlement(run!, "snoozed", { slowDown: 5000 })],
        claim: claimRequest(),
      });
      expect(ids(claimed)).toEqual([free]);
    });

    test("of several runs that are settled together: each rate has the longest of its times", async () => {
      await define(at.store, [
        { name: "job", rates: { job: null, key: rate(50) } },
        { name: "other", rates: { job: rate(50), key: null } },
      ]);
      await insert(at.store, { key: "a" }, { key: "a" }, { key: "b" }, { key: "c" }, { name: "other" });
      const runs = await claim(at.store);
      const ms = [5000, 3000, 7000, undefined, 9000];
      const settlements = runs.map((run, n) =>
        ms[n] === undefined ? settlement(run, "completed") : settlement(run, "snoozed", { slowDown: ms[n]! }),
      );
      const { settled } = await exchange(at.store, { settle: settlements });
      expect(settled).toEqual([true, true, true, true, true]);
      expect(await slowed()).toEqual([
        ["a", 5000],
        ["b", 7000],
        ["other", 9000],
      ]);
    });

    test("a shorter one does not open the rate earlier, and a longer one opens it later", async () => {
      await ofJob(rate(50));
      await insert(at.store, {}, {}, {});
      const [one, two, three] = await claim(at.store);
      await slowDown(one!, 10_000);
      await at.clock.advance(1);
      await slowDown(two!, 2000);
      expect(await slowed()).toEqual([["job", 9000]]);
      await slowDown(three!, 20_000);
      expect(await slowed()).toEqual([["job", 20_000]]);
    });

    test("close the most specific rate: of the key, then of the job, then of the queue", async () => {
      const queues = [{ name: "default", limit: 0, rate: rate(60) }];
      await define(
        at.store,
        [
          { name: "job", rates: { job: rate(50), key: rate(40) } },
          { name: "wide", rates: { job: rate(50), key: null } },
          { name: "plain" },
        ],
        { queues },
      );
      await insert(at.store, { key: "a" }, { key: "b" }, { name: "wide" }, { name: "plain" });
      const [ofKey] = await claim(at.store, { limit: 1 });
      await slowDown(ofKey!, 4000);
      expect(await slowed()).toEqual([["a", 4000]]);
      const others = await claim(at.store);
      expect(others.map(({ lane, rated }) => [lane, rated])).toEqual([
        ["job|b", true],
        ["wide", true],
        ["plain", true],
      ]);
      await slowDown(others[1]!, 5000);
      expect(await slowed()).toEqual([
        ["a", 4000],
        ["wide", 5000],
      ]);
      await slowDown(others[2]!, 6000);
      expect(await slowed()).toEqual([
        ["a", 4000],
        ["wide", 5000],
        ["default", 6000],
      ]);
      await slowDown(others[0]!, 100);
      await at.clock.advance(5.999);
      expect(await started()).toBe(0);
      await at.clock.advance(0.001);
      expect(await started()).toBe(4);
    });

    test("of a run without a key close the rate of its job", async () => {
      await define(at.store, [{ name: "job", rates: { job: rate(50), key: rate(40) } }]);
      await insert(at.store, { key: null }, { key: "a" });
      const [run] = await claim(at.store, { limit: 1 });
      await slowDown(run!, 4000);
      expect(await slowed()).toEqual([["job", 4000]]);
    });

    test("keep the starts: after the opening the window still holds", async () => {
      await ofJob(rate(3, 60_000));
      await insert(at.store, ...times(9, () => ({})));
      const [run] = await claim(at.store, { limit: 2 });
      await slowDown(run!, 10_000);
      await at.clock.advance(10);
      expect(await started()).toBe(1);
      expect(await started()).toBe(0);
      await at.clock.advance(50);
      expect(await started()).toBe(2);
    });

    test("a lost lease closes nothing, and a cancelled run does", async () => {
      await ofJob(rate(50));
      const [lost, cancelled] = await insert(at.store, {}, {});
      const [one, two] = await claim(at.store);
      const stale = { ...one!, token: "other" };
      expect(
        (await exchange(at.store, { settle: [settlement(stale, "snoozed", { slowDown: 9000 })] })).settled,
      ).toEqual([false]);
      expect(await slowed()).toEqual([]);
      expect(await found(at.store, lost!)).toMatchObject({ state: "running" });
      await at.store.cancel(cancelled!, null);
      await slowDown(two!, 9000);
      expect(await found(at.store, cancelled!)).toMatchObject({ state: "cancelled" });
      expect(await slowed()).toEqual([["job", 9000]]);
    });

    test("that are sent again after a lost answer change nothing", async () => {
      await ofJob(rate(50));
      await insert(at.store, {}, {});
      const [run] = await claim(at.store, { limit: 1 });
      await beat(at.store, "w1");
      const request = { seq: 1_000_000, settle: [settlement(run!, "snoozed", { slowDown: 5000 })] };
      await exchange(at.store, request);
      await at.clock.advance(1);
      expect((await exchange(at.store, { ...request, again: true })).settled).toEqual([true]);
      expect(await slowed()).toEqual([["job", 4000]]);
    });

    test("close nothing if the rate was taken away since the claim", async () => {
      await ofJob(rate(50));
      await insert(at.store, {}, {});
      const [run] = await claim(at.store, { limit: 1 });
      await ofJob(null);
      await slowDown(run!, 5000);
      const runs = await claim(at.store);
      expect(runs.map(({ rated }) => rated)).toEqual([false, false]);
    });

    test("close a rate that has no starts any more, and the row is kept until it opens", async () => {
      await ofJob(rate(2));
      await insert(at.store, {}, {});
      const run = await claimOne(at.store);
      const prune = () =>
        at.store.prune({ finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 100 });
      await at.clock.advance(100);
      await prune();
      expect(await at.sql("select name from punctual_rates")).toEqual([]);
      await slowDown(run, 60_000);
      await at.clock.advance(59);
      await prune();
      expect(await slowed()).toEqual([["job", 1000]]);
      expect(await started()).toBe(0);
      await at.clock.advance(2);
      await prune();
      expect(await at.sql("select name from punctual_rates")).toEqual([]);
    });

    test("after the clock was set back, the rate opens within the time of the slow-down", async () => {
      await ofJob(rate(2));
      await insert(at.store, {}, {});
      const run = await claimOne(at.store);
      await at.clock.advance(10);
      await slowDown(run, 30_000);
      at.clock.set(new Date(at.clock.now() - 3_600_000));
      expect(await started()).toBe(0);
      await at.clock.advance(29.999);
      expect(await started()).toBe(0);
      await at.clock.advance(0.001);
      expect(await started()).toBe(2);
    });

    test("many at once wait for one another, and each is written", async () => {
      await define(at.store, [{ name: "job", rates: { job: null, key: rate(50) } }]);
      const keys = times(6, (n) => `k${n}`);
      await insert(at.store, ...keys.map((key) => ({ key })), ...keys.map((key) => ({ key })));
      const runs = await claim(at.store);
      const stores = await Promise.all(times(4, () => at.another({ clock: at.clock })));
      await Promise.all(
        stores.map((store, n) =>
          exchange(store, {
            worker: `w${n}`,
            settle: runs
              .filter((_, index) => index % stores.length === n)
              .map((run, index) => settlement(run, "snoozed", { slowDown: 1000 * (index + 1) })),
            claim: claimRequest({ token: `t${n}` }),
          }),
        ),
      );
      const left = new Map((await slowed()) as [string, number][]);
      const expected = keys.map((key) => {
        const times = runs
          .map((run, index) => ({ key: run.lane.split("|")[1], ms: 1000 * (Math.floor(index / 4) + 1) }))
          .filter((one) => one.key === key);
        return [key, Math.max(...times.map(({ ms }) => ms))];
      });
      expect([...left]).toEqual(expected);
    });

    test("a claim that is sent again says that its runs are under a rate", async () => {
      await ofJob(rate(3));
      await insert(at.store, {}, { name: "free" });
      const request = claimRequest();
      await exchange(at.store, { claim: request });
      const { claimed } = await exchange(at.store, { claim: request, again: true });
      expect(claimed.map(({ name, rated }) => [name, rated])).toEqual([
        ["job", true],
        ["free", false],
      ]);
    });
  });
}
