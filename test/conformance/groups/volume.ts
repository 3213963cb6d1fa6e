import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import { MINUTE, minutely, tick } from "../support/minutely.ts";
import { beat, cap, claim, define, insert, newRun, times } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Lists of realistic length: no statement may grow with them beyond the limits of a database. */
export function volume(database: Database): void {
  describe("very many", () => {
    const at = fresh(database, "once");
    const start = Date.parse("2026-01-01T00:00:00Z");
    const count = async (table: string) =>
      Number((await at.sql<{ n: number }>(`select count(*) as n from punctual_${table}`))[0]!.n);

    test("schedules of one job are added, changed and dropped", async () => {
      const schedules = (fingerprint: string) =>
        times(20_000, (n) => minutely({ slot: `slot ${n}`, fingerprint, args: `{"n":${n}}` }));
      await define(at.store, [{ name: "a", schedules: schedules("one") }]);
      expect(await count("schedules")).toBe(20_000);
      await at.clock.advance(60);
      await define(at.store, [{ name: "a", schedules: schedules("other").slice(0, 15_000) }]);
      expect(await count("schedules")).toBe(15_000);
      const [changed] = await at.sql<{ n: number }>(
        `select count(*) as n from punctual_schedules where fingerprint = 'other' and next_tick = ${start + MINUTE}`,
      );
      expect(Number(changed!.n)).toBe(15_000);
      await define(at.store, [{ name: "a", schedules: [] }]);
      expect(await count("schedules")).toBe(0);
    }, 120_000);

    test("jobs are synced, excluded from a tick, and pruned", async () => {
      const jobs = times(20_000, (n) => ({ name: `job ${n}`, fingerprint: "same" }));
      await define(at.store, [...jobs, { name: "mine", schedules: [minutely()] }]);
      await define(at.store, jobs);
      expect(await count("jobs")).toBe(20_001);
      await at.clock.advance(60);
      const exclude = jobs.map(({ name }) => name);
      expect((await tick(at.store, { exclude })).ticked).toHaveLength(1);
      await at.clock.advance("2 days");
      const request = { finishedFor: null, orphansOlderThan: null, batch: 100 };
      expect(await at.store.prune({ ...request, jobsUnseenFor: 86_400_000 })).toMatchObject({ jobs: 20_000 });
    }, 120_000);

    test("jobs take over as many former names", async () => {
      const named = (name: (n: number) => string, formerly: (n: number) => string[]) =>
        times(1000, (n) => ({ name: name(n), fingerprint: "same", formerly: formerly(n) }));
      const old = (n: number) => `old ${n}`;
      await beat(at.store, "new code");
      await define(
        at.store,
        named(old, () => []),
        { worker: "old code" },
      );
      await define(
        at.store,
        named(
          (n) => `new ${n}`,
          (n) => [old(n)],
        ),
        { worker: "new code" },
      );
      await define(
        at.store,
        named(old, () => []),
        { worker: "old code", startedAt: 0 },
      );
      expect((await at.store.jobNames()).filter((name) => name.startsWith("old"))).toEqual([]);
    }, 120_000);

    test("queues have limits", async () => {
      const queues = times(3000, (n) => ({ name: `queue ${n}`, limit: 1 }));
      await define(at.store, [], { queues });
      await define(at.store, [], { queues: queues.map(({ name }) => ({ name, limit: 2 })) });
      expect(await at.sql("select distinct lim from punctual_queues")).toEqual([{ lim: 2 }]);
      expect(await count("queues")).toBe(3000);
    }, 120_000);

    test("runs are inserted together, with and without unique keys, claimed, renewed and reaped", async () => {
      const unique = (n: number) => ({ key: `key ${n}`, until: "finished" as const, for: 0 });
      await insert(at.store, ...times(5000, (n) => ({ unique: unique(n), tags: [`tag ${n}`] })));
      const again = await at.store.insert(times(5000, (n) => newRun({ unique: unique(n) })));
      expect(again.filter(({ inserted }) => inserted)).toEqual([]);
      expect(await insert(at.store, ...times(20_000, () => ({})))).toHaveLength(20_000);
      const claimed = await claim(at.store, { limit: 5000 });
      expect(claimed).toHaveLength(5000);
      const { held } = await at.store.renew(
        "w1",
        claimed.map((run) => ({ ...run, lease: 60_000 })),
      );
      expect(held.size).toBe(5000);
      expect(await at.store.takeBack(claimed, cap(3), "lost", null)).toHaveLength(5000);
    }, 120_000);

    test("runs of jobs that no worker defines are pruned together", async () => {
      await insert(at.store, ...times(5000, () => ({ name: "undefined-here" })));
      await at.clock.advance("2 days");
      const request = { finishedFor: null, jobsUnseenFor: null, batch: 5000 };
      expect(await at.store.prune({ ...request, orphansOlderThan: 86_400_000 })).toMatchObject({
        orphans: 5000,
      });
    }, 120_000);

    test("conditions are in one search, as many as its language allows", async () => {
      const [id] = await insert(at.store, { tags: ["tag 7"] });
      const any = times(100, (n) => ({ is: `tag ${n}` }));
      const where = times(30, () => ({ field: "tag" as const, any }));
      expect((await at.store.search({ where, limit: 10 })).runs).toMatchObject([{ id }]);
    });
  });
}
