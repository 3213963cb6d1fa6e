import { describe, expect, test } from "vitest";
import { WORKER_DEAD_AFTER } from "../../src/store/store.ts";
import { fresh } from "./fresh.ts";
import {
  beat,
  claim,
  claimOne,
  define,
  finish,
  found,
  insert,
  insertOne,
  settle,
  times,
} from "./requests.ts";
import type { Database } from "./stores.ts";

export function status(database: Database): void {
  describe("status", () => {
    const at = fresh(database);

    test("of an empty database", async () => {
      expect(await at.store.status()).toEqual({ now: at.clock.now(), jobs: [], queues: [], workers: [] });
      expect(await at.store.now()).toBe(at.clock.now());
    });

    test("counts what runs and waits, by job and by queue", async () => {
      await define(at.store, [{ name: "a", limit: 9, queue: "x" }, { name: "b" }]);
      await insert(at.store, ...times(3, () => ({ name: "a", queue: "x", limited: true })));
      await claim(at.store, { limit: 2, lease: 1000 });
      await claim(at.store, { limit: 1, lease: 9000 });
      await insert(
        at.store,
        { name: "a", queue: "x" },
        { name: "a", queue: "y", delay: 1000 },
        { name: "b", queue: "y" },
        // An ad hoc run of the same name is no run of the job.
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
        { name: "x", limit: 0, paused: false, pausedUntil: null, ready: 0, scheduled: 0, running: 4 },
        { name: "y", limit: 0, paused: false, pausedUntil: null, ready: 1, scheduled: 1, running: 1 },
      ]);
    });
  });

  describe("what a run waits for", () => {
    const at = fresh(database);

    test("nothing is known of a run that is not there", async () => {
      expect(await at.store.waitFacts(999_999)).toBeNull();
    });

    test("a run of a job that nobody knows", async () => {
      const id = await insertOne(at.store);
      expect(await at.store.waitFacts(id)).toEqual({
        now: at.clock.now(),
        run: await found(at.store, id),
        limited: false,
        job: null,
        queue: expect.toBeOneOf([
          null,
          expect.objectContaining({ limit: 0, paused: false, pausedUntil: null }),
        ]),
        runningOfJob: 0,
        runningOfLane: 0,
        runningOfQueue: 0,
        ahead: 0,
        workers: [],
        ownerAlive: false,
      });
    });

    test("its limits and what is in use of them", async () => {
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
      await insert(
        at.store,
        ...times(2, () => ({ name: "a", key: "k", limited: true })),
        { name: "a", limited: true },
        { name: "b", limited: true },
      );
      await claim(at.store);
      const id = await insertOne(at.store, { name: "a", key: "k", limited: true });
      expect(await at.store.waitFacts(id)).toMatchObject({
        limited: true,
        job: { limit: 9, keyLimit: 3, paused: false, seenAt: at.clock.now() },
        queue: { limit: 5, paused: false, pausedUntil: null },
        runningOfJob: 3,
        runningOfLane: 2,
        runningOfQueue: 4,
      });
    });

    test("what is paused", async () => {
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

    test("how many come before it in its queue", async () => {
      const now = at.clock.now();
      const [, , , id] = await insert(
        at.store,
        { priority: 1 },
        { priority: 5, runAt: now - 10, limited: true },
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

    test("who is alive, and whether its owner is", async () => {
      await beat(at.store, "w1", { queues: ["a"] });
      const id = await insertOne(at.store, { owner: "w1" });
      expect(await at.store.waitFacts(id)).toMatchObject({
        workers: [{ id: "w1", queues: ["a"] }],
        ownerAlive: true,
      });
      await at.clock.advance(WORKER_DEAD_AFTER / 1000);
      expect(await at.store.waitFacts(id)).toMatchObject({ workers: [], ownerAlive: false });
    });

    test("a run that has finished is told as it is", async () => {
      const id = await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "failed", { error: "why" });
      expect(await at.store.waitFacts(id)).toMatchObject({ run: { id, state: "failed", error: "why" } });
    });
  });
}
