import { describe, expect, test } from "vitest";
import { WORKER_SEEN_WITHIN } from "../../../src/store/store.ts";
import { queueReport } from "../../support/queue-report.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  claim,
  claimOne,
  define,
  defineLimited,
  exchange,
  finish,
  found,
  ids,
  insert,
  insertOne,
  LIMITED,
  list,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function status(database: Database): void {
  describe("status", () => {
    const at = fresh(database);

    test("a run that is claimed and not started is ready, in every report", async () => {
      await define(at.store, [{ name: "job" }, { name: "serial", limit: 1 }]);
      const all = await insert(at.store, {}, {}, ...times(3, () => ({ name: "serial" })));
      const claimed = await claim(at.store, { start: 2, limited: 3, behind: () => 9 });
      const started = claimed.filter((run) => run.started).map(({ id }) => id);
      expect(ids(claimed).sort()).toEqual(all);
      const shown = async () => {
        const { jobs, queues } = await at.store.status();
        const where = (state: "ready" | "running") => [{ field: "state" as const, any: [state] }];
        const counted = async (state: "ready" | "running") => (await at.store.count(where(state), 99)).count;
        const { ready, running } = queues[0]!;
        const total = (of: "waiting" | "running") => jobs.reduce((sum, job) => sum + job[of], 0);
        const listed = await list(at.store, { states: ["running"] });
        const viewed = await at.sql<{ id: number }>("select id from punctual_running");
        const pending = await at.sql<{ id: number }>("select id from punctual_pending");
        expect([running, total("running"), await counted("running"), viewed.length]).toEqual(
          times(4, () => listed.length),
        );
        expect([ready, total("waiting"), await counted("ready"), pending.length]).toEqual(
          times(4, () => all.length - listed.length),
        );
        return ids(listed).sort();
      };
      expect(await shown()).toEqual(started);
      for (const { id } of claimed) {
        const state = started.includes(id) ? "running" : "ready";
        expect(await found(at.store, id)).toMatchObject({ state, worker: "w1" });
      }
      await exchange(at.store, { started: claimed });
      expect(await shown()).toEqual(all);
    });

    test("of an empty database", async () => {
      expect(await at.store.status()).toEqual({
        now: at.clock.now(),
        jobs: [],
        queues: [],
        limits: [],
        workers: [],
        late: [],
        silent: [],
        expired: 0,
        isolated: [],
        mutes: [],
        capped: false,
      });
      expect(await at.store.now()).toBe(at.clock.now());
    });

    test("counts running and waiting runs, by job and by queue", async () => {
      await define(at.store, [{ name: "a", limit: 9, queue: "x" }, { name: "b" }]);
      await insert(at.store, ...times(3, () => ({ name: "a", queue: "x" })));
      await claim(at.store, { limit: 2, lease: 1000 });
      await claim(at.store, { limit: 1, lease: 9000 });
      await insert(
        at.store,
        { name: "a", queue: "x" },
        { name: "a", queue: "y", delay: 1000 },
        { name: "b", queue: "y" },
        // An ad hoc run of the same name does not count for the job.
        { name: "b", queue: "y", owner: "w9" },
      );
      await finish(at.store, "completed", { name: "b", queue: "z", priority: 1 });
      const now = at.clock.now();
      const { jobs, queues } = await at.store.status();
      const other = { paused: false, lastRun: null, lastError: null, fails: 0, seenAt: now };
      expect(jobs).toMatchObject([
        { ...other, name: "a", queue: "x", limit: 9, running: 4, waiting: 1 },
        { ...other, name: "b", queue: "default", limit: 0, running: 1, waiting: 0 },
      ]);
      expect(jobs[0]!.leasedUntil).toBe(now + 60_000);
      expect(queues).toEqual([
        queueReport("default"),
        queueReport("x", { running: 4 }),
        { ...queueReport("y", { ready: 1, scheduled: 1, running: 1 }), oldest: now },
      ]);
    });
  });

  describe("scheduled runs in the status", () => {
    const at = fresh(database);

    test("are due from their time on, also while no worker makes them ready", async () => {
      await define(at.store, [{ name: "job" }]);
      const now = at.clock.now();
      await insert(
        at.store,
        { delay: 1000 },
        { delay: 2000 },
        { delay: 9000 },
        { queue: "other", delay: 1000 },
      );
      await at.clock.advance("999ms");
      expect((await at.store.status()).queues).toEqual([
        queueReport("default", { scheduled: 3 }),
        queueReport("other", { scheduled: 1 }),
      ]);
      await at.clock.advance("1ms");
      expect((await at.store.status()).queues).toEqual([
        { ...queueReport("default", { scheduled: 3, due: 1 }), oldest: now + 1000 },
        { ...queueReport("other", { scheduled: 1, due: 1 }), oldest: now + 1000 },
      ]);
      await at.clock.advance(1);
      const { queues, jobs } = await at.store.status();
      expect(queues[0]).toMatchObject({ ready: 0, scheduled: 3, due: 2, oldest: now + 1000 });
      expect(jobs).toMatchObject([{ name: "job", waiting: 4 }]);
      await claim(at.store, { limit: 1 });
      const [first] = (await at.store.status()).queues;
      expect(first).toMatchObject({ ready: 1, scheduled: 1, due: 0, running: 1, oldest: now + 2000 });
    });

    test("a retry is due when its delay has passed, and a search for due runs finds it", async () => {
      const id = await insertOne(at.store);
      const tried = await claimOne(at.store);
      await settle(at.store, tried, "retried", { delay: 30_000, error: "down" });
      const due = async () =>
        ids((await at.store.search({ where: [{ field: "aspect", any: ["due"] }], limit: 9 })).runs);
      const after = at.clock.now() + 30_000;
      expect(await due()).toEqual([]);
      expect((await at.store.status()).queues).toMatchObject([{ scheduled: 1, due: 0, oldest: null }]);
      await at.clock.advance(60);
      expect(await due()).toEqual([id]);
      expect((await at.store.status()).queues).toMatchObject([{ scheduled: 1, due: 1, oldest: after }]);
    });
  });

  describe("problems in the status", () => {
    const at = fresh(database);
    const schedule = (next: number | null) => ({
      slot: "",
      cron: "* * * * * *",
      timezone: "UTC",
      args: null,
      queue: null,
      fingerprint: "1",
      next: () => next,
    });

    test("names the lease that ends last, and its worker", async () => {
      await define(at.store, [{ name: "a" }, { name: "b" }]);
      await insert(at.store, { name: "a" }, { name: "a" }, { name: "a", owner: "w3", priority: 1 });
      await claim(at.store, { worker: "w3", limit: 1, lease: 99_000 });
      await claim(at.store, { worker: "w1", limit: 1, lease: 5000 });
      await claim(at.store, { worker: "w2", limit: 1, lease: 9000 });
      const { jobs } = await at.store.status();
      expect(jobs).toMatchObject([
        { name: "a", running: 2, leasedBy: "w2", leasedUntil: at.clock.now() + 9000 },
        { name: "b", running: 0, leasedBy: null, leasedUntil: null },
      ]);
    });

    test("counts leases that have ended and were not reaped", async () => {
      await insert(at.store, {}, {});
      await claim(at.store, { limit: 1, lease: 1000 });
      await claim(at.store, { limit: 1, lease: 60_000 });
      await at.clock.advance(16);
      expect((await at.store.status()).expired).toBe(0);
      await at.clock.advance("1ms");
      expect((await at.store.status()).expired).toBe(1);
    });

    test("lists workers that hold runs without a heartbeat, until their leases count as expired", async () => {
      await beat(at.store, "w1");
      const seenAt = at.clock.now();
      const [first, second, third] = await insert(at.store, { name: "a" }, { name: "b" }, { name: "b" });
      await claim(at.store, { worker: "w1", limit: 1, lease: 40_000 });
      await claim(at.store, { worker: "w1", limit: 1, lease: 60_000 });
      await claim(at.store, { worker: "w9", limit: 1, lease: 60_000 });
      const gone = {
        id: "w9",
        trace: null,
        runs: 1,
        jobs: ["b"],
        last: { id: third, name: "b" },
        leasedUntil: seenAt + 60_000,
      };
      await at.clock.advance((WORKER_SEEN_WITHIN - 1) / 1000);
      expect((await at.store.status()).silent).toEqual([gone]);
      expect((await at.store.waitFacts(first!))!.holder).toMatchObject({ pid: expect.any(Number), seenAt });
      await at.clock.advance("1ms");
      const dead = {
        id: "w1",
        trace: { host: expect.any(String), pid: expect.any(Number), seenAt },
        runs: 2,
        jobs: ["a", "b"],
        last: { id: second, name: "b" },
        leasedUntil: seenAt + 60_000,
      };
      expect((await at.store.status()).silent).toEqual([dead, gone]);
      expect((await at.store.waitFacts(first!))!.holder).toMatchObject({ seenAt });
      expect((await at.store.waitFacts(third!))!.holder).toBeNull();
      await at.clock.advance(40);
      expect((await at.store.status()).silent).toMatchObject([{ id: "w1", runs: 1 }, { id: "w9" }]);
      await at.clock.advance(16);
      expect(await at.store.status()).toMatchObject({ silent: [], expired: 3 });
    });

    test("lists schedules whose tick is overdue, unless they are paused", async () => {
      const due = at.clock.now() + 1000;
      await define(at.store, [
        { name: "late", schedules: [schedule(due)] },
        { name: "paused", schedules: [schedule(due)] },
        { name: "off", schedules: [schedule(due)] },
        { name: "never", schedules: [schedule(null)] },
        { name: "later", schedules: [schedule(due + 60_000)] },
      ]);
      const all = await at.store.schedules();
      const id = (job: string) => all.find((one) => one.job === job)!.id;
      await at.store.pauseSchedule(id("off"), true, { by: "ana", reason: "why" });
      await at.store.pauseJob("paused", true, { by: "bob", reason: null });
      await at.clock.advance(6);
      expect((await at.store.status()).late).toEqual([]);
      await at.clock.advance("1ms");
      const { late, jobs } = await at.store.status();
      expect(late).toEqual([{ id: id("late"), job: "late", nextTick: due }]);
      expect(jobs.find(({ name }) => name === "paused")!.pause).toMatchObject({ by: "bob", reason: null });
      const paused = (await at.store.schedules()).find(({ job }) => job === "off")!;
      expect(paused).toMatchObject({ paused: true, pause: { by: "ana", reason: "why" } });
      await at.store.pauseJob("paused", false);
      await at.store.pauseSchedule(id("off"), false);
      const after = await at.store.status();
      expect(after.late).toHaveLength(3);
      expect(after.jobs.every(({ pause }) => pause === null)).toBe(true);
    });
  });

  describe("status of many", () => {
    const at = fresh(database, "once");
    const COLUMNS = "id, name, queue, lane, limited, priority, run_at, state, created_at";

    test("50,000 ready runs: counts up to a bound, finds the oldest of each queue, and reads few rows", async () => {
      const now = at.clock.now();
      // The first in claim order is recent; the oldest has the lowest priority.
      await at.sql(
        `insert into punctual_runs (${COLUMNS})
         select s.n, 'many', case when s.n % 2 = 0 then 'a' else 'b' end, 'many', 0, s.n % 3, ${now} + s.n, 1, ${now}
           from ${at.series(50_000)} s`,
      );
      await at.sql("update punctual_runs set run_at = 5 where id = 50000");
      await at.sql("update punctual_runs set run_at = 7 where id = 49999");
      await define(at.store, [{ name: "many" }]);
      const plans = await at.plans(async (store) => {
        const { capped, jobs, queues } = await store.status();
        expect(capped).toBe(true);
        const [a, b, ofTheJob] = queues;
        expect([a, b]).toMatchObject([
          { name: "a", ready: 10_000, oldest: 5, capped: true },
          { name: "b", ready: 10_000, oldest: 7, capped: true },
        ]);
        expect(ofTheJob).toMatchObject({ ready: 0, oldest: null, capped: false });
        expect(jobs[0]!.waiting).toBeGreaterThan(2000);
      });
      expect(plans.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(100);
    });

    test("the count of a queue does not depend on the runs of others", async () => {
      const now = at.clock.now();
      await at.sql(
        `insert into punctual_runs (${COLUMNS})
         select s.n, 'many', case when s.n <= 12000 then 'a' else concat('b', s.n % 30) end, 'many',
                case when s.n % 60 < 30 then 0 else 1 end, 5, ${now}, 1, ${now}
           from ${at.series(27_000)} s`,
      );
      const { queues } = await at.store.status();
      expect(queues).toHaveLength(31);
      const [a, ...others] = queues;
      expect(a).toMatchObject({ name: "a", ready: 12_000, capped: false });
      for (const other of others) expect(other).toMatchObject({ ready: 500, capped: false });
      await at.sql("update punctual_runs set limited = 0 where queue = 'a'");
      const [all] = (await at.store.status()).queues;
      expect(all).toMatchObject({ name: "a", ready: 10_000, capped: true });
    });

    test("of more than 100 queues, those that were not read are marked", async () => {
      const now = at.clock.now();
      await at.sql(
        `insert into punctual_runs (${COLUMNS})
         select s.n, 'many', concat('q', 1000 + s.n % 120), 'many', 0, 5, ${now}, 1, ${now}
           from ${at.series(12_000)} s`,
      );
      await define(at.store, [{ name: "many", queue: "q1119" }]);
      const { queues } = await at.store.status();
      expect(queues.slice(0, 100).every(({ ready, capped }) => ready === 100 && !capped)).toBe(true);
      expect(queues.at(-1)).toMatchObject({ name: "q1119", ready: 0, capped: true });
    });

    test("50,000 scheduled runs: due ones are counted before those for later", async () => {
      const now = at.clock.now();
      // Every fifth run is due: 5,000 of each queue.
      await at.sql(
        `insert into punctual_runs (${COLUMNS})
         select s.n, 'many', case when s.n % 2 = 0 then 'a' else 'b' end, 'many', 0, 100,
                case when s.n % 5 = 0 then ${now} - s.n else ${now} + 1000 + s.n end, 0, ${now}
           from ${at.series(50_000)} s`,
      );
      const { capped, queues } = await at.store.status();
      expect(capped).toBe(true);
      expect(queues).toMatchObject([
        { name: "a", due: 5000, oldest: now - 50_000, capped: false },
        { name: "b", due: 5000, oldest: now - 49_995, capped: false },
      ]);
      await at.sql(`update punctual_runs set run_at = ${now} where queue = 'a'`);
      const after = (await at.store.status()).queues;
      expect(after[0]!.due + after[1]!.due).toBe(10_001);
      expect(after).toMatchObject([{ capped: true }, { due: 5000, capped: true }]);
    });

    test("up to 10,000 runs of each kind are counted exactly", async () => {
      const now = at.clock.now();
      await at.sql(
        `insert into punctual_runs (${COLUMNS})
         select s.n, 'many', 'default', 'many', 0, 100, ${now}, case when s.n % 2 = 0 then 0 else 1 end, ${now}
           from ${at.series(20_000)} s`,
      );
      const { capped, queues } = await at.store.status();
      expect(capped).toBe(false);
      expect(queues).toMatchObject([{ ready: 10_000, scheduled: 10_000, oldest: now }]);
    });
  });

  describe("the wait facts of a run", () => {
    const at = fresh(database);

    test("are null for a run that does not exist", async () => {
      expect(await at.store.waitFacts(999_999)).toBeNull();
    });

    test("of a job that no worker has defined", async () => {
      const id = await insertOne(at.store);
      expect(await at.store.waitFacts(id)).toEqual({
        now: at.clock.now(),
        run: await found(at.store, id),
        keyed: false,
        job: { limit: 0, keyLimit: 0, hasKeyRate: false, paused: false, pause: null, seenAt: null },
        rates: [],
        named: null,
        queue: expect.toBeOneOf([
          null,
          expect.objectContaining({ limit: 0, paused: false, pausedUntil: null }),
        ]),
        runningOfJob: { slots: 0, holders: [] },
        behind: null,
        runningOfLane: { slots: 0, holders: [] },
        runningOfQueue: { slots: 0, holders: [] },
        ahead: 0,
        workers: [],
        holder: null,
        isolated: [],
        slowHook: null,
        ownerAlive: false,
      });
    });

    test("have its limits and their usage", async () => {
      await define(
        at.store,
        [
          { name: "a", limit: 9, keyLimit: 3 },
          { name: "b", limit: 9 },
        ],
        {
          queues: [{ name: "default", limit: 5 }],
        },
      );
      await insert(at.store, ...times(2, () => ({ name: "a", key: "k" })), { name: "a" }, { name: "b" });
      const claimed = ids(await claim(at.store));
      const holders = (...of: number[]) => of.map((n) => ({ id: claimed[n]!, worker: null }));
      const id = await insertOne(at.store, { name: "a", key: "k" });
      expect(await at.store.waitFacts(id)).toMatchObject({
        keyed: true,
        job: { limit: 9, keyLimit: 3, paused: false, seenAt: at.clock.now() },
        queue: { limit: 5, paused: false, pausedUntil: null },
        runningOfJob: { slots: 3, holders: holders(0, 1, 2) },
        runningOfLane: { slots: 2, holders: holders(0, 1) },
        runningOfQueue: { slots: 4, holders: holders(0, 1, 2) },
      });
    });

    test("have the pauses", async () => {
      await define(at.store, [{ name: "job" }]);
      const id = await insertOne(at.store);
      await at.store.pauseJob("job", true);
      const until = at.clock.now() + 5000;
      await at.store.pauseQueue("default", true, until);
      expect(await at.store.waitFacts(id)).toMatchObject({
        job: { paused: true },
        queue: { paused: true, pausedUntil: until },
      });
      await at.clock.advance(5);
      expect(await at.store.waitFacts(id)).toMatchObject({ queue: { paused: false } });
    });

    test("have the number of runs before it in its queue", async () => {
      const now = at.clock.now();
      await defineLimited(at.store);
      const [, , , id] = await insert(
        at.store,
        { priority: 1 },
        { priority: 5, runAt: now - 10, ...LIMITED },
        { priority: 5 },
        { priority: 5 },
        { priority: 5 },
        { priority: 9, runAt: now - 99 },
        { priority: 1, queue: "other" },
        { priority: 1, owner: "w9" },
        { priority: 1, delay: 1000 },
      );
      expect((await at.store.waitFacts(id!))!.ahead).toBe(3);
      await insert(at.store, ...times(1200, () => ({ priority: 1 })));
      expect((await at.store.waitFacts(id!))!.ahead).toBe(1000);
    });

    test("have the live workers, and whether its owner is alive", async () => {
      await beat(at.store, "w1", { queues: ["a"] });
      const id = await insertOne(at.store, { owner: "w1" });
      expect(await at.store.waitFacts(id)).toMatchObject({
        workers: [{ id: "w1", queues: ["a"] }],
        ownerAlive: true,
      });
      await at.clock.advance(WORKER_SEEN_WITHIN / 1000);
      expect(await at.store.waitFacts(id)).toMatchObject({ workers: [], ownerAlive: false });
    });

    test("of a finished run have the run", async () => {
      const id = await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "failed", { error: "why" });
      expect(await at.store.waitFacts(id)).toMatchObject({ run: { id, state: "failed", error: "why" } });
    });
  });
}
