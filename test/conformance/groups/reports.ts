import { describe, expect, test } from "vitest";
import type { RunCondition } from "../../../src/store/search.ts";
import type { Store } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import { minutely, tick } from "../support/minutely.ts";
import { beat, claim, define, ids, insert, insertOne, settle, times } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const HOUR = 3_600_000;

export function reports(database: Database): void {
  describe("reports", () => {
    const at = fresh(database);
    const find = async (...where: RunCondition[]) => ids((await at.store.search({ where, limit: 100 })).runs);
    const fail = async (name: string, error: string, fingerprint: string) => {
      const id = await insertOne(at.store, { name });
      const run = (await claim(at.store, { limit: 1 }))[0]!;
      expect(run.id).toBe(id);
      await settle(at.store, run, "failed", { error, fingerprint, keep: null });
      return id;
    };

    test("children and reruns are found, finished or not, and nothing else", async () => {
      const [child, rerun, both] = await insert(
        at.store,
        { parentId: 7 },
        { rerunOf: 7 },
        { parentId: 7, rerunOf: 7 },
        { parentId: 8, rerunOf: 9 },
        {},
      );
      const all = await claim(at.store);
      for (const run of all.filter(({ id }) => id !== both))
        await settle(at.store, run, "completed", { keep: null });
      const parent = (value: number): RunCondition => ({ field: "parent", any: [{ op: "=", value }] });
      const of = (value: number): RunCondition => ({ field: "rerun", any: [{ op: "=", value }] });
      expect(await find(parent(7))).toEqual([both, child]);
      expect(await find(of(7))).toEqual([both, rerun]);
      expect(await find(of(7), { ...parent(7), not: true })).toEqual([rerun]);
      expect(await find(of(8))).toEqual([]);
      const page = await at.store.search({ where: [parent(7)], limit: 1 });
      expect(ids(page.runs)).toEqual([both]);
      expect(ids((await at.store.search({ where: [parent(7)], limit: 1, before: page.next! })).runs)).toEqual(
        [child],
      );
    });

    test("failed runs are found by their fingerprint, and by job and state", async () => {
      const [one, two, three] = [
        await fail("mail", "why", "aaa"),
        await fail("sms", "why", "aaa"),
        await fail("mail", "why", "bbb"),
      ];
      const waiting = await insertOne(at.store, { name: "mail" });
      const print = (...is: string[]): RunCondition => ({
        field: "fingerprint",
        any: is.map((one) => ({ is: one })),
      });
      expect(await find(print("aaa"))).toEqual([two, one]);
      expect(await find(print("AAA"))).toEqual([]);
      expect(await find(print("aaa", "bbb"))).toEqual([three, two, one]);
      expect(await find({ ...print("aaa"), not: true })).toEqual([waiting, three]);
      expect(
        await find({ field: "job", any: [{ is: "mail" }] }, { field: "state", any: ["failed"] }),
      ).toEqual([three, one]);
    });

    test("the last ticks of many schedules are read together", async () => {
      await beat(at.store, "w1");
      await define(at.store, [
        { name: "one", schedules: [minutely()] },
        { name: "two", schedules: [minutely()] },
      ]);
      const start = at.clock.now() - (at.clock.now() % 60_000);
      for (const _ of times(4, () => 0)) {
        await at.clock.advance(60);
        await tick(at.store);
        for (const run of (await claim(at.store)).filter(({ name }) => name === "one")) {
          await at.clock.advance(1);
          await settle(at.store, run, "completed", { keep: null, duration: 1000 });
        }
      }
      const [one, two] = (await at.store.schedules()).map(({ id }) => id);
      const { ticks, partial } = await at.store.recentTicks([one!, two!, 999], 3);
      expect(partial).toEqual([]);
      const of = (id: number) => ticks.filter(({ scheduleId }) => scheduleId === id);
      const due = [4, 3, 2].map((n) => start + n * 60_000);
      expect(of(one!).map(({ scheduledFor }) => scheduledFor)).toEqual(due);
      expect(of(two!).map(({ scheduledFor }) => scheduledFor)).toEqual(due);
      expect(of(one!)[0]).toMatchObject({ state: "completed" });
      expect(of(one!)[0]!.finishedAt! - of(one!)[0]!.startedAt!).toBe(1000);
      expect(of(two!)[0]).toMatchObject({ state: "running", finishedAt: null });
      expect(ticks).toHaveLength(6);
    });

    test("ticks behind many other runs of the job are found, or the schedule is marked", async () => {
      await define(at.store, [{ name: "ticking", schedules: [minutely()] }]);
      const [{ id } = { id: 0 }] = await at.store.schedules();
      const fill = (from: number, count: number) =>
        at.sql(
          `insert into punctual_history (id, name, queue, lane, limited, priority, run_at, state, attempts, crashes, finished_at, created_at, schedule, tick_at)
           select ${from} + s.n, 'ticking', 'default', 'ticking', 0, 1, 0, 3, 1, 0, 0, 0,
                  case when ${from} + s.n <= 3 then ${id} end, case when ${from} + s.n <= 3 then s.n end
             from ${at.series(count)} s`,
        );
      await fill(0, 400);
      const near = await at.store.recentTicks([id], 4);
      expect([ids(near.ticks), near.partial]).toEqual([[3, 2, 1], []]);
      await fill(400, 60_000);
      const far = await at.store.recentTicks([id], 4);
      expect([
        [[3, 2, 1], []],
        [[], [id]],
      ]).toContainEqual([ids(far.ticks), far.partial]);
    });

    test("failures are counted by error, job and hour, up to a number of runs", async () => {
      const now = at.clock.now();
      const hour = now - (now % HOUR);
      const first = await fail("mail", "one", "aaa");
      await at.clock.advance("1 hour");
      const [second, third, fourth] = [
        await fail("mail", "two", "aaa"),
        await fail("mail", "three", "aaa"),
        await fail("sms", "four", "aaa"),
      ];
      const all = { job: null, since: null, most: 10_000 };
      const sorted = async (request: { job?: string; since?: number }) =>
        (await at.store.failures({ ...all, ...request })).counts.sort((a, b) => a.sample - b.sample);
      const later = { first: now + HOUR, last: now + HOUR, hour: hour + HOUR, fingerprint: "aaa" };
      expect(await sorted({})).toEqual([
        { fingerprint: "aaa", job: "mail", hour, count: 1, first: now, last: now, sample: first },
        { ...later, job: "mail", count: 2, sample: third },
        { ...later, job: "sms", count: 1, sample: fourth },
      ]);
      expect(await sorted({ job: "sms" })).toMatchObject([{ sample: fourth }]);
      expect(await sorted({ since: now + 1 })).toHaveLength(2);
      expect(await at.store.errorsOf([first, second!, 99_999])).toEqual(
        new Map([
          [first, "one"],
          [second, "two"],
        ]),
      );
      expect((await at.store.failures(all)).capped).toBe(false);
    });

    test("values are distinct and in order", async () => {
      await beat(at.store, "w1");
      await define(at.store, [{ name: "sms" }, { name: "mail", queue: "bulk" }]);
      await at.store.pauseQueue("idle", true, null);
      await insert(at.store, { name: "mail", tags: ["b", "ä"] }, { name: "mail", tags: ["a", "b"] });
      const [run] = await claim(at.store, { limit: 1 });
      await settle(at.store, run!, "failed", { error: '{"name":"Smtp\\"Error","message":"x"}', keep: null });
      expect(await at.store.values("job")).toEqual(["mail", "sms"]);
      expect(await at.store.values("queue")).toEqual(["bulk", "default", "idle"]);
      expect(await at.store.values("tag")).toEqual(["a", "b", "ä"]);
      expect(await at.store.values("errortype")).toEqual(['Smtp"Error']);
      expect(await at.store.values("worker")).toContain("w1");
    });

    test("workers tell their figures, and the runs that they execute", async () => {
      const facts = { version: "1.2.3", memory: 2 ** 33, load: 0.25, lag: 1.5, children: [] };
      await beat(at.store, "w1", { facts });
      await beat(at.store, "w2");
      expect((await at.store.liveWorkers()).map(({ id, facts }) => [id, facts])).toEqual([
        ["w1", facts],
        ["w2", null],
      ]);
      const [older, newer] = [
        await insertOne(at.store, { name: "mail", queue: "bulk" }),
        await insertOne(at.store),
      ];
      const [first] = await claim(at.store, { worker: "w1", limit: 1, queues: ["bulk"] });
      await at.clock.advance(1);
      await claim(at.store, { worker: "w2", limit: 1 });
      // Prefetched: claimed, but not started.
      await insertOne(at.store);
      await claim(at.store, { worker: "w2", limit: 1, start: 0 });
      await at.store.progress(first!, '{"done":1,"of":4}');
      const now = at.clock.now();
      expect(await at.store.workerRuns(100)).toEqual([
        {
          worker: "w1",
          id: older,
          name: "mail",
          queue: "bulk",
          attempt: 1,
          child: null,
          startedAt: now - 1000,
          progress: '{"done":1,"of":4}',
        },
        {
          worker: "w2",
          id: newer,
          name: "job",
          queue: "default",
          attempt: 1,
          child: null,
          startedAt: now,
          progress: null,
        },
      ]);
      expect(await at.store.workerRuns(1)).toHaveLength(1);
    });
  });

  describe("reports of a large history", () => {
    const at = fresh(database, "once");

    test("read rows by an index, however many others there are", async () => {
      const now = at.clock.now();
      await at.sql(
        `insert into punctual_history (id, name, queue, lane, limited, priority, run_at, state, attempts, crashes, created_at, finished_at)
         select s.n, 'many', 'default', 'many', 0, 100, ${now}, 3, 1, 0, ${now}, ${now} from ${at.series(30_000)} s`,
      );
      const some = "id in (7, 700, 7000)";
      await at.sql(
        `update punctual_history set parent_id = 5, rerun_of = 5, schedule = 5, tick_at = id, state = 4, fingerprint = 'aaa' where ${some}`,
      );
      // Without an index by schedule, ticks are looked for among the newest runs of its job.
      await define(at.store, [{ name: "ticking", schedules: [minutely()] }]);
      await at.sql("update punctual_schedules set id = 5");
      await at.sql(`update punctual_history set name = 'ticking' where ${some}`);
      const expected = [7000, 700, 7];
      const byLink = async (store: Store) => {
        for (const field of ["parent", "rerun"] as const) {
          const where: RunCondition[] = [{ field, any: [{ op: "=", value: 5 }] }];
          expect(ids((await store.search({ where, limit: 5 })).runs)).toEqual(expected);
        }
      };
      const plans = await at.plans(async (store) => {
        const search = async (...where: RunCondition[]) =>
          ids((await store.search({ where, limit: 5 })).runs);
        // MySQL and MariaDB have no partial indexes, and read a bounded number of rows instead.
        if (database.name === "sqlite" || database.name === "postgres") await byLink(store);
        expect(await search({ field: "fingerprint", any: [{ is: "aaa" }] })).toEqual(expected);
        const failed: RunCondition = { field: "state", any: ["failed"] };
        expect(await search({ field: "job", any: [{ is: "ticking" }] }, failed)).toEqual(expected);
        expect(ids((await store.recentTicks([5, 6], 20)).ticks)).toEqual(expected);
        expect((await store.failures({ job: null, since: null, most: 10_000 })).counts).toMatchObject([
          { count: 3 },
        ]);
        expect((await store.failures({ job: "ticking", since: null, most: 10_000 })).counts).toHaveLength(1);
        expect(await store.values("errortype")).toEqual([]);
      });
      await byLink(at.store);
      expect(plans.length).toBeGreaterThan(8);
      // Groups, orders and unions of a few rows; the index that has only the failed runs.
      const small = /history_failed|history_job_failed|TEMP B-TREE|^SCAN s\d+$/;
      const grown = plans.filter(
        ({ statement, faults }) =>
          statement.includes("punctual_history") && faults.some((fault) => !small.test(fault)),
      );
      expect(grown).toEqual([]);
    });
  });
}
