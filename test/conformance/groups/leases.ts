import { beforeEach, describe, expect, test } from "vitest";
import { unmarkedLoss } from "../../../src/run/failure.ts";
import type { ReapedRun } from "../../../src/store/store.ts";
import { TestClock } from "../../../src/testing/clock.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  cap,
  claim,
  claimOne,
  define,
  exchange,
  found,
  ids,
  insert,
  insertOne,
  reap,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function leases(database: Database): void {
  describe("leases", () => {
    const at = fresh(database);

    test("are prolonged from now, each by its own length", async () => {
      await insert(at.store, {}, {}, {});
      const runs = await claim(at.store, { lease: 1000 });
      await at.clock.advance("900ms");
      const { held } = await at.store.renew("w1", [
        { ...runs[0]!, lease: 5000 },
        { ...runs[1]!, lease: 9000 },
      ]);
      expect(held).toEqual(new Set([runs[0]!.id, runs[1]!.id]));
      const until = await Promise.all(runs.map(async ({ id }) => (await found(at.store, id)).lockedUntil));
      const now = at.clock.now();
      expect(until).toEqual([now + 5000, now + 9000, now + 100]);
    });

    test("a renewal reports leases that are not held, beside those that are", async () => {
      await insert(at.store, {}, {});
      const [mine, settled] = await claim(at.store);
      await settle(at.store, settled!, "completed");
      const { held } = await at.store.renew("w1", [
        { ...settled!, lease: 1000 },
        { id: 999_999, token: mine!.token, lease: 1000 },
        { ...mine!, lease: 1000 },
      ]);
      expect(held).toEqual(new Set([mine!.id]));
    });

    test("a renewal of no lease returns nothing", async () => {
      expect(await at.store.renew("w1", [])).toEqual({ held: new Set(), locked: new Set(), cancelled: [] });
    });

    test("a locked run is neither prolonged nor lost, beside those that are", async () => {
      await insert(at.store, {}, {}, {});
      const [free, locked, settled] = await claim(at.store, { lease: 1000 });
      await settle(at.store, settled!, "completed");
      const until = (await found(at.store, locked!.id)).lockedUntil;
      await at.clock.advance("900ms");
      await at.sql("begin");
      await at.sql(`update punctual_runs set priority = priority + 1 where id = ?`, locked!.id);
      const renewals = [free!, locked!, settled!].map((run) => ({ ...run, lease: 1000 }));
      const renewing = at.store.renew("w1", renewals);
      if (database.name === "sqlite") {
        // SQLite has one write lock: the renewal waits for it.
        await at.sql("rollback");
        const { held, locked: none } = await renewing;
        expect([held, none]).toEqual([new Set([free!.id, locked!.id]), new Set()]);
        return;
      }
      const answer = await renewing;
      expect([answer.held, answer.locked]).toEqual([new Set([free!.id]), new Set([locked!.id])]);
      expect((await found(at.store, free!.id)).lockedUntil).toBe(at.clock.now() + 1000);
      expect((await found(at.store, locked!.id)).lockedUntil).toBe(until);
      await at.sql("rollback");
      const again = await at.store.renew("w1", renewals);
      expect([again.held, again.locked]).toEqual([new Set([free!.id, locked!.id]), new Set()]);
    });

    test("a renewal that arrives late does not shorten the lease", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 5000 });
      const late = await at.another({ clock: new TestClock(new Date(at.clock.now() + 1000)) });
      await at.clock.advance(3);
      await at.store.renew("w1", [{ ...run, lease: 5000 }]);
      const until = at.clock.now() + 5000;
      expect((await late.renew("w1", [{ ...run, lease: 5000 }])).held.has(id)).toBe(true);
      expect((await found(at.store, id)).lockedUntil).toBe(until);
    });

    test("a renewal after the database's clock was set back counts from the new time", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 5000 });
      at.clock.set(new Date(at.clock.now() - 3_600_000));
      await at.store.renew("w1", [{ ...run, lease: 5000 }]);
      expect((await found(at.store, id)).lockedUntil).toBe(at.clock.now() + 5000);
    });

    test("are reaped once they have ended, and not before", async () => {
      const id = await insertOne(at.store);
      await claimOne(at.store, { lease: 1000 });
      await at.clock.advance("1000ms");
      expect(await reap(at.store)).toEqual([]);
      await at.clock.advance("1ms");
      expect(await reap(at.store)).toEqual([
        {
          id,
          name: "job",
          queue: "default",
          attempt: 1,
          duration: 1001,
          worker: "w1",
          state: "ready",
          crashed: true,
          ended: null,
        },
      ]);
      expect(await reap(at.store)).toEqual([]);
    });

    test("a run that its crashes end is returned whole, kept or not, and no other run is", async () => {
      for (const keep of [0, null]) {
        const id = await insertOne(at.store, { args: "[1]", key: "k", tags: ["t"] });
        const run = await claimOne(at.store, { lease: 1000 });
        await insertOne(at.store, { name: "other" });
        const other = await claimOne(at.store, { lease: 1000 });
        await at.store.cancel(other.id, null);
        const { lane, attempts, createdAt } = run;
        await at.clock.advance(2);
        const reaped = await at.store.reap(10, cap(1), "crashed", keep);
        expect(reaped.map(({ state, ended }) => [state, ended?.id])).toEqual([
          ["failed", id],
          ["cancelled", undefined],
        ]);
        const whole = { lane, attempts, createdAt, args: "[1]", tags: ["t"], crashes: 1, token: "" };
        expect(reaped[0]!.ended).toMatchObject(whole);
      }
    });

    describe("of prefetched runs whose start is not written", () => {
      let all: number[];

      beforeEach(async () => {
        await beat(at.store, "w1", { parallel: 3 });
        all = await insert(at.store, {}, {}, {}, {}, {});
        await claim(at.store, { start: 1, lease: 1000 });
        await at.clock.advance(2);
      });

      test("none is charged, and no number is given twice", async () => {
        const reaped = await reap(at.store);
        expect(reaped.filter(({ crashed }) => crashed).map(({ id }) => id)).toEqual([all[0]]);
        for (const id of all)
          expect(await found(at.store, id)).toMatchObject({ state: "ready", attempts: 1 });
        const again = await claim(at.store);
        expect(again.map(({ attempts }) => attempts)).toEqual([2, 2, 2, 2, 2]);
        expect(again.map(({ crashes, uncounted }) => [crashes, uncounted])).toEqual([
          [1, 0],
          ...times(4, () => [0, 1]),
        ]);
      });

      test("the next crash is charged to those that have started, by their marks", async () => {
        await reap(at.store);
        const again = await claim(at.store, { start: 1, crashed: 0, lease: 1000 });
        expect(again.map(({ suspect }) => suspect)).toEqual([true, true, true, true]);
        await exchange(at.store, { started: [again[1]!] });
        await at.clock.advance(2);
        const reaped = await reap(at.store);
        expect(reaped.filter(({ crashed }) => crashed).map(({ id }) => id)).toEqual(all.slice(1, 3));
        // The others have not started: their number is free again.
        for (const id of all.slice(3)) expect((await found(at.store, id)).attempts).toBe(1);
      });

      test("each stays a suspect until it ends", async () => {
        await reap(at.store);
        const isSuspect = async () => {
          const run = await claimOne(at.store, { crashed: 0 });
          return { run, suspect: run.suspect };
        };
        for (const outcome of ["retried", "snoozed", "released"] as const) {
          const { run, suspect } = await isSuspect();
          expect(suspect).toBe(true);
          await settle(at.store, run, outcome);
        }
        const { run } = await isSuspect();
        await settle(at.store, run, "failed");
        await at.store.revive(run.id);
        const runs = await claim(at.store, { crashed: 0 });
        expect(runs.find(({ id }) => id === run.id)).toMatchObject({ suspect: false });
      });
    });

    test("that were renewed are not reaped", async () => {
      await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 1000 });
      await at.clock.advance("900ms");
      await at.store.renew("w1", [{ ...run, lease: 1000 }]);
      await at.clock.advance("900ms");
      expect(await reap(at.store)).toEqual([]);
      expect(await settle(at.store, run, "completed")).toBe(true);
    });

    test("that have ended can still settle until they are reaped", async () => {
      await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 1000 });
      await at.clock.advance(60);
      expect((await at.store.renew("w1", [{ ...run, lease: 1000 }])).held.has(run.id)).toBe(true);
      await at.clock.advance(60);
      expect(await settle(at.store, run, "completed")).toBe(true);
    });

    test("a crash is counted and recorded as an attempt, and the run is ready at its old position", async () => {
      const id = await insertOne(at.store);
      const claimedAt = at.clock.now();
      const run = await claimOne(at.store, { worker: "w7", lease: 1000 });
      await at.clock.advance(5);
      const now = at.clock.now();
      await at.store.reap(10, cap(3), "its process ended", null);
      expect(await at.store.find(id)).toMatchObject({
        state: "ready",
        runAt: run.runAt,
        attempts: 1,
        crashes: 1,
        worker: null,
        lockedUntil: null,
        startedAt: null,
      });
      expect(await at.store.attempts(id)).toEqual([
        {
          attempt: 1,
          outcome: "crashed",
          worker: "w7",
          startedAt: claimedAt,
          finishedAt: now,
          error: "its process ended",
        },
      ]);
      expect(await claimOne(at.store)).toMatchObject({ id, attempts: 2, crashes: 1 });
    });

    test("a run whose start is not written goes back without a crash", async () => {
      const [started, ahead] = await insert(at.store, {}, {});
      await claim(at.store, { start: 1, lease: 1000 });
      await at.clock.advance(2);
      expect(await reap(at.store)).toMatchObject([
        { id: started, crashed: true },
        { id: ahead, crashed: false },
      ]);
      expect(await at.store.find(ahead!)).toMatchObject({ state: "ready", attempts: 1, crashes: 0 });
      expect(await at.store.attempts(ahead!)).toEqual([
        {
          attempt: 1,
          outcome: "lost",
          worker: "w1",
          startedAt: null,
          finishedAt: at.clock.now(),
          error: unmarkedLoss,
        },
      ]);
      expect(await at.store.find(started!)).toMatchObject({ state: "ready", attempts: 1, crashes: 1 });
    });

    test("a prefetched run that has started since is charged", async () => {
      const [one, two] = await insert(at.store, {}, {});
      const runs = await claim(at.store, { start: 0, lease: 1000 });
      await at.store.start(runs[0]!, false);
      await exchange(at.store, { started: [runs[1]!] });
      await at.clock.advance(2);
      expect(await reap(at.store)).toMatchObject([
        { id: one, crashed: true },
        { id: two, crashed: true },
      ]);
    });

    test("a run that has crashed as often as the cap ends", async () => {
      const id = await insertOne(at.store);
      for (const state of ["ready", "ready", "failed"]) {
        const run = await claimOne(at.store, { lease: 1000 });
        await at.store.start(run, false);
        await at.clock.advance(2);
        expect(await at.store.reap(10, cap(3), "poison", 5000)).toMatchObject([{ id, state, crashed: true }]);
      }
      expect(await at.store.find(id)).toMatchObject({
        state: "failed",
        attempts: 3,
        crashes: 3,
        error: "poison",
        finishedAt: at.clock.now(),
        worker: "w1",
      });
      expect((await at.store.attempts(id)).map(({ outcome }) => outcome)).toEqual([
        "crashed",
        "crashed",
        "crashed",
      ]);
    });

    test("failed attempts do not count as crashes", async () => {
      const id = await insertOne(at.store);
      for (let tries = 0; tries < 3; tries++) await settle(at.store, await claimOne(at.store), "retried");
      await claimOne(at.store, { lease: 1000 });
      await at.clock.advance(2);
      expect(await at.store.reap(10, cap(2), "crashed", null)).toMatchObject([{ id, state: "ready" }]);
      expect(await at.store.find(id)).toMatchObject({ attempts: 4, crashes: 1 });
    });

    test("a run that its crashes ended is kept for the given time", async () => {
      const [some, none] = await insert(at.store, {}, {});
      await claim(at.store, { limit: 1, lease: 1000 });
      await at.clock.advance(2);
      await at.store.reap(10, cap(1), "poison", 1000);
      await claim(at.store, { limit: 1, lease: 1000 });
      await at.clock.advance(2);
      expect(await at.store.reap(10, cap(1), "poison", 0)).toMatchObject([{ id: none, state: "failed" }]);
      expect(await at.store.find(none!)).toBeNull();
      expect(await at.store.attempts(none!)).toEqual([]);
      expect(await at.store.find(some!)).toMatchObject({ state: "failed" });
      const request = { finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 10 };
      expect(await at.store.prune(request)).toMatchObject({ history: 1 });
    });

    test("a run with a cancellation request whose worker is dead is cancelled", async () => {
      const [started, ahead] = await insert(at.store, {}, {});
      await claim(at.store, { start: 1, lease: 1000 });
      await at.store.cancel(started!, null);
      await at.store.cancel(ahead!, null);
      await at.clock.advance(2);
      expect(await reap(at.store)).toMatchObject([
        { id: started, state: "cancelled", crashed: true },
        { id: ahead, state: "cancelled", crashed: false },
      ]);
      expect(await at.store.find(started!)).toMatchObject({ state: "cancelled", finishedAt: at.clock.now() });
      expect(await at.store.find(ahead!)).toMatchObject({ state: "cancelled" });
    });

    test("a reap takes at most the given number, the longest expired first, and later ones the rest", async () => {
      const inserted = await insert(at.store, ...times(25, () => ({})));
      const living = await insert(at.store, ...times(30, () => ({ name: "living" })));
      await claim(at.store, { lease: 2000, limit: 15 });
      await claim(at.store, { lease: 1000, limit: 10 });
      await claim(at.store, { lease: 60_000, limit: 30 });
      await at.clock.advance(5);
      const groups: number[][] = [];
      for (let group = [0]; group.length > 0; ) {
        group = ids(await at.store.reap(10, cap(3), "crashed", null));
        groups.push(group);
      }
      expect(groups.map((group) => group.length)).toEqual([10, 10, 5, 0]);
      expect(groups[0]).toEqual(inserted.slice(15));
      expect(groups.flat().sort((a, b) => a - b)).toEqual(inserted);
      for (const id of living) expect((await found(at.store, id)).state).toBe("running");
    });

    test("a late renewal races the reaper: one of them wins", async () => {
      const other = await at.another();
      for (let round = 0; round < 50; round++) {
        const id = await insertOne(at.store);
        const run = await claimOne(at.store, { lease: 1000 });
        await at.clock.advance("1001ms");
        const [renewed, reaped] = await Promise.all(
          round % 2
            ? [at.store.renew("w1", [{ ...run, lease: 60_000 }]), reap(other)]
            : [other.renew("w1", [{ ...run, lease: 60_000 }]), reap(at.store)],
        );
        const held = renewed.held.has(id);
        expect(ids(reaped)).toEqual(held ? [] : [id]);
        expect((await found(at.store, id)).state).toBe(held ? "running" : "ready");
        await at.store.cancel(id, 0);
        await settle(at.store, run, "cancelled", { keep: 0 });
      }
    });

    test("a slow hook is recorded while the lease is held, until it settles or the run waits again", async () => {
      const id = await insertOne(at.store);
      const slowHook = async () => (await at.store.waitFacts(id))!.slowHook;
      const run = await claimOne(at.store);
      expect(await slowHook()).toBeNull();
      const slow = { name: "onSuccess", elapsed: 5000, limit: 30_000 };
      const since = at.clock.now() - 5000;
      expect(await at.store.slowHook(run, slow)).toBe(true);
      expect(await slowHook()).toEqual({ name: "onSuccess", since, limit: 30_000 });
      expect(await at.store.slowHook(run, null)).toBe(true);
      expect(await slowHook()).toBeNull();
      await at.store.slowHook(run, slow);
      await settle(at.store, run, "retried");
      expect(await slowHook()).toBeNull();
      expect(await at.store.slowHook(run, slow)).toBe(false);
      expect(await slowHook()).toBeNull();
    });

    test("progress is written while the lease is held", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      expect(await at.store.progress(run, '{"done":1}')).toBe(true);
      expect(await at.store.progress(run, '{"done":2}')).toBe(true);
      expect((await found(at.store, id)).progress).toBe('{"done":2}');
    });

    test("more leases than one pass takes: a chain is judged as a whole", async () => {
      await beat(at.store, "w1");
      await define(at.store, [{ name: "job", limit: 1 }]);
      await insert(at.store, ...times(25, () => ({})));
      expect(await claim(at.store, { behind: () => 24, lease: 1000 })).toHaveLength(25);
      await at.clock.advance(2);
      const reaped = await at.store.reap(1, cap(100), "crashed", null);
      expect(reaped).toHaveLength(25);
      expect(reaped.filter(({ crashed }) => crashed)).toEqual([]);
    });

    test("several that reap at once judge a chain as a whole", async () => {
      await beat(at.store, "w1");
      await define(at.store, [{ name: "job", limit: 1 }]);
      await insert(at.store, ...times(60, () => ({})));
      const claimed = await claim(at.store, { limit: 60, behind: () => 59, lease: 1000 });
      await at.clock.advance(2);
      const stores = [at.store, await at.another(), await at.another(), await at.another()];
      const reaped: ReapedRun[] = [];
      for (let passes = 0; passes < 20 && reaped.length < claimed.length; passes++) {
        const passed = await Promise.all(stores.map((store) => store.reap(20, cap(100), "crashed", null)));
        reaped.push(...passed.flat());
      }
      expect(reaped).toHaveLength(claimed.length);
      expect(reaped.filter(({ crashed }) => crashed)).toEqual([]);
    });
  });
}
