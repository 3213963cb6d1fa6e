import { describe, expect, test } from "vitest";
import type { FinishedState } from "../../../src/run/states.ts";
import { yieldToEventLoop } from "../../../src/time.ts";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimOne,
  claimRequest,
  define,
  exchange,
  finish,
  found,
  ids,
  insert,
  insertOne,
  list,
  settle,
} from "../support/requests.ts";
import { everythingOf } from "../support/rows.ts";
import type { Database } from "../support/stores.ts";

const finished: FinishedState[] = ["completed", "failed", "cancelled", "skipped"];
const MISSING = 999_999;
/** No run looks like this. */
const NEVER = { state: "failed", attempts: 999, finishedAt: 1 } as const;

export function control(database: Database): void {
  describe("cancel", () => {
    const at = fresh(database);

    test.each([0, 1000])("ends a waiting run, due in %i ms, at once", async (delay) => {
      const id = await insertOne(at.store, { delay, args: "[1]" });
      expect(await at.store.cancel(id, null)).toBe("ended");
      expect(await at.store.find(id)).toMatchObject({
        state: "cancelled",
        args: "[1]",
        attempts: 0,
        worker: null,
        startedAt: null,
        finishedAt: at.clock.now(),
      });
      await at.clock.advance(5);
      expect(await claim(at.store)).toEqual([]);
    });

    test("keeps the attempts of a run that waits for its next one", async () => {
      const id = await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "retried", { error: "first", delay: 1000 });
      expect(await at.store.cancel(id, null)).toBe("ended");
      expect(await at.store.find(id)).toMatchObject({ state: "cancelled", attempts: 1 });
      expect(await at.store.attempts(id)).toMatchObject([{ error: "first" }]);
    });

    test("deletes a run that is not kept, with its attempts", async () => {
      const id = await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "retried", { error: "first", delay: 1000 });
      expect(await at.store.cancel(id, 0)).toBe("ended");
      expect(await everythingOf(at, id)).toEqual({ runs: [], history: [], attempts: [] });
    });

    test("requests the end of a running run, and its worker sees the request until it has ended", async () => {
      const [asked, other] = await insert(at.store, {}, {});
      const [run, theirs] = await claim(at.store);
      expect(await at.store.cancel(asked!, null)).toBe("requested");
      expect(await at.store.cancel(asked!, null)).toBe("requested");
      expect(await at.store.find(asked!)).toMatchObject({ state: "running", cancelRequested: true });
      expect((await exchange(at.store)).cancelled).toEqual([asked]);
      expect((await exchange(at.store, { claim: claimRequest() })).cancelled).toEqual([asked]);
      expect((await at.store.renew("w1", [{ ...theirs!, lease: 1000 }])).cancelled).toEqual([asked]);
      expect((await exchange(at.store, { worker: "w2" })).cancelled).toEqual([]);
      await settle(at.store, run!, "cancelled", { error: "asked" });
      expect((await exchange(at.store)).cancelled).toEqual([]);
      expect(await at.store.find(asked!)).toMatchObject({ state: "cancelled", error: "asked" });
      expect((await found(at.store, other!)).cancelRequested).toBe(false);
    });

    test("with force ends a running run at once, and its worker can write nothing more", async () => {
      await define(at.store, [{ name: "job", limit: 1 }]);
      const [id, next] = (await insert(at.store, {}, {})) as [number, number];
      const run = await claimOne(at.store);
      await at.store.cancel(id, null);
      await at.clock.advance(5);
      expect(await at.store.cancel(id, null, true)).toBe("ended");
      expect(await at.store.find(id)).toMatchObject({
        state: "cancelled",
        attempts: 1,
        worker: "w1",
        startedAt: at.clock.now() - 5000,
        finishedAt: at.clock.now(),
      });
      expect((await at.store.renew("w1", [{ ...run, lease: 1000 }])).held.size).toBe(0);
      expect(await settle(at.store, run, "completed")).toBe(false);
      expect(await at.store.find(id)).toMatchObject({ state: "cancelled" });
      // Its slot is free.
      expect(ids(await claim(at.store))).toEqual([next]);
    });

    test.each([0, 1000])("with force ends a waiting run, due in %i ms, as without force", async (delay) => {
      const id = await insertOne(at.store, { delay });
      expect(await at.store.cancel(id, 0, true)).toBe("ended");
      expect(await everythingOf(at, id)).toEqual({ runs: [], history: [], attempts: [] });
      expect(await at.store.cancel(id, 0, true)).toBeNull();
    });

    test("with force races the completion of the run: one of them wins", async () => {
      const other = await at.another();
      for (let round = 0; round < 50; round++) {
        const id = await insertOne(at.store);
        const run = await claimOne(at.store);
        const [written, answer] = await Promise.all([
          settle(at.store, run, "completed"),
          other.cancel(id, null, true),
        ]);
        expect(answer).toBe(written ? "completed" : "ended");
        expect((await found(at.store, id)).state).toBe(written ? "completed" : "cancelled");
      }
    });

    test("of certain states leaves a run alone that is in another one by now", async () => {
      const [waiting, claimed, running] = (await insert(at.store, {}, {}, {})) as [number, number, number];
      expect(await at.store.cancel(waiting, null, false, ["scheduled", "running"])).toBe("ready");
      const started = (await claim(at.store, { limit: 3, start: 3 })).find(({ id }) => id === running)!;
      await at.sql("update punctual_runs set started_at = null where id = ?", claimed);
      expect(await at.store.cancel(running, null, false, ["ready"])).toBe("running");
      expect((await found(at.store, running)).cancelRequested).toBe(false);
      // Its start is not written, so people see it as ready.
      expect(await at.store.cancel(claimed, null, false, ["ready"])).toBe("requested");
      await settle(at.store, started, "failed", { error: "why" });
      expect(await at.store.cancel(running, null, false, ["ready"])).toBe("failed");
      expect(await at.store.cancel(999_999, null, false, ["ready"])).toBeNull();
    });

    test("at the same time as another cancels the run once", async () => {
      const other = await at.another();
      for (let round = 0; round < 20; round++) {
        const id = await insertOne(at.store);
        const answers = await Promise.all([at.store.cancel(id, null), other.cancel(id, null)]);
        expect(answers.sort()).toEqual(["cancelled", "ended"]);
      }
    });

    test("has no effect if the worker has settled the run before", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      await at.store.cancel(id, null);
      expect(await settle(at.store, run, "completed")).toBe(true);
      expect(await at.store.cancel(id, null)).toBe("completed");
    });

    test.each(finished)("leaves a run that is %s as it is", async (state) => {
      const id = await finish(at.store, state, {}, { error: "why" });
      const before = await everythingOf(at, id);
      await at.clock.advance(1);
      expect(await at.store.cancel(id, null)).toBe(state);
      expect(await everythingOf(at, id)).toEqual(before);
    });

    test("returns null for a run that does not exist", async () => {
      expect(await at.store.cancel(MISSING, null)).toBeNull();
    });

    test("races a claim: one of them wins", async () => {
      const other = await at.another();
      for (let round = 0; round < 50; round++) {
        const id = await insertOne(at.store);
        const [cancelled, claimed] = await Promise.all(
          round % 2 ? [at.store.cancel(id, null), claim(other)] : [other.cancel(id, null), claim(at.store)],
        );
        expect(ids(claimed)).toEqual(cancelled === "requested" ? [id] : []);
        if (cancelled === "requested") await settle(at.store, claimed[0]!, "cancelled");
        expect((await found(at.store, id)).state).toBe("cancelled");
      }
    });
  });

  describe("move", () => {
    const at = fresh(database);

    test("makes a run due later, now, or in the past", async () => {
      const now = at.clock.now();
      const id = await insertOne(at.store);
      expect(await at.store.move(id, now + 5000)).toBe("moved");
      expect(await at.store.find(id)).toMatchObject({ state: "scheduled", runAt: now + 5000 });
      expect(await claim(at.store)).toEqual([]);
      expect((await exchange(at.store)).nextDue).toBe(now + 5000);
      expect(await at.store.move(id, now)).toBe("moved");
      expect(await at.store.find(id)).toMatchObject({ state: "ready", runAt: now });
      expect(await at.store.move(id, now - 5000)).toBe("moved");
      expect(await claimOne(at.store)).toMatchObject({ id, runAt: now - 5000 });
    });

    test("refuses a run that is claimed or finished", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { start: 0 });
      const before = await everythingOf(at, id);
      expect(await at.store.move(id, at.clock.now() + 5000)).toBe("running");
      expect(await everythingOf(at, id)).toEqual(before);
      await settle(at.store, run, "completed");
      expect(await at.store.move(id, at.clock.now() + 5000)).toBe("completed");
      expect(await at.store.move(MISSING, 0)).toBeNull();
    });
  });

  describe("revive", () => {
    const at = fresh(database);

    test.each(finished)(
      "makes a run that is %s ready again, under its id and with its attempts",
      async (state) => {
        const id = await insertOne(at.store, {
          name: "resize",
          queue: "images",
          key: "tenant",
          priority: 3,
          args: "[1]",
          timeout: 77,
          retries: '{"max":2}',
          tags: ["a"],
          parentId: 42,
          batchId: "batch",
          traceparent: "00-trace",
        });
        const created = at.clock.now();
        await settle(at.store, await claimOne(at.store), "retried", { error: "first" });
        await settle(at.store, await claimOne(at.store), state, { error: "second", result: "[2]" });
        await at.clock.advance(60);
        expect(await at.store.revive(id)).toBe("revived");
        expect(await at.store.find(id)).toMatchObject({
          state: "ready",
          runAt: at.clock.now(),
          createdAt: created,
          attempts: 2,
          finishedAt: null,
          startedAt: null,
          error: null,
          result: null,
          worker: null,
        });
        expect(await claimOne(at.store)).toMatchObject({
          id,
          name: "resize",
          queue: "images",
          lane: "resize|tenant",
          priority: 3,
          args: "[1]",
          timeout: 77,
          retries: '{"max":2}',
          tags: ["a"],
          parentId: 42,
          batchId: "batch",
          traceparent: "00-trace",
          attempts: 3,
        });
        expect((await at.store.attempts(id))[0]).toMatchObject({ attempt: 1, error: "first" });
      },
    );

    test("works a second time, and the attempts keep counting", async () => {
      const id = await insertOne(at.store);
      for (let tries = 1; tries <= 3; tries++) {
        const run = await claimOne(at.store);
        expect(run.attempts).toBe(tries);
        await settle(at.store, run, "failed", { error: `try ${tries}` });
        expect(await at.store.revive(id)).toBe("revived");
      }
      expect((await at.store.attempts(id)).map(({ error }) => error)).toEqual(["try 1", "try 2", "try 3"]);
    });

    test("clears the cancellation request of the run", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      await at.store.cancel(id, null);
      await settle(at.store, run, "cancelled");
      await at.store.revive(id);
      const next = await exchange(at.store, { claim: claimRequest() });
      expect(next).toMatchObject({ claimed: [{ id }], cancelled: [] });
    });

    test("keeps the owner of the run", async () => {
      const id = await finish(at.store, "failed", { owner: "w1", lane: "1|adhoc" });
      expect(await at.store.find(id)).toMatchObject({ owner: "w1", key: null });
      await at.store.revive(id);
      expect(await claim(at.store, { worker: "w2" })).toEqual([]);
      expect(ids(await claim(at.store, { worker: "w1" }))).toEqual([id]);
    });

    test("makes the run due at a given time", async () => {
      const id = await finish(at.store, "failed");
      const later = at.clock.now() + 60_000;
      expect(await at.store.revive(id, { runAt: later })).toBe("revived");
      expect(await at.store.find(id)).toMatchObject({ state: "scheduled", runAt: later });
      const other = await finish(at.store, "failed");
      expect(await at.store.revive(other, { runAt: at.clock.now() - 1 })).toBe("revived");
      expect(await at.store.find(other)).toMatchObject({ state: "ready", runAt: at.clock.now() - 1 });
    });

    test("refuses an unfinished run", async () => {
      const [ready, scheduled] = await insert(at.store, {}, { delay: 1000 });
      expect(await at.store.revive(ready!)).toBe("ready");
      expect(await at.store.revive(scheduled!)).toBe("scheduled");
      await claimOne(at.store);
      expect(await at.store.revive(ready!)).toBe("running");
      expect(await at.store.revive(MISSING)).toBeNull();
    });

    test("revives the run once if two processes call it", async () => {
      const id = await finish(at.store, "failed");
      const other = await at.another();
      const answers = await Promise.all([at.store.revive(id), other.revive(id)]);
      expect(answers.sort()).toEqual(["ready", "revived"]);
      expect(await claim(at.store)).toHaveLength(1);
    });

    test("leaves a run that was retried since the caller read it, also if it has failed again", async () => {
      const id = await finish(at.store, "failed");
      const seen = (await at.store.find(id))!;
      expect(await at.store.revive(id, { seen })).toBe("revived");
      expect(await at.store.revive(id, { seen })).toBe("ready");
      await settle(at.store, await claimOne(at.store), "failed");
      expect(await at.store.revive(id, { seen })).toBe("failed");
      expect(await at.store.revive(id, { seen: (await at.store.find(id))! })).toBe("revived");
    });

    test("does not hide the run from another process at any moment", async () => {
      const id = await finish(at.store, "failed");
      const other = await at.another();
      for (let round = 0; round < 20; round++) {
        let isReviving = true;
        const reviving = at.store.revive(id).finally(() => {
          isReviving = false;
        });
        while (isReviving) {
          const found = await Promise.all([
            other.find(id),
            other.revive(id, { seen: NEVER }),
            other.find(id),
          ]);
          expect(found).not.toContain(null);
          await yieldToEventLoop();
        }
        expect(await reviving).toBe("revived");
        await settle(at.store, await claimOne(at.store), "failed");
      }
    });
  });

  describe("remove", () => {
    const at = fresh(database);

    test("deletes a waiting or finished run, with its attempts", async () => {
      const [ready, scheduled] = await insert(at.store, {}, { delay: 1000 });
      expect(await at.store.remove(ready!)).toBe("removed");
      expect(await at.store.remove(scheduled!)).toBe("removed");
      const failed = await finish(at.store, "failed", {}, { error: "why" });
      expect(await at.store.remove(failed)).toBe("removed");
      expect(await everythingOf(at, failed)).toEqual({ runs: [], history: [], attempts: [] });
      expect(await list(at.store, { limit: 10 })).toEqual([]);
      expect(await at.store.remove(failed)).toBeNull();
    });

    test("refuses a running run", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      expect(await at.store.remove(id)).toBe("running");
      expect(await settle(at.store, run, "completed")).toBe(true);
    });
  });
}
