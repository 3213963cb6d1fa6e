import { describe, expect, test } from "vitest";
import type { DueSchedule } from "../../../src/store/definitions.ts";
import { fresh } from "../support/fresh.ts";
import { MINUTE, minutely, onTime, tick } from "../support/minutely.ts";
import { define, list, times } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function tickingInSlices(database: Database): void {
  describe("ticking in slices", () => {
    const at = fresh(database);
    const start = Date.parse("2026-01-01T00:00:00Z");

    const manyDue = async (count: number) => {
      await define(at.store, [
        { name: "busy" },
        { name: "other", schedules: [minutely()] },
        { name: "paused", schedules: [minutely()] },
      ]);
      await at.store.pauseJob("paused", true);
      await at.sql(
        `insert into punctual_schedules (job, slot, cron, timezone, fingerprint, next_tick, created_at)
         select 'busy', concat('slot ', s.n), '0 * * * * *', 'UTC', 'minutely', ${start + MINUTE}, ${start} from ${at.series(count)} s`,
      );
      await at.clock.advance(60);
    };

    test("a slice reads its own schedules, however many are due behind it", async () => {
      await manyDue(15_000);
      const plans = await at.plans(async (store) => {
        for (let slice = 0; slice < 3; slice++) {
          const { ticked, nextTick } = await tick(store, { limit: 50, exclude: ["other", "not there"] });
          expect(ticked).toHaveLength(50);
          expect(nextTick).toBeLessThanOrEqual(at.clock.now());
        }
      });
      expect(plans.filter(({ statement }) => statement.includes("schedules"))).not.toEqual([]);
      expect(plans.filter(({ faults }) => faults.length > 0)).toEqual([]);
    });

    test("several workers tick each tick once, and leave none", async () => {
      await manyDue(3000);
      const stores = [at.store, await at.another(), await at.another()];
      let made = 0;
      const work = async (store: (typeof stores)[number]) => {
        for (;;) {
          const { ticked, nextTick } = await tick(store, { limit: 200 });
          made += ticked.length;
          if (nextTick === null || nextTick > at.clock.now()) return;
        }
      };
      await Promise.all(stores.map(work));
      expect(made).toBe(3001);
      const counted = await at.sql<{ n: number; schedules: number }>(
        "select count(*) as n, count(distinct schedule) as schedules from punctual_runs",
      );
      expect(counted).toEqual([{ n: 3001, schedules: 3001 }]);
    });

    test("the earliest due schedules come first, whatever the order of their definitions", async () => {
      const due = [5, 1, 4, 2, 3];
      await define(
        at.store,
        due.map((seconds) => ({
          name: `after ${seconds}`,
          schedules: [minutely({ next: (after) => after + seconds * 1000 })],
        })),
      );
      await at.clock.advance(60);
      const names: string[] = [];
      const decide = (one: DueSchedule, now: number) => ({ ...onTime(one, now), next: now + MINUTE });
      for (let slice = 0; slice < 3; slice++) {
        names.push(...(await tick(at.store, { limit: 2, decide })).ticked.map(({ job }) => job));
      }
      expect(names).toEqual([1, 2, 3, 4, 5].map((seconds) => `after ${seconds}`));
    });

    test("a slice ends early if one schedule has very many ticks to make up for", async () => {
      await define(
        at.store,
        times(4, (i) => ({ name: `job ${i}`, schedules: [minutely()] })),
      );
      await at.clock.advance(60);
      const run = { queue: "default", limited: false, priority: 100, args: null };
      const many = ({ job }: DueSchedule, now: number) => ({
        last: now,
        next: now + MINUTE,
        missed: 0,
        runs: times(500, (i) => ({ ...run, name: job, lane: job, tickAt: start + i })),
      });
      const slices: number[] = [];
      for (let nextTick = start; nextTick <= at.clock.now(); ) {
        const result = await tick(at.store, { limit: 10, decide: many });
        slices.push(result.ticked.length);
        nextTick = result.nextTick!;
      }
      expect(slices).toEqual([1, 1, 1, 1]);
      expect(await list(at.store, { limit: 3000 })).toHaveLength(2000);
    });
  });
}
