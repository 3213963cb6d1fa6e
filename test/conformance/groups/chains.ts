import { beforeEach, describe, expect, test } from "vitest";
import { isChain } from "../../../src/run/chains.ts";
import { unchargedLoss, unmarkedLoss } from "../../../src/run/failure.ts";
import type { ClaimedRun } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  type ClaimFields,
  claim,
  claimRequest,
  define,
  exchange,
  found,
  ids,
  insert,
  insertOne,
  names,
  type RunFields,
  reap,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** A chain length that no test reaches. */
const behind = () => 31;

/** The chains of a claim, each as the ids of its runs. */
function chains(claimed: ClaimedRun[]): number[][] {
  return [...Map.groupBy(claimed, ({ token, id }) => (isChain(token) ? token : id)).values()].map(ids);
}

export function chaining(database: Database): void {
  describe("chains", () => {
    const at = fresh(database);
    const inserted = (count: number, fields: RunFields = {}) =>
      insert(at.store, ...times(count, () => ({ ...fields })));
    const take = (fields: ClaimFields = {}) => claim(at.store, { behind, ...fields });
    const others = async (fields: ClaimFields = {}) =>
      claim(await at.another(), { worker: "w2", behind, ...fields });

    describe("of a job limited to 1", () => {
      beforeEach(async () => {
        await beat(at.store, "w1", { parallel: 10 });
        await define(at.store, [{ name: "job", limit: 1 }]);
      });

      test("take the runs behind the first along, in order, and start only the first", async () => {
        const all = await inserted(5);
        const claimed = await take();
        expect(ids(claimed)).toEqual(all);
        expect(chains(claimed)).toEqual([all]);
        expect(claimed.map(({ started }) => started)).toEqual([true, false, false, false, false]);
        expect((await found(at.store, all[1]!)).startedAt).toBeNull();
        expect(await others()).toEqual([]);
      });

      test("are as long as requested, within the size of the claim", async () => {
        const all = await inserted(9);
        expect(ids(await take({ behind: () => 2, limit: 9 }))).toEqual(all.slice(0, 3));
        await define(at.store, [{ name: "other", limit: 1 }]);
        await inserted(9, { name: "other" });
        expect(await take({ limit: 4 })).toHaveLength(4);
      });

      test("are as long as the window that the claim reads", async () => {
        const all = await inserted(9);
        expect(ids(await take({ behind: () => 8, window: 4 }))).toEqual(all.slice(0, 4));
      });

      test("occupy their slot until the last of their runs has ended", async () => {
        const all = await inserted(4);
        const claimed = await take({ behind: () => 2 });
        for (const run of claimed) {
          expect(await others()).toEqual([]);
          await settle(at.store, run, "completed");
        }
        expect(ids(await others())).toEqual(all.slice(3));
      });

      test("free their slot for the next chain in the exchange that ends them, and not before", async () => {
        const all = await inserted(6);
        const [one, two, three] = await take({ behind: () => 2 });
        const next = (...runs: ClaimedRun[]) =>
          exchange(at.store, {
            settle: runs.map((run) => settlement(run, "completed")),
            claim: claimRequest({ behind: () => 2 }),
          });
        expect((await next(one!)).claimed).toEqual([]);
        expect(ids((await next(two!, three!)).claimed)).toEqual(all.slice(3));
      });

      test.each(["head", "follower"] as const)(
        "keep their slot when the %s is cancelled by force",
        async (which) => {
          const all = await inserted(4);
          const [head, follower] = await take({ behind: () => 1 });
          const [gone, left] = which === "head" ? [head!, follower!] : [follower!, head!];
          expect(await at.store.cancel(gone.id, null, true)).toBe("ended");
          expect(await others()).toEqual([]);
          expect(await settle(at.store, gone, "completed")).toBe(false);
          expect(await settle(at.store, left, "completed")).toBe(true);
          expect(ids(await others())).toEqual(all.slice(2));
        },
      );

      test("keep their slot while some of their runs are reaped", async () => {
        const all = await inserted(3);
        const [head, second, third] = await take({ lease: 1000 });
        await at.clock.advance("900ms");
        await at.store.renew("w1", [{ ...third!, lease: 60_000 }]);
        await at.clock.advance("200ms");
        expect(ids(await reap(at.store)).sort()).toEqual([head!.id, second!.id]);
        expect(await others()).toEqual([]);
        expect(await settle(at.store, third!, "completed")).toBe(true);
        expect(ids(await others({ crashed: 9 }))).toEqual([all[0]]);
      });

      test.each([1, 0])("are reaped with their worker: none is charged (start: %i)", async (start) => {
        const all = await inserted(4);
        await take({ lease: 1000, start, limited: 1 });
        await at.clock.advance(2);
        expect((await reap(at.store)).map(({ crashed }) => crashed)).toEqual([false, false, false, false]);
        for (const id of all) expect(await found(at.store, id)).toMatchObject({ attempts: 1, crashes: 0 });
      });

      test("whose starts are known when their worker dies show each of these starts with its end", async () => {
        const all = await inserted(3);
        const claimedAt = at.clock.now();
        await take({ lease: 1000, start: 1, limited: 1 });
        await at.clock.advance(2);
        await reap(at.store);
        const lost = { attempt: 1, outcome: "lost", worker: "w1", finishedAt: at.clock.now() };
        const [head, ...behind] = await Promise.all(all.map((id) => at.store.attempts(id)));
        expect(head).toEqual([{ ...lost, startedAt: claimedAt, error: unchargedLoss }]);
        for (const one of behind) expect(one).toEqual([{ ...lost, startedAt: null, error: unmarkedLoss }]);
        // The next attempt has a number and a row of its own.
        const [again] = await take({ lease: 1000 });
        await at.clock.advance(2);
        await reap(at.store);
        expect(await at.store.attempts(again!.id)).toMatchObject([
          { attempt: 1, outcome: "lost" },
          { attempt: 2, outcome: "crashed" },
        ]);
      });

      test("that were reaped are claimed one by one, and charged with the next crash", async () => {
        const all = await inserted(3);
        await take({ lease: 1000 });
        await at.clock.advance(2);
        await reap(at.store);
        const [first, ...none] = await take({ lease: 1000 });
        expect(first).toMatchObject({ id: all[0], attempts: 2, uncounted: 1, started: true });
        expect(none).toEqual([]);
        await at.clock.advance(2);
        expect(await reap(at.store)).toMatchObject([{ id: all[0], crashed: true }]);
        const next = await take({ crashed: 0 });
        expect(next).toMatchObject([{ id: all[1], attempts: 2, started: true }]);
      });

      test("charge the last of their runs, if its start is written", async () => {
        const all = await inserted(2);
        const [head, follower] = await take({ lease: 1000 });
        await exchange(at.store, { settle: [settlement(head!, "completed")], started: [follower!] });
        await at.clock.advance(2);
        expect(await reap(at.store)).toMatchObject([{ id: all[1], crashed: true }]);
      });

      test("end before a crashed run, and a crashed run has none behind it", async () => {
        const all = await inserted(4);
        await at.sql(`update punctual_runs set crashes = 1 where id = ${all[2]}`);
        const first = await take();
        expect(chains(first)).toEqual([all.slice(0, 2)]);
        await exchange(at.store, { settle: first.map((run) => settlement(run, "completed")) });
        const second = await take();
        expect(chains(second)).toEqual([[all[2]]]);
        await settle(at.store, second[0]!, "completed");
        expect(chains(await take())).toEqual([[all[3]]]);
      });

      test("may pass a crashed run that the claim cannot isolate", async () => {
        const all = await inserted(3);
        await at.sql(`update punctual_runs set crashes = 1 where id = ${all[1]}`);
        expect(chains(await take({ crashed: 0 }))).toEqual([[all[0], all[2]]]);
      });

      test("appear in status as one running run with others that wait behind it", async () => {
        const all = await inserted(4);
        await take({ behind: () => 2 });
        const { jobs, queues } = await at.store.status();
        expect(jobs).toMatchObject([{ name: "job", running: 1, waiting: 3, leasedBy: "w1" }]);
        expect(queues).toMatchObject([{ name: "default", running: 1, ready: 3 }]);
        const facts = await Promise.all(all.map((id) => at.store.waitFacts(id)));
        expect(facts.map((one) => one!.behind)).toEqual([null, all[0], all[0], null]);
        const usage = { slots: 1, holders: [{ id: all[0], worker: { pid: 1 } }] };
        const used = { runningOfJob: usage, runningOfLane: usage, runningOfQueue: usage };
        expect(facts[3]).toMatchObject(used);
      });

      test("follow priority, due time and id", async () => {
        const [late, usual] = await insert(at.store, { priority: 200 }, {});
        const [urgent] = await insert(at.store, { priority: 1 });
        expect(chains(await take())).toEqual([[urgent, usual, late]]);
      });

      test("are returned again, in order, by a claim that is sent again", async () => {
        const all = await inserted(5);
        const request = claimRequest({ behind: () => 3 });
        const before = await exchange(at.store, { seq: 1000, claim: request });
        const after = await exchange(at.store, { seq: 1000, again: true, claim: request });
        expect(after.claimed).toEqual(before.claimed);
        expect(chains(after.claimed)).toEqual([all.slice(0, 4)]);
      });

      test("are renewed, released and cancelled run by run", async () => {
        const all = await inserted(3);
        const [head, second, third] = await take();
        const { held } = await at.store.renew("w1", [{ ...second!, lease: 1 }]);
        expect([...held]).toEqual([second!.id]);
        expect(await at.store.cancel(third!.id, null)).toBe("requested");
        expect((await exchange(at.store)).cancelled).toEqual([third!.id]);
        await settle(at.store, second!, "released");
        expect(await found(at.store, all[1]!)).toMatchObject({ state: "ready", attempts: 0 });
        expect(await others()).toEqual([]);
        await settle(at.store, third!, "cancelled");
        await settle(at.store, head!, "completed");
        expect(ids(await others())).toEqual([all[1]]);
      });

      test("count as one run when the limit is changed", async () => {
        await inserted(12);
        await take({ behind: () => 3 });
        await define(at.store, [{ name: "job", limit: 2 }]);
        expect(chains(await others({ behind: () => 3 }))).toHaveLength(1);
        expect(await others()).toEqual([]);
        await define(at.store, [{ name: "job", limit: 1 }]);
        expect(await others()).toEqual([]);
      });

      test("take no run of a paused job, nor of one that another process defines", async () => {
        await inserted(3);
        await at.store.pauseJob("job", true);
        expect(await take()).toEqual([]);
        await at.store.pauseJob("job", false);
        expect(await take({ exclude: ["job"] })).toEqual([]);
        expect(await take()).toHaveLength(3);
      });

      test("do not pass an unlimited run that comes first in the order", async () => {
        await define(at.store, [{ name: "free" }]);
        const [first] = await inserted(1);
        const free = await insertOne(at.store, { name: "free" });
        const [last] = await inserted(1);
        const claimed = await take({ limit: 2 });
        expect(ids(claimed)).toEqual([first, free]);
        expect(claimed.every(({ started }) => started)).toBe(true);
        expect(ids(await take())).toEqual([]);
        expect((await found(at.store, last!)).state).toBe("ready");
      });

      test("do not reduce the number of other runs in the claim", async () => {
        await define(at.store, [{ name: "free" }, { name: "other", limit: 1 }]);
        await inserted(4);
        await insert(at.store, { name: "other" }, { name: "free" });
        const claimed = await take({ start: 3, limited: 3 });
        expect(names(claimed)).toEqual(["job", "job", "job", "job", "other", "free"]);
        expect(claimed.map(({ started }) => started)).toEqual([true, false, false, false, true, true]);
      });
    });

    test("number n under a limit of n, and share the runs in order", async () => {
      await define(at.store, [{ name: "job", limit: 2 }]);
      const [a, b, c, d, e, f] = await inserted(7);
      const claimed = await take({ behind: () => 2 });
      expect(chains(claimed)).toEqual([
        [a, c, e],
        [b, d, f],
      ]);
      expect(await others()).toEqual([]);
      await exchange(at.store, {
        settle: claimed.filter(({ id }) => id === a || id === c).map((run) => settlement(run, "completed")),
      });
      expect(await others()).toEqual([]);
      await settle(at.store, claimed.find(({ id }) => id === e)!, "completed");
      expect(await others()).toHaveLength(1);
    });

    test("end with the lane of a head that gets no slot", async () => {
      await define(at.store, [{ name: "job", limit: 3 }, { name: "free" }]);
      const [one] = await inserted(1, { priority: 1 });
      await inserted(1, { name: "free", priority: 2 });
      await inserted(4, { priority: 3 });
      const claimed = await take({ limit: 9, start: 2, limited: 2 });
      expect(names(claimed)).toEqual(["job", "free"]);
      expect(ids(claimed)[0]).toBe(one);
    });

    test("with keys use one slot of their key and one of the job", async () => {
      await define(at.store, [{ name: "job", limit: 2, keyLimit: 1 }]);
      const a = await inserted(3, { key: "a" });
      const b = await inserted(3, { key: "b" });
      expect(chains(await take())).toEqual([a, b]);
      await inserted(1, { key: "c" });
      expect(await others()).toEqual([]);
    });

    test("use one slot of their queue's limit", async () => {
      await define(at.store, [{ name: "a" }, { name: "b" }], { queues: [{ name: "default", limit: 2 }] });
      await inserted(3, { name: "a" });
      expect(chains(await take({ limit: 3, limited: 1 }))).toHaveLength(1);
      const b = await inserted(2, { name: "b" });
      expect(chains(await others())).toEqual([b]);
      await inserted(1, { name: "b" });
      expect(await others()).toEqual([]);
    });

    test("end before a run of another lane that waits for the same slot", async () => {
      await define(at.store, [{ name: "job", limit: 1, keyLimit: 1 }]);
      const [first] = await inserted(1, { key: "a" });
      await inserted(1, { key: "b" });
      await inserted(1, { key: "a" });
      expect(chains(await take())).toEqual([[first]]);
    });

    test("pass a run of another lane that waits for a slot of its own too", async () => {
      await define(at.store, [{ name: "job", limit: 2, keyLimit: 1 }]);
      await inserted(1, { key: "b" });
      await take();
      const a = await inserted(1, { key: "a" });
      await inserted(1, { key: "b" });
      a.push(...(await inserted(1, { key: "a" })));
      expect(chains(await take())).toEqual([a]);
    });

    test("are never made of runs that are claimed to compute their keys", async () => {
      await define(at.store, [{ name: "job", limit: 1, keyLimit: 1 }]);
      const all = await inserted(3);
      const claimed = await take();
      expect(chains(claimed)).toEqual([[all[0]]]);
      expect(claimed[0]!.unkeyed).toBe(true);
    });

    test("are chosen by the shares of their queues", async () => {
      await define(at.store, [
        { name: "a", limit: 1 },
        { name: "b", limit: 1 },
      ]);
      await inserted(8, { name: "a", queue: "a" });
      await inserted(8, { name: "b", queue: "b" });
      const claimed = await take({ limit: 8, stride: (queue) => (queue === "a" ? 1 : 3) });
      expect(names(claimed).filter((name) => name === "a")).toHaveLength(6);
      expect(chains(claimed)).toHaveLength(2);
    });
  });
}
