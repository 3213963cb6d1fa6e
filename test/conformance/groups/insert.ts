import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import { claimOne, found, insert, insertOne, list, newRun, times } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function inserting(database: Database): void {
  describe("insert", () => {
    const at = fresh(database);

    test("returns ascending ids in the order given", async () => {
      const ids = await insert(at.store, ...times(50, (n) => ({ priority: 50 - n, name: `job-${n}` })));
      expect(ids).toEqual([...ids].sort((a, b) => a - b));
      expect(new Set(ids).size).toBe(50);
      for (const [n, id] of ids.entries()) expect((await found(at.store, id)).name).toBe(`job-${n}`);
    });

    test("returns ascending ids even if only some runs have a unique key", async () => {
      const ids = await insert(
        at.store,
        ...times(12, (n) => ({
          name: `job-${n}`,
          unique: n % 3 === 0 ? { key: `key-${n}`, until: "finished" as const, for: 0 } : null,
        })),
      );
      expect(ids).toEqual([...ids].sort((a, b) => a - b));
      for (const [n, id] of ids.entries()) expect((await found(at.store, id)).name).toBe(`job-${n}`);
    });

    test("returns higher ids than an earlier insert, even if its run is gone", async () => {
      const first = await insertOne(at.store);
      await at.store.remove(first);
      expect(await insertOne(at.store)).toBeGreaterThan(first);
    });

    test("stores every field for the worker", async () => {
      const now = at.clock.now();
      const id = await insertOne(at.store, {
        name: "resize",
        queue: "images",
        key: "tenant-1",
        priority: -7,
        runAt: now - 1000,
        args: '{"a":1}',
        timeout: 1500,
        retries: '{"max":7,"jitter":"none"}',
        tags: ["a", "b"],
        parentId: 42,
        batchId: "batch",
        expires: 60_000,
        traceparent: "00-trace",
      });
      await at.clock.advance(1);
      expect(await claimOne(at.store, { token: "mine" })).toEqual({
        id,
        token: "mine",
        limited: false,
        unkeyed: false,
        rated: false,
        name: "resize",
        queue: "images",
        lane: "resize|tenant-1",
        priority: -7,
        runAt: now - 1000,
        args: '{"a":1}',
        attempts: 1,
        crashes: 0,
        uncounted: 0,
        suspect: false,
        timeout: 1500,
        retries: '{"max":7,"jitter":"none"}',
        owner: null,
        tags: ["a", "b"],
        parentId: 42,
        batchId: "batch",
        expiresAt: now + 60_000,
        traceparent: "00-trace",
        schedule: null,
        tickAt: null,
        createdAt: now,
        claimedAt: now + 1000,
        started: true,
        logged: 0,
      });
    });

    test("stores every field for find()", async () => {
      const now = at.clock.now();
      const id = await insertOne(at.store, {
        name: "resize",
        queue: "images",
        key: "tenant-1",
        args: '{"a":1}',
        tags: ["a"],
        parentId: 42,
        rerunOf: 41,
        batchId: "batch",
        timeout: 1500,
        retries: '{"max":7}',
        unique: { key: "once", until: "finished", for: 0 },
      });
      expect(await at.store.find(id)).toEqual({
        id,
        name: "resize",
        queue: "images",
        key: "tenant-1",
        priority: 100,
        state: "ready",
        runAt: now,
        args: '{"a":1}',
        attempts: 0,
        crashes: 0,
        isolated: false,
        worker: null,
        child: null,
        lockedUntil: null,
        startedAt: null,
        finishedAt: null,
        error: null,
        fingerprint: null,
        result: null,
        progress: null,
        tags: ["a"],
        parentId: 42,
        rerunOf: 41,
        batchId: "batch",
        uniqueKey: "once",
        scheduleId: null,
        scheduledFor: null,
        timeout: 1500,
        retries: '{"max":7}',
        owner: null,
        cancelRequested: false,
        createdAt: now,
      });
    });

    test("distinguishes no arguments from null arguments", async () => {
      const [none, nothing] = await insert(at.store, { args: null }, { args: "null" });
      expect((await found(at.store, none!)).args).toBeNull();
      expect((await found(at.store, nothing!)).args).toBe("null");
    });

    test("stores single runs that set other columns than the run before them", async () => {
      const shapes = [{}, { tags: ["a"] }, { owner: "w1" }, { timeout: 5 }, { owner: "w1", tags: ["b"] }, {}];
      const stored = [];
      for (const shape of shapes) {
        const { tags, owner, timeout } = await found(at.store, await insertOne(at.store, shape));
        stored.push({ tags, owner, timeout });
      }
      expect(stored).toEqual(shapes.map((shape) => ({ tags: [], owner: null, timeout: null, ...shape })));
    });

    test("stores 5,000 runs at once, each with its own arguments", async () => {
      const ids = await insert(at.store, ...times(5000, (n) => ({ args: `{"n":${n}}` })));
      const runs = await list(at.store, { limit: 5000 });
      expect(runs.reverse().map(({ id, args }) => ({ id, args }))).toEqual(
        ids.map((id, n) => ({ id, args: `{"n":${n}}` })),
      );
    });

    test("stores rows that differ in every column", async () => {
      const now = at.clock.now();
      const runs = times(40, (n) =>
        newRun({
          name: `job-${n}`,
          queue: `queue-${n % 7}`,
          priority: n - 20,
          runAt: n % 2 ? now + n : null,
          delay: n % 5,
          args: n % 3 ? `[${n}]` : null,
          tags: n % 4 ? [`tag-${n}`] : [],
          parentId: n % 6 ? n : null,
          rerunOf: n % 5 ? n : null,
          batchId: n % 7 ? `batch-${n}` : null,
        }),
      );
      const inserted = await at.store.insert(runs);
      for (const [n, { id }] of inserted.entries()) {
        const { name, queue, priority, args, tags, parentId, rerunOf, batchId } = runs[n]!;
        expect(await at.store.find(id)).toMatchObject({
          name,
          queue,
          priority,
          args,
          tags,
          parentId,
          rerunOf,
          batchId,
        });
        expect((await found(at.store, id)).runAt).toBe(n % 2 ? now + n : now + (n % 5));
      }
    });

    test.each([
      { what: "no delay", fields: {}, due: 0, state: "ready" },
      { what: "a delay", fields: { delay: 1 }, due: 1, state: "scheduled" },
      { what: "a moment that is past", fields: { past: -5 }, due: -5, state: "ready" },
      { what: "this moment", fields: { past: 0 }, due: 0, state: "ready" },
      { what: "a moment to come", fields: { past: 1 }, due: 1, state: "scheduled" },
      { what: "a moment and a delay", fields: { past: 7, delay: 1000 }, due: 7, state: "scheduled" },
    ])(
      "with $what makes a run $state",
      async ({
        fields: { past, ...fields },
        due,
        state,
      }: {
        fields: { past?: number; delay?: number };
        due: number;
        state: string;
      }) => {
        const now = at.clock.now();
        const id = await insertOne(at.store, { runAt: past === undefined ? null : now + past, ...fields });
        expect(await at.store.find(id)).toMatchObject({ state, runAt: now + due });
      },
    );

    test("inserts all runs or none", async () => {
      const refused = newRun({ name: null as unknown as string });
      await expect(at.store.insert([newRun(), newRun(), refused])).rejects.toThrow();
      const unique = newRun({ unique: { key: "once", until: "finished", for: 0 } });
      await expect(at.store.insert([newRun(), unique, refused])).rejects.toThrow();
      expect(await list(at.store, { limit: 10 })).toEqual([]);
    });

    test("accepts an empty list", async () => {
      expect(await at.store.insert([])).toEqual([]);
    });
  });
}
