import { beforeEach, describe, expect, test } from "vitest";
import { type Invariant, invariants } from "../../../src/store/invariants.ts";
import { batchInvariance, rateInvariance } from "../support/broken-rows.ts";
import { fresh } from "../support/fresh.ts";
import { minutely, tick } from "../support/minutely.ts";
import {
  beat,
  claim,
  claimOne,
  define,
  finish,
  insert,
  insertOne,
  newRun,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const MOST = 1_000_000;

export function invariance(database: Database): void {
  describe("invariants", () => {
    const at = fresh(database);
    const check = () => at.store.checkInvariants(MOST);
    const broken = async () =>
      (await check()).violations.map(({ invariant, subject }) => [invariant, subject]);
    /** A live worker with a free slot. */
    const idle = (seconds = 0) =>
      at.clock.advance(seconds).then(() => beat(at.store, "idle", { parallel: 5, startedAt: 1 }));

    test("hold for runs in every state, chains and keys included", async () => {
      await beat(at.store, "w1", { parallel: 10 });
      await define(at.store, [
        { name: "job", limit: 1 },
        { name: "keyed", limit: 4, keyLimit: 2 },
        { name: "ticking", schedules: [minutely()] },
      ]);
      await insert(at.store, ...times(5, () => ({})), ...times(6, () => ({ name: "keyed", key: "a" })), {
        delay: 60_000,
        unique: { key: "held", until: "finished", for: 0 },
      });
      const claimed = await claim(at.store, { behind: () => 2 });
      expect(claimed).toHaveLength(9);
      await settle(at.store, claimed[0]!, "retried", { error: "why" });
      await finish(at.store, "failed", { name: "other" }, { error: "why" });
      await at.clock.advance(60);
      await tick(at.store);
      expect(await check()).toEqual({ violations: [], runs: 13, complete: true });
    });

    test("are checked in as many rows as allowed, the oldest first", async () => {
      const [first, , third] = await insert(at.store, {}, {}, {});
      await at.sql("update punctual_runs set lease_token = 'x'");
      expect((await at.store.checkInvariants(2)).complete).toBe(false);
      const { violations } = await at.store.checkInvariants(2);
      expect(violations.map(({ subject }) => subject)).toEqual([`run ${first}`, `run ${first! + 1}`]);
      expect((await at.store.checkInvariants(third!)).complete).toBe(true);
    });

    describe("are broken by", () => {
      const seen = new Set<Invariant>();
      const breaks = async (invariant: Invariant, subject: string) => {
        expect(await broken()).toEqual([[invariant, subject]]);
        seen.add(invariant);
      };

      test("a run in both tables", async () => {
        const id = await finish(at.store, "completed");
        const other = await insertOne(at.store);
        await at.sql("update punctual_runs set id = ? where id = ?", id, other);
        await breaks("one-table", `run ${id}`);
      });

      test.each(["locked_by", "lease_token", "locked_until"])("a running run without %s", async (column) => {
        const id = await insertOne(at.store);
        await claimOne(at.store);
        await at.sql(`update punctual_runs set ${column} = null`);
        await breaks("leased", `run ${id}`);
      });

      test("a waiting run with a lease", async () => {
        const id = await insertOne(at.store);
        await claimOne(at.store);
        await at.sql("update punctual_runs set state = 1");
        await breaks("unleased", `run ${id}`);
      });

      test("a lease that no idle worker reaps", async () => {
        const id = await insertOne(at.store);
        const { token } = await claimOne(at.store, { lease: 1000 });
        await idle(120);
        expect(await broken()).toEqual([]);
        await idle(2);
        await breaks("reaped", `run ${id}, lease ${token}`);
        await beat(at.store, "idle", { parallel: 0 });
        expect(await broken()).toEqual([]);
      });

      test("a due run that no idle worker promotes", async () => {
        await insertOne(at.store);
        await claimOne(at.store, { worker: "idle" });
        const id = await insertOne(at.store, { delay: 1000 });
        await idle(61);
        expect(await broken()).toEqual([]);
        await idle(1);
        await breaks("promoted", `run ${id}`);
        // A worker without a free slot claims nothing, and promotes nothing.
        await beat(at.store, "idle", { parallel: 1 });
        expect(await broken()).toEqual([]);
      });

      test("a schedule that no idle worker ticks", async () => {
        await define(at.store, [{ name: "job", schedules: [minutely()] }]);
        const { id, nextTick } = (await at.store.schedules())[0]! as { id: number; nextTick: number };
        await idle((nextTick - at.clock.now()) / 1000 + 60);
        await define(at.store, [{ name: "job", schedules: [minutely()] }]);
        expect(await broken()).toEqual([]);
        await idle(1);
        await breaks("ticked", `schedule ${id}, tick ${nextTick}`);
        await at.store.pauseSchedule(id, true);
        expect(await broken()).toEqual([]);
      });

      describe("a limit that is exceeded", () => {
        const started = (count: number, fields: object = {}) =>
          insert(at.store, ...times(count, () => fields)).then(() => claim(at.store));
        beforeEach(() => at.clock.advance(120));

        test("of a job", async () => {
          await started(3);
          await define(at.store, [{ name: "job", limit: 3 }]);
          expect(await broken()).toEqual([]);
          await define(at.store, [{ name: "job", limit: 2 }]);
          await breaks("limits", 'job job "job"');
        });

        test("of a key", async () => {
          await started(2, { key: "a" });
          await started(2, { key: "b" });
          await started(5, { key: null });
          await define(at.store, [{ name: "job", keyLimit: 2 }]);
          expect(await broken()).toEqual([]);
          await started(1, { key: "c" });
          await define(at.store, [{ name: "job", keyLimit: 1 }]);
          expect((await broken()).map(([, subject]) => subject)).toEqual([
            'key job "job" with the key "a"',
            'key job "job" with the key "b"',
          ]);
        });

        test("of a queue", async () => {
          await started(1);
          await started(1, { name: "other" });
          await define(at.store, [], { queues: [{ name: "default", limit: 1 }] });
          await breaks("limits", 'queue queue "default"');
        });

        test("that jobs share by its name", async () => {
          const rates = { job: null, key: null, under: { limit: "api", hasCost: false } };
          const share = (limit: number) =>
            define(
              at.store,
              [
                { name: "job", rates },
                { name: "other", rates },
              ],
              { limits: [{ name: "api", limit, rate: null }] },
            );
          await started(1);
          await started(1, { name: "other" });
          await started(1, { name: "free" });
          await share(2);
          expect(await broken()).toEqual([]);
          await share(1);
          await breaks("limits", 'limit limit "api"');
        });

        test("but not by runs that were claimed before the limit was lowered", async () => {
          await started(3);
          await define(at.store, [{ name: "job", limit: 2 }], { startedAt: at.clock.now() });
          expect(await broken()).toEqual([]);
        });
      });

      test("two holders of a unique key", async () => {
        const unique = { key: "k", until: "finished", for: 60_000 } as const;
        const holder = await finish(at.store, "completed", { unique });
        const id = await insertOne(at.store);
        expect(await broken()).toEqual([]);
        await at.sql("update punctual_runs set unique_key = 'k', unique_scope = 2 where id = ?", id);
        await breaks("unique-keys", `run ${id}`);
        expect((await check()).violations[0]!.message).toContain(`${holder}`);
        await at.clock.advance(61);
        expect(await broken()).toEqual([]);
      });

      test("a batch whose counts are wrong, or that nobody finishes", async () => {
        const batch = { name: "batch", cancels: false, callbacks: [] };
        const { id } = await at.store.batches.create(batch, [newRun(), newRun()], { seal: true });
        await idle(121);
        expect(await broken()).toEqual([]);
        await at.sql("update punctual_batches set added = 3");
        await breaks("batches", `batch ${id}`);
        await at.sql("update punctual_batches set added = 2, cancelled = 1");
        await breaks("batches", `batch ${id}`);
        await at.sql("update punctual_batches set cancelled = 2");
        await at.sql("delete from punctual_runs");
        await breaks("batches", `batch ${id}`);
        await beat(at.store, "idle", { parallel: 0 });
        expect(await broken()).toEqual([]);
      });

      const scene = { at, check, broken, breaks };
      batchInvariance(scene);
      rateInvariance(scene);

      test("attempts of a run that does not exist", async () => {
        const id = await finish(at.store, "failed", {}, { error: "why" });
        await at.sql("delete from punctual_history where id = ?", id);
        await breaks("attempts", `run ${id}`);
      });

      test("old log lines of a run that does not exist", async () => {
        const id = await finish(at.store, "completed");
        const line = { runId: id, position: 1, attempt: 1, at: at.clock.now(), message: "m", data: null };
        await at.store.log([line]);
        await at.sql("delete from punctual_history where id = ?", id);
        expect(await broken()).toEqual([]);
        await at.clock.advance("25 hours");
        await breaks("logs", `run ${id}`);
      });

      test("nothing else", () => {
        expect([...seen].sort()).toEqual(Object.keys(invariants).sort());
      });
    });
  });
}
