import { describe, expect, test } from "vitest";
import { isFinished, type Outcome, outcomeRules, transitions } from "../../../src/run/states.ts";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimOne,
  exchange,
  found,
  insert,
  insertOne,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const outcomes = Object.keys(outcomeRules) as Outcome[];
const finishing = outcomes.filter((outcome) => outcomeRules[outcome].to !== "waiting");
const waiting = outcomes.filter((outcome) => outcomeRules[outcome].to === "waiting");

const TEXT = '{"message":"naïve 日本 🕰️ \\u0000 \\ud800 \'quoted\' \\"double\\" back\\\\slash\\n%_"}';

export function settling(database: Database): void {
  describe("settle", () => {
    const at = fresh(database);

    test.each(outcomes)("%s leads to the state of the rules", async (outcome) => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      expect(await settle(at.store, run, outcome)).toBe(true);
      expect(transitions.running[outcome]).toContain((await found(at.store, id)).state);
    });

    test.each(finishing)(
      "%s settles a run that has the id of a finished one, and replaces that",
      async (outcome) => {
        const ends = { error: outcome === "failed" ? "why" : null };
        const id = await insertOne(at.store, { args: '["old"]' });
        await settle(at.store, await claimOne(at.store), outcome, ends);
        const other = await insertOne(at.store, { args: '["new"]' });
        // As after a failover to a replica that lagged, or after history was restored from a backup.
        await at.sql("update punctual_runs set id = ? where id = ?", id, other);
        const run = await claimOne(at.store);
        expect(run.id).toBe(id);
        expect(await settle(at.store, run, outcome, ends)).toBe(true);
        expect(await at.store.find(id)).toMatchObject({ args: '["new"]', attempts: 1 });
        expect(await at.sql("select id from punctual_runs")).toEqual([]);
      },
    );

    test("a run that has the id of a finished one can be cancelled", async () => {
      const id = await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "completed");
      const other = await insertOne(at.store);
      await at.sql("update punctual_runs set id = ? where id = ?", id, other);
      expect(await at.store.cancel(id, null)).toBe("ended");
      expect((await at.store.find(id))!.state).toBe("cancelled");
    });

    test.each(finishing)("%s is in history, with all its columns", async (outcome) => {
      const created = at.clock.now();
      const id = await insertOne(at.store, {
        name: "resize",
        queue: "images",
        key: "tenant",
        priority: 3,
        args: "[1]",
        tags: ["a"],
        parentId: 42,
        rerunOf: 41,
        batchId: "batch",
        timeout: 1500,
      });
      await at.clock.advance(1);
      const run = await claimOne(at.store, { worker: "w7" });
      await at.store.progress(run, "50");
      await at.clock.advance(10);
      const now = at.clock.now();
      const ends = { duration: 700, error: "why", fingerprint: "print", result: "[2]", keep: 1000 };
      await settle(at.store, run, outcome, ends);
      const failed = outcome === "failed";
      const completed = outcome === "completed";
      expect(await at.store.find(id)).toEqual({
        id,
        name: "resize",
        queue: "images",
        key: "tenant",
        priority: 3,
        state: outcomeRules[outcome].to,
        runAt: created,
        args: "[1]",
        attempts: 1,
        crashes: 0,
        isolated: false,
        worker: "w7",
        child: null,
        lockedUntil: null,
        startedAt: now - 700,
        finishedAt: now,
        error: completed ? expect.toBeOneOf([null, "why"]) : "why",
        fingerprint: failed ? "print" : expect.toBeOneOf([null, "print"]),
        result: completed ? "[2]" : expect.toBeOneOf([null, "[2]"]),
        progress: "50",
        tags: ["a"],
        parentId: 42,
        rerunOf: 41,
        batchId: "batch",
        uniqueKey: null,
        scheduleId: null,
        scheduledFor: null,
        timeout: 1500,
        retries: null,
        owner: null,
        cancelRequested: false,
        createdAt: created,
      });
      expect(await at.sql("select id from punctual_runs")).toEqual([]);
    });

    test.each(finishing)("%s is kept for the given time", async (outcome) => {
      const [none, some, always] = await insert(at.store, {}, {}, {});
      const runs = await claim(at.store);
      const keeps = [0, 1000, null];
      await exchange(at.store, {
        settle: runs.map((run, n) => settlement(run, outcome, { keep: keeps[n]!, error: "why" })),
      });
      const prune = async () => {
        const request = { finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 100 };
        return (await at.store.prune(request)).history;
      };
      expect(await at.store.find(none!)).toBeNull();
      expect(await at.store.attempts(none!)).toEqual([]);
      await at.clock.advance("999ms");
      expect(await prune()).toBe(0);
      expect(await at.store.find(some!)).not.toBeNull();
      await at.clock.advance("1ms");
      expect(await prune()).toBe(1);
      expect(await at.store.find(some!)).toBeNull();
      await at.clock.advance("300 days");
      expect(await prune()).toBe(0);
      expect(await at.store.find(always!)).not.toBeNull();
    });

    test.each(waiting)("%s without a delay is ready at its old position", async (outcome) => {
      const [id] = await insert(at.store, {}, {});
      const run = await claimOne(at.store);
      await at.clock.advance(5);
      await settle(at.store, run, outcome);
      expect(await at.store.find(id!)).toMatchObject({
        state: "ready",
        runAt: run.runAt,
        worker: null,
        lockedUntil: null,
        startedAt: null,
      });
      expect((await claimOne(at.store)).id).toBe(id);
    });

    test.each(["retried", "snoozed"] as const)("%s with a delay is scheduled from now", async (outcome) => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      await at.clock.advance(5);
      const due = at.clock.now() + 3000;
      await settle(at.store, run, outcome, { delay: 3000 });
      expect(await at.store.find(id)).toMatchObject({
        state: "scheduled",
        runAt: due,
        worker: null,
        lockedUntil: null,
      });
      await at.clock.advance("2999ms");
      expect(await claim(at.store)).toEqual([]);
      await at.clock.advance("1ms");
      expect(await claimOne(at.store)).toMatchObject({ id, runAt: due });
    });

    test.each(waiting)(
      "%s: the next attempt has another number, which counts or does not",
      async (outcome) => {
        const id = await insertOne(at.store);
        await settle(at.store, await claimOne(at.store), outcome, { executed: true });
        expect((await found(at.store, id)).attempts).toBe(1);
        const uncounted = outcomeRules[outcome].counts ? 0 : 1;
        expect(await claimOne(at.store)).toMatchObject({ attempts: 2, uncounted });
      },
    );

    test("released before its handler was called: the next attempt has the same number", async () => {
      const id = await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "released");
      expect((await found(at.store, id)).attempts).toBe(0);
      expect(await claimOne(at.store)).toMatchObject({ attempts: 1, uncounted: 0 });
    });

    test("a run that is tried again keeps its number of uncounted attempts", async () => {
      const id = await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "snoozed");
      await settle(at.store, await claimOne(at.store), "failed");
      await at.store.revive(id);
      expect(await claimOne(at.store)).toMatchObject({ attempts: 3, uncounted: 1 });
    });

    test.each(waiting)("%s: a run that was cancelled meanwhile ends, and is kept", async (outcome) => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      expect(await at.store.cancel(id, null)).toBe("requested");
      expect(await settle(at.store, run, outcome, { error: "why", delay: 1000, keep: 1000 })).toBe(
        "cancelled",
      );
      expect(await found(at.store, id)).toMatchObject({ state: "cancelled", attempts: 1, error: null });
      expect(await claim(at.store)).toEqual([]);
    });

    test.each(outcomes)("%s keeps its error with the attempt, or not", async (outcome) => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { worker: "w7" });
      await at.clock.advance(3);
      const now = at.clock.now();
      await settle(at.store, run, outcome, { error: "why", duration: 20 });
      const kept = { attempt: 1, outcome, worker: "w7", startedAt: now - 20, finishedAt: now, error: "why" };
      expect(await at.store.attempts(id)).toEqual(outcomeRules[outcome].recorded ? [kept] : []);
    });

    test("released after its handler was called: the attempt is kept, with what interrupted it", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { worker: "w7" });
      await at.clock.advance(3);
      const now = at.clock.now();
      await settle(at.store, run, "released", { executed: true, error: "a shutdown", duration: 20 });
      expect(await at.store.attempts(id)).toEqual([
        {
          attempt: 1,
          outcome: "released",
          worker: "w7",
          startedAt: now - 20,
          finishedAt: now,
          error: "a shutdown",
        },
      ]);
    });

    test("released after its handler was called, and cancelled meanwhile: the run itself has the attempt", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      await at.store.cancel(id, null);
      await settle(at.store, run, "released", { executed: true, error: "a shutdown" });
      expect(await found(at.store, id)).toMatchObject({ state: "cancelled", attempts: 1 });
      expect(await at.store.attempts(id)).toEqual([]);
    });

    test("attempts are kept in order, also those of a run that completed later", async () => {
      const id = await insertOne(at.store);
      for (const error of ["first", "second"]) {
        await settle(at.store, await claimOne(at.store), "retried", { error });
      }
      await settle(at.store, await claimOne(at.store), "snoozed");
      await settle(at.store, await claimOne(at.store), "completed");
      expect(await at.store.find(id)).toMatchObject({ state: "completed", attempts: 4 });
      expect(await at.store.attempts(id)).toMatchObject([
        { attempt: 1, error: "first" },
        { attempt: 2, error: "second" },
      ]);
    });

    test.each(finishing)("%s deletes the attempts of a run that is not kept", async (outcome) => {
      const id = await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "retried", { error: "first" });
      await settle(at.store, await claimOne(at.store), outcome, { keep: 0, error: "last" });
      expect(await at.store.find(id)).toBeNull();
      expect(await at.store.attempts(id)).toEqual([]);
    });

    test("texts are returned unchanged", async () => {
      const [done, failed] = await insert(at.store, {}, {});
      const [one, two] = await claim(at.store);
      await exchange(at.store, {
        settle: [
          settlement(one!, "completed", { result: TEXT }),
          settlement(two!, "failed", { error: TEXT, fingerprint: "🕰️" }),
        ],
      });
      expect((await found(at.store, done!)).result).toBe(TEXT);
      expect(await at.store.find(failed!)).toMatchObject({ error: TEXT, fingerprint: "🕰️", result: null });
      expect(await at.store.attempts(failed!)).toMatchObject([{ error: TEXT }]);
    });

    test("an outcome with an error of a megabyte is written", async () => {
      const id = await insertOne(at.store);
      const error = "x".repeat(1024 * 1024);
      expect(await settle(at.store, await claimOne(at.store), "failed", { error })).toBe(true);
      expect((await found(at.store, id)).error).toBe(error);
    });

    test("a group of all outcomes settles each run by its own", async () => {
      const inserted = await insert(at.store, ...times(70, () => ({})));
      const claimed = [
        ...(await claim(at.store, { limit: 30 })),
        ...(await claim(at.store, { limit: 40, worker: "w2" })),
      ];
      const settlements = claimed.map((run, n) =>
        settlement(run, outcomes[n % outcomes.length]!, {
          result: `[${n}]`,
          error: `error ${n}`,
          duration: n,
          keep: n % 2 ? null : 1000,
        }),
      );
      const lost = settlement({ id: inserted[0]!, token: "other" }, "completed");
      const { settled } = await exchange(at.store, { settle: [lost, ...settlements, lost] });
      expect(settled).toEqual([false, ...settlements.map(() => true), false]);
      for (const [n, id] of inserted.entries()) {
        const outcome = outcomes[n % outcomes.length]!;
        const run = await found(at.store, id);
        expect(transitions.running[outcome]).toContain(run.state);
        if (!isFinished(run.state)) continue;
        expect(run.startedAt).toBe(at.clock.now() - n);
        if (outcome === "completed") expect(run.result).toBe(`[${n}]`);
        if (outcome === "failed") expect(run.error).toBe(`error ${n}`);
      }
    });

    test("a run that is twice in a group is settled once", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      const { settled } = await exchange(at.store, {
        settle: [
          settlement(run, "failed", { error: "first" }),
          settlement(run, "retried", { error: "second" }),
        ],
      });
      expect(settled).toEqual([true, false]);
      expect(await at.store.find(id)).toMatchObject({ state: "failed", error: "first" });
      expect(await at.store.attempts(id)).toHaveLength(1);
    });
  });
}
