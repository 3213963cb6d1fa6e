import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import {
  cap,
  claim,
  claimOne,
  exchange,
  found,
  insert,
  insertOne,
  reap,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Writes of a worker whose runs are in child processes. */
export function children(database: Database): void {
  describe("child processes", () => {
    const at = fresh(database);
    const takeBack = (leases: { id: number; token: string }[], crashCap = 3) =>
      at.store.takeBack(leases, cap(crashCap), "its child ended", null);

    test("the row of a run names its child, whether the run started at the claim or later", async () => {
      const [one, two, three] = await insert(at.store, {}, {}, {});
      const runs = await claim(at.store, { start: 1 });
      await exchange(at.store, {
        started: [
          { ...runs[0]!, child: "1:100" },
          { ...runs[1]!, child: "2:200" },
        ],
      });
      await at.store.start({ ...runs[2]!, child: "3:300" }, false);
      expect((await found(at.store, one!)).child).toBe("1:100");
      expect((await found(at.store, two!)).child).toBe("2:200");
      expect((await found(at.store, three!)).child).toBe("3:300");
    });

    test("history names the child of the settlement, or else the one of the row", async () => {
      await insert(at.store, {}, {}, {});
      const runs = await claim(at.store);
      await exchange(at.store, { started: [{ ...runs[1]!, child: "2:200" }] });
      await exchange(at.store, {
        settle: [
          settlement(runs[0]!, "completed", { child: "1:100" }),
          settlement(runs[1]!, "completed"),
          settlement(runs[2]!, "failed", { error: "x" }),
        ],
      });
      const records = await Promise.all(runs.map(({ id }) => found(at.store, id)));
      expect(records.map(({ child }) => child)).toEqual(["1:100", "2:200", null]);
    });

    test("a run that waits again has no child", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      await at.store.start({ ...run, child: "1:100" }, false);
      await settle(at.store, run, "retried", { error: "x" });
      expect(await found(at.store, id)).toMatchObject({ state: "ready", child: null, worker: null });
    });

    test("progress leaves the child as it is", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      await at.store.start({ ...run, child: "1:100" }, false);
      await at.store.progress({ id, token: run.token }, "50");
      expect(await found(at.store, id)).toMatchObject({ child: "1:100", progress: "50" });
    });

    test("runs that were lost with a child are taken back before their leases end, each charged with a crash", async () => {
      await insert(at.store, {}, {}, {});
      const runs = await claim(at.store, { worker: "w7" });
      const claimedAt = at.clock.now();
      await at.clock.advance(5);
      const taken = await takeBack(runs.slice(0, 2));
      expect(taken.sort((a, b) => a.id - b.id)).toMatchObject(
        runs.slice(0, 2).map(({ id }) => ({ id, name: "job", worker: "w7", state: "ready", crashed: true })),
      );
      expect(await found(at.store, runs[0]!.id)).toMatchObject({
        state: "ready",
        runAt: runs[0]!.runAt,
        attempts: 1,
        crashes: 1,
        worker: null,
        lockedUntil: null,
        startedAt: null,
      });
      expect(await at.store.attempts(runs[0]!.id)).toEqual([
        {
          attempt: 1,
          outcome: "crashed",
          worker: "w7",
          startedAt: claimedAt,
          finishedAt: at.clock.now(),
          error: "its child ended",
        },
      ]);
      expect(await found(at.store, runs[2]!.id)).toMatchObject({ state: "running", crashes: 0 });
      expect(await settle(at.store, runs[2]!, "completed")).toBe(true);
    });

    test("a prefetched run is charged too, once its start was reported", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { start: 0 });
      expect(await takeBack([run])).toMatchObject([{ id, state: "ready", crashed: true }]);
      expect(await found(at.store, id)).toMatchObject({ attempts: 1, crashes: 1 });
    });

    test("a run that has crashed as often as the cap ends", async () => {
      const id = await insertOne(at.store);
      for (const state of ["ready", "ready", "failed"] as const) {
        const run = await claimOne(at.store);
        expect(await takeBack([run])).toMatchObject([{ id, state }]);
      }
      expect(await found(at.store, id)).toMatchObject({
        state: "failed",
        attempts: 3,
        crashes: 3,
        error: "its child ended",
        fingerprint: "crashed",
      });
      expect(await at.store.attempts(id)).toHaveLength(3);
    });

    test("a run with a cancellation request is cancelled", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      await at.store.cancel(id, null);
      expect(await takeBack([run])).toMatchObject([{ id, state: "cancelled", crashed: true }]);
      expect((await found(at.store, id)).state).toBe("cancelled");
    });

    test("leases that are no longer held are ignored, and the others are taken back", async () => {
      await insert(at.store, {}, {});
      const [held, completed] = await claim(at.store);
      await settle(at.store, completed!, "completed");
      const taken = await takeBack([
        completed!,
        { ...held!, token: "somebody else's" },
        { id: 999_999, token: held!.token },
      ]);
      expect(taken).toEqual([]);
      expect((await found(at.store, held!.id)).state).toBe("running");
      expect(await takeBack([completed!, held!])).toMatchObject([{ id: held!.id }]);
      expect((await found(at.store, completed!.id)).state).toBe("completed");
    });

    test("a lease that has ended and that no worker has reaped is taken back", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 1000 });
      await at.clock.advance(60);
      expect(await takeBack([run])).toMatchObject([{ id, state: "ready" }]);
      expect(await reap(at.store)).toEqual([]);
    });

    test("hundreds of runs are taken back at once, and none", async () => {
      const ids = await insert(at.store, ...times(300, () => ({})));
      const runs = await claim(at.store, { limit: 300 });
      expect(await takeBack(runs)).toHaveLength(300);
      expect(await takeBack([])).toEqual([]);
      expect(await claim(at.store, { limit: 300 })).toHaveLength(ids.length);
    });
  });
}
