import { describe, expect, test } from "vitest";
import { type SyncRequest, WORKER_DEAD_AFTER } from "../../../src/store/store.ts";
import { DAY, HOUR } from "../../../src/time.ts";
import { fresh } from "../support/fresh.ts";
import { MINUTE, minutely } from "../support/minutely.ts";
import { beat, beatFor, define, insertOne, type JobFields, times } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** More than one statement writes, and more than one releases. */
const MANY = 1100;

/** A worker without a row is forgotten after this time. */
const FORGOTTEN = 10 * WORKER_DEAD_AFTER + 1;

const OLD = { worker: "old", startedAt: 100 };
const NEW = { worker: "new", startedAt: 200 };
const JOB = { name: "job", fingerprint: "code" };

export function seen(database: Database): void {
  describe("jobs of live workers", () => {
    const at = fresh(database);
    const seenAt = async (name = "job") =>
      (await at.store.status()).jobs.find((job) => job.name === name)?.seenAt;
    /** The times that are written in the rows of jobs, without heartbeats. */
    const written = async () =>
      (await at.sql<{ seen_at: number }>("select distinct seen_at from punctual_jobs order by seen_at")).map(
        ({ seen_at: time }) => Number(time),
      );
    /** Lets time pass. At its end these workers send heartbeats. */
    const pass = async (ms: number, ...alive: string[]) => {
      await at.clock.advance(`${ms}ms`);
      for (const worker of alive) await beatFor(at.store, worker);
    };
    /** Syncs until a sync has nothing to write, as a worker does. Returns its census. */
    const settle = async (jobs: JobFields[], by: Partial<SyncRequest>) => {
      await define(at.store, jobs, by);
      const { census, isUnchanged } = await define(at.store, jobs, by);
      expect([isUnchanged, census]).toEqual([false, expect.any(String)]);
      return census!;
    };

    test("count as seen by heartbeats, and no sync writes to them", async () => {
      const jobs = times(MANY, (n) => ({ name: `job-${n}`, fingerprint: "code" }));
      await beatFor(at.store, "old");
      await beatFor(at.store, "new");
      const first = at.clock.now();
      const censuses = { new: await settle(jobs, NEW), old: "" };
      const { census } = await define(at.store, jobs, OLD);
      censuses.old = census!;
      await pass(45_000, "old", "new");
      const plans = await at.plans(async (store) => {
        for (const by of [OLD, NEW]) {
          const again = await define(store, jobs, {
            ...by,
            census: censuses[by.worker as keyof typeof censuses],
          });
          expect(again.isUnchanged).toBe(true);
        }
        // A worker without a census reads all jobs, and locks and writes none.
        expect((await define(store, jobs, OLD)).isUnchanged).toBe(false);
      });
      const statements = plans.map(({ statement }) => statement);
      expect(statements.filter((text) => /^(insert|update|delete)/.test(text))).toEqual([]);
      expect(statements.filter((text) => text.includes("for update"))).toEqual([]);
      expect(await written()).toEqual([first]);
      expect(await seenAt("job-7")).toBe(at.clock.now());
    });

    test("are read again by a worker with a census once a worker has ended, died or redefined one", async () => {
      await beatFor(at.store, "old");
      await beatFor(at.store, "new");
      await define(at.store, [JOB, { name: "other", fingerprint: "code" }], NEW);
      const syncAgain = async (census: string) =>
        (await define(at.store, [JOB], { ...OLD, census })).isUnchanged;
      const first = await settle([JOB], OLD);
      expect(await syncAgain(first)).toBe(true);
      await define(at.store, [{ ...JOB, fingerprint: "newer" }], { worker: "newer", startedAt: 300 });
      expect(await syncAgain(first)).toBe(false);
      await define(at.store, [JOB], { ...NEW, startedAt: 400 });
      const later = await settle([JOB], OLD);
      expect(await syncAgain(later)).toBe(true);
      await pass(WORKER_DEAD_AFTER, "old");
      expect(await syncAgain(later)).toBe(false);
      await beatFor(at.store, "new");
      await define(at.store, [JOB], { ...NEW, startedAt: 500 });
      const last = await settle([JOB], OLD);
      await at.store.leave("new");
      expect(await syncAgain(last)).toBe(false);
      expect(await at.store.job("job")).toMatchObject({ fingerprint: "code" });
    });

    test("stay seen when their worker leaves, and are no longer seen by it", async () => {
      const jobs = times(MANY, (n) => ({ name: `job-${n}` }));
      await beatFor(at.store, "new");
      await define(at.store, jobs, NEW);
      await pass(DAY, "new");
      const last = at.clock.now();
      await at.store.leave("new");
      expect(await written()).toEqual([last]);
      await pass(MINUTE, "new");
      expect(await seenAt("job-7")).toBe(last);
    });

    test("that a worker releases are no longer seen by its heartbeats", async () => {
      await beatFor(at.store, "new");
      await define(at.store, [JOB], NEW);
      await pass(MINUTE, "new");
      const last = at.clock.now();
      await at.store.releaseJobs("new");
      await pass(MINUTE, "new");
      expect(await seenAt()).toBe(last);
    });

    test("were last seen with the last heartbeat of a worker that dies, also once it is forgotten", async () => {
      await beatFor(at.store, "new");
      await define(at.store, [JOB], NEW);
      await pass(DAY, "new");
      const last = at.clock.now();
      await at.clock.advance("30s");
      await beat(at.store, "other");
      expect(await seenAt()).toBe(last);
      await at.clock.advance(`${FORGOTTEN}ms`);
      await beat(at.store, "other");
      expect(await at.store.forgetWorkers()).toBe(1);
      expect(await seenAt()).toBe(last);
      expect(await written()).toEqual([last]);
    });

    test("that a worker defines no longer are not seen by its heartbeats", async () => {
      await beatFor(at.store, "new");
      await define(at.store, [JOB, { name: "other", fingerprint: "code" }], NEW);
      await pass(MINUTE, "new");
      const last = at.clock.now();
      await define(at.store, [{ name: "other", fingerprint: "code" }], NEW);
      await pass(MINUTE, "new");
      expect(await seenAt()).toBe(last);
      expect(await seenAt("other")).toBe(at.clock.now());
    });

    test("are not seen by a process that executes nothing", async () => {
      await beatFor(at.store, "new");
      await define(at.store, [JOB], NEW);
      const last = at.clock.now();
      await at.clock.advance("30s");
      await beatFor(at.store, "new", { parallel: 0 });
      expect(await seenAt()).toBe(last);
      await define(at.store, [JOB], NEW);
      expect(await seenAt()).toBe(at.clock.now());
    });

    test("are written with every sync while a worker of an older version is alive", async () => {
      await beatFor(at.store, "new");
      await define(at.store, [JOB, { name: "other", fingerprint: "code" }], NEW);
      for (const by of [OLD, NEW]) {
        await beat(at.store, "older version");
        await pass(30_000, "new");
        const { census } = await define(at.store, [JOB, { name: "other", fingerprint: "code" }], by);
        expect([census, await written()]).toEqual([null, [at.clock.now()]]);
      }
      await pass(WORKER_DEAD_AFTER, "new");
      const last = await written();
      await define(at.store, [JOB], OLD);
      expect(await written()).toEqual(last);
    });

    test("are written by their worker once an hour, for older versions", async () => {
      await beatFor(at.store, "old");
      await beatFor(at.store, "new");
      const first = at.clock.now();
      await define(at.store, [JOB], NEW);
      await pass(HOUR, "old", "new");
      await define(at.store, [JOB], NEW);
      expect(await written()).toEqual([first]);
      await pass(1, "old", "new");
      await define(at.store, [JOB], OLD);
      expect(await written()).toEqual([first]);
      await define(at.store, [JOB], NEW);
      expect(await written()).toEqual([at.clock.now()]);
    });

    test("are not pruned, nor are their runs", async () => {
      const request = { finishedFor: null, jobsUnseenFor: HOUR, orphansOlderThan: HOUR, batch: 100 };
      const gone = { jobs: 1, orphans: 1 };
      await beatFor(at.store, "new");
      await define(at.store, [JOB, { name: "without runs" }], NEW);
      const id = await insertOne(at.store, { name: "job" });
      await pass(DAY, "new");
      expect(await at.store.countPrunable(request)).toMatchObject({ jobs: 0, orphans: 0 });
      expect(await at.store.prune(request)).toMatchObject({ jobs: 0, orphans: 0 });
      await pass(HOUR - 1);
      expect(await at.store.prune(request)).toMatchObject({ jobs: 0, orphans: 0 });
      await pass(2);
      expect(await at.store.countPrunable(request)).toMatchObject({ ...gone, jobs: 2 });
      expect(await at.store.prune(request)).toMatchObject({ ...gone, jobs: 2 });
      expect(await at.store.find(id)).toBeNull();
    });

    test("tell why() and the invariants that a worker defines them", async () => {
      await beatFor(at.store, "new");
      await define(at.store, [{ ...JOB, schedules: [minutely()] }], NEW);
      const id = await insertOne(at.store, { name: "job" });
      await pass(HOUR, "new");
      expect((await at.store.waitFacts(id))?.job?.seenAt).toBe(at.clock.now());
      const late = async () => (await at.store.checkInvariants(1000)).violations.map((one) => one.invariant);
      expect(await late()).toContain("ticked");
      await at.clock.advance("41s");
      await beatFor(at.store, "other");
      expect(await late()).not.toContain("ticked");
    });

    test("whose schedules another worker changes go on from the last heartbeat of their worker", async () => {
      const daily = minutely({ fingerprint: "daily", next: (after) => (Math.floor(after / DAY) + 1) * DAY });
      await beatFor(at.store, "new");
      await define(at.store, [{ ...JOB, schedules: [daily] }], NEW);
      await pass(HOUR, "new");
      const last = at.clock.now();
      await pass(5 * MINUTE);
      await define(at.store, [{ name: "job", schedules: [minutely()] }], { worker: "back", startedAt: 300 });
      const [schedule] = await at.store.schedules();
      expect(schedule?.nextTick).toBe(minutely().next(last));
    });
  });
}
