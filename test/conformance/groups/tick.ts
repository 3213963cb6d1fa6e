import { describe, expect, test } from "vitest";
import type { DueSchedule, TickDecision, TickResult } from "../../../src/store/definitions.ts";
import { fresh } from "../support/fresh.ts";
import { MINUTE, minutely, onTime, tick } from "../support/minutely.ts";
import { define, list } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const runsOf = ({ ticked }: TickResult) => ticked.flatMap(({ runs }) => runs.map(({ tickAt }) => tickAt));

export function ticking(database: Database): void {
  describe("ticking", () => {
    const at = fresh(database);
    const start = Date.parse("2026-01-01T00:00:00Z");

    test("a new schedule ticks for the first time after it was synced", async () => {
      await define(at.store, [{ name: "a", schedules: [minutely()] }]);
      expect(await tick(at.store)).toEqual({ ticked: [], nextTick: start + MINUTE });
      await at.clock.advance(60);
      const result = await tick(at.store);
      expect(runsOf(result)).toEqual([start + MINUTE]);
      expect(result.nextTick).toBe(start + 2 * MINUTE);
      const [run] = await list(at.store, { limit: 10 });
      expect(run).toMatchObject({
        name: "a",
        state: "ready",
        runAt: start + MINUTE,
        scheduledFor: start + MINUTE,
      });
      expect(await at.store.schedules()).toMatchObject([
        { job: "a", lastTick: start + MINUTE, nextTick: start + 2 * MINUTE, missed: 0 },
      ]);
    });

    test("several workers that tick at once make one run", async () => {
      await define(at.store, [{ name: "a", schedules: [minutely()] }]);
      const stores = [at.store, await at.another(), await at.another(), await at.another()];
      for (let minute = 1; minute <= 5; minute++) {
        await at.clock.advance(60);
        const results = await Promise.all(stores.map((store) => tick(store)));
        expect(results.flatMap(runsOf)).toEqual([start + minute * MINUTE]);
      }
      expect(await list(at.store, { limit: 100 })).toHaveLength(5);
    });

    test("a sync at the same moment does not move a mark back", async () => {
      const schedules = [minutely()];
      await define(at.store, [{ name: "a", schedules }]);
      const others = [await at.another(), await at.another(), await at.another()];
      for (let minute = 1; minute <= 10; minute++) {
        await at.clock.advance(60);
        const shown: Promise<unknown>[] = [];
        const ticked = await tick(at.store, {
          // While the schedule ticks, each of them reads it, and writes it a moment later.
          decide: (due, now) => {
            for (const [index, other] of others.entries()) {
              shown.push(define(other, [{ name: "a", schedules }], { worker: `w ${minute} ${index}` }));
            }
            return onTime(due, now);
          },
        });
        expect(runsOf(ticked)).toEqual([start + minute * MINUTE]);
        await Promise.all(shown);
        const next = start + (minute + 1) * MINUTE;
        expect(await at.store.schedules()).toMatchObject([
          { lastTick: start + minute * MINUTE, nextTick: next },
        ]);
      }
    });

    test("a tick does not happen again when its run is gone, not even for a late worker", async () => {
      await define(at.store, [{ name: "a", schedules: [minutely()] }]);
      await at.clock.advance(60);
      const [first] = (await tick(at.store)).ticked;
      expect(await at.store.remove(first!.runs[0]!.id)).toBe("removed");
      expect(runsOf(await tick(at.store))).toEqual([]);
      expect(runsOf(await tick(await at.another()))).toEqual([]);
      expect(await list(at.store, { limit: 10 })).toEqual([]);
    });

    test("a tick whose run exists already is skipped, and the mark moves", async () => {
      await define(at.store, [{ name: "a", schedules: [minutely()] }]);
      await at.clock.advance(60);
      await tick(at.store);
      await at.clock.advance(60);
      // Simulates a tick that was computed again from an older mark.
      const again = (due: DueSchedule, now: number) => {
        const decision = onTime(due, now);
        return { ...decision, runs: [{ ...decision.runs[0]!, tickAt: start + MINUTE }] };
      };
      expect(runsOf(await tick(at.store, { decide: again }))).toEqual([]);
      expect(await list(at.store, { limit: 10 })).toHaveLength(1);
      expect(await at.store.schedules()).toMatchObject([{ lastTick: start + 2 * MINUTE }]);
    });

    test("the decision learns whether a run of an earlier tick still waits", async () => {
      await define(at.store, [{ name: "a", schedules: [minutely()] }]);
      const asked: boolean[] = [];
      const noting = (due: DueSchedule, now: number) => {
        asked.push(due.waiting);
        return onTime(due, now);
      };
      await at.clock.advance(60);
      await tick(at.store, { decide: noting });
      await at.clock.advance(60);
      const { ticked } = await tick(at.store, { decide: noting });
      for (const run of await list(at.store, { limit: 10 })) await at.store.remove(run.id);
      await at.clock.advance(60);
      await tick(at.store, { decide: noting });
      expect(ticked).toHaveLength(1);
      expect(asked).toEqual([false, true, false]);
    });

    test("missed ticks are counted", async () => {
      await define(at.store, [{ name: "a", schedules: [minutely()] }]);
      const missing = (due: DueSchedule, now: number) => ({ ...onTime(due, now), runs: [], missed: 3 });
      for (let minute = 0; minute < 2; minute++) {
        await at.clock.advance(60);
        await tick(at.store, { decide: missing });
      }
      expect(await at.store.schedules()).toMatchObject([{ missed: 6 }]);
    });

    test("a schedule that no worker here may tick, or that is excluded, stays as it is", async () => {
      await define(at.store, [{ name: "a", schedules: [minutely()] }]);
      await at.clock.advance(60);
      expect(runsOf(await tick(at.store, { decide: () => null }))).toEqual([]);
      expect(await tick(at.store, { exclude: ["a"] })).toEqual({ ticked: [], nextTick: null });
      expect(runsOf(await tick(at.store))).toEqual([start + MINUTE]);
    });

    test("the answer names the definition that wins", async () => {
      await define(at.store, [{ name: "a", fingerprint: "new code", schedules: [minutely()] }]);
      await at.clock.advance(60);
      const heard: string[] = [];
      const noting = (due: DueSchedule) => {
        heard.push(due.jobFingerprint);
        return null;
      };
      await tick(at.store, { decide: noting });
      expect(heard).toEqual(["new code"]);
    });

    test("one transaction ticks at most its limit, the longest due first", async () => {
      const jobs = ["a", "b", "c"].map((name) => ({ name, schedules: [minutely()] }));
      await define(at.store, jobs);
      await at.clock.advance(60);
      const two = await tick(at.store, { limit: 2 });
      expect(two.ticked.map(({ job }) => job)).toEqual(["a", "b"]);
      expect(two.nextTick).toBe(start + MINUTE);
      expect((await tick(at.store)).ticked.map(({ job }) => job)).toEqual(["c"]);
    });

    test("a job may have several schedules; two ticks at the same time make two runs", async () => {
      const second = minutely({ slot: "second", args: '{"a":1}', queue: "dev" });
      await define(at.store, [{ name: "a", schedules: [minutely(), second] }]);
      await at.clock.advance(60);
      expect(runsOf(await tick(at.store))).toEqual([start + MINUTE, start + MINUTE]);
      expect(await at.store.schedules()).toMatchObject([{ queue: null }, { queue: "dev", args: '{"a":1}' }]);
    });

    describe("a definition that is synced again", () => {
      test("unchanged, keeps its next tick", async () => {
        const job = { name: "a", fingerprint: "same", schedules: [minutely()] };
        await define(at.store, [job]);
        await at.clock.advance(90);
        await define(at.store, [job]);
        expect(await at.store.schedules()).toMatchObject([{ nextTick: start + MINUTE }]);
      });

      test("changed, continues from the last sync, so that downtime is not lost", async () => {
        await define(at.store, [{ name: "a", schedules: [minutely()] }]);
        await at.clock.advance("1 hour");
        const hourly = minutely({
          fingerprint: "half past",
          next: (after) => (Math.floor(after / (30 * MINUTE)) + 1) * 30 * MINUTE,
        });
        await define(at.store, [{ name: "a", schedules: [hourly] }]);
        expect(await at.store.schedules()).toMatchObject([{ nextTick: start + 30 * MINUTE }]);
      });

      test("changed, does not make up for the time in which it was synced and had no tick", async () => {
        const day = 24 * 60 * MINUTE;
        const weekly = minutely({ fingerprint: "weekly", next: (after) => after + 7 * day });
        await define(at.store, [{ name: "a", fingerprint: "same", schedules: [weekly] }]);
        await at.clock.advance("7 days");
        await tick(at.store, { decide: (due, now) => ({ ...onTime(due, now), next: now + 7 * day }) });
        await at.clock.advance("3 days");
        await define(at.store, [{ name: "a", fingerprint: "same", schedules: [weekly] }]);
        await at.clock.advance("1 hour");
        await define(at.store, [{ name: "a", schedules: [minutely()] }]);
        expect(await at.store.schedules()).toMatchObject([
          { lastTick: start + 7 * day, nextTick: start + 10 * day + MINUTE },
        ]);
      });

      test("changed, never repeats a tick", async () => {
        await define(at.store, [{ name: "a", schedules: [minutely()] }]);
        await at.clock.advance(60);
        await tick(at.store);
        await define(at.store, [{ name: "a", schedules: [minutely({ fingerprint: "other" })] }]);
        expect(await at.store.schedules()).toMatchObject([
          { lastTick: start + MINUTE, nextTick: start + 2 * MINUTE },
        ]);
      });

      test("without its schedule, deletes it; a job that is not synced loses nothing", async () => {
        await define(at.store, [
          { name: "a", schedules: [minutely()] },
          { name: "b", schedules: [minutely()] },
        ]);
        await define(at.store, [{ name: "a", schedules: [] }]);
        expect((await at.store.schedules()).map(({ job }) => job)).toEqual(["b"]);
      });

      test("under a new name, keeps its schedule", async () => {
        await define(at.store, [{ name: "old", schedules: [minutely()] }]);
        await at.clock.advance(60);
        await tick(at.store);
        await define(at.store, [{ name: "new", formerly: ["old"], schedules: [minutely()] }]);
        expect(await at.store.schedules()).toMatchObject([
          { job: "new", lastTick: start + MINUTE, nextTick: start + 2 * MINUTE },
        ]);
      });
    });

    describe("a pause", () => {
      const skipping = (due: DueSchedule, now: number): TickDecision =>
        due.resumedAt !== null && due.nextTick <= due.resumedAt
          ? { last: null, next: (Math.floor(due.resumedAt / MINUTE) + 1) * MINUTE, missed: 0, runs: [] }
          : onTime(due, now);

      test("of a schedule stops its ticks, and it continues with the next one", async () => {
        await define(at.store, [{ name: "a", schedules: [minutely()] }]);
        const [schedule] = await at.store.schedules();
        expect(await at.store.pauseSchedule(schedule!.id, true)).toBe(true);
        await at.clock.advance("10 minutes");
        expect(await tick(at.store)).toEqual({ ticked: [], nextTick: null });
        expect(await at.store.pauseSchedule(schedule!.id, false)).toBe(true);
        expect(runsOf(await tick(at.store, { decide: skipping }))).toEqual([]);
        await at.clock.advance(60);
        expect(runsOf(await tick(at.store, { decide: skipping }))).toEqual([start + 11 * MINUTE]);
        expect(await at.store.pauseSchedule(999, true)).toBe(false);
      });

      test("of a job stops its schedules too", async () => {
        await define(at.store, [{ name: "a", schedules: [minutely()] }]);
        await at.store.pauseJob("a", true);
        await at.clock.advance("10 minutes");
        expect(runsOf(await tick(at.store))).toEqual([]);
        await at.store.pauseJob("a", false);
        const asked: (number | null)[] = [];
        const noting = (due: DueSchedule, now: number) => {
          asked.push(due.resumedAt);
          return skipping(due, now);
        };
        await tick(at.store, { decide: noting });
        expect(asked).toEqual([start + 10 * MINUTE]);
      });
    });

    test("the status has the next tick; pruning a job deletes its schedules", async () => {
      await define(at.store, [{ name: "a", schedules: [minutely()] }]);
      expect((await at.store.status()).jobs).toMatchObject([{ name: "a", nextRun: start + MINUTE }]);
      await at.clock.advance("2 days");
      const request = { finishedFor: null, orphansOlderThan: null, batch: 100 };
      expect(await at.store.prune({ ...request, jobsUnseenFor: 86_400_000 })).toMatchObject({ jobs: 1 });
      expect(await at.store.schedules()).toEqual([]);
    });

    test("thousands of schedules are read by the index of their next ticks", async () => {
      const jobs = Array.from({ length: 1000 }, (_, i) => ({
        name: `job ${i}`,
        schedules: [minutely({ next: (after) => after + (i + 1) * MINUTE })],
      }));
      await define(at.store, jobs);
      await at.clock.advance(60);
      const later = (due: DueSchedule, now: number) => ({ ...onTime(due, now), next: now + 1000 * MINUTE });
      expect((await tick(at.store, { decide: later })).ticked.map(({ job }) => job)).toEqual(["job 0"]);
    });
  });
}
