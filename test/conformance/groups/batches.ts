import { beforeEach, describe, expect, test } from "vitest";
import { Punctual } from "../../../src/index.ts";
import type { FinishedState } from "../../../src/run/states.ts";
import type { BatchCounts, BatchMoment, BatchStatusRecord, NewMembers } from "../../../src/store/batches.ts";
import type { ClaimedRun, Settlement, Store } from "../../../src/store/store.ts";
import { systemClock } from "../../../src/time.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  cap,
  claim,
  claimOne,
  claimRequest,
  exchange,
  found,
  ids,
  insertOne,
  list,
  newRun,
  type RunFields,
  reap,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const MISSING = 999_999;

/** Batches whose last two members end at the same moment. `BATCH_RACES=10000` is a longer proof. */
const RACES = Number(process.env.BATCH_RACES ?? 40);

const DAY = 24 * 3600;

const callback = (on: BatchMoment, name: string = on) => ({
  on,
  run: newRun({ name, args: `{"on":"${on}"}` }),
});
const ALL = [callback("success"), callback("failure"), callback("finish")];

const members = (count: number, fields: RunFields = {}) =>
  times(count, () => newRun({ name: "member", ...fields }));

/** Settles claimed runs as a worker does: with the batch of each. */
async function end(
  store: Store,
  runs: ClaimedRun[],
  outcome: Settlement["outcome"],
  fields: Partial<Settlement> = {},
): Promise<void> {
  const settle = runs.map((run) => settlement(run, outcome, { batchId: run.batchId, ...fields }));
  await exchange(store, { settle });
}

const counts = (fields: Partial<BatchCounts>): BatchCounts => ({
  added: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  skipped: 0,
  ...fields,
});

export function batches(database: Database): void {
  describe("a batch", () => {
    const at = fresh(database);
    beforeEach(() => beat(at.store, "w1"));

    const create = async (count: number, fields: Partial<{ cancels: boolean; seal: boolean }> = {}) => {
      const { cancels = false, seal = true } = fields;
      const { id } = await at.store.batches.create(
        { name: "import – ünïcode", cancels, callbacks: ALL },
        members(count),
        { seal },
      );
      return id;
    };
    const read = async (id: number): Promise<BatchStatusRecord> => (await at.store.batch(id))!;
    const claimMembers = (limit?: number) => claim(at.store, limit === undefined ? {} : { limit });
    /** The callbacks that were dispatched, in order of id. */
    const callbacks = async (): Promise<string[]> => {
      const runs = await list(at.store);
      const names = runs.filter(({ batchId }) => batchId?.includes("/")).map(({ name }) => name);
      return names.reverse();
    };

    test("finishes when its last member has ended, and dispatches its callbacks once", async () => {
      const id = await create(3);
      expect(await read(id)).toMatchObject({
        name: "import – ünïcode",
        cancels: false,
        createdAt: at.clock.now(),
        sealedAt: at.clock.now(),
        finishedAt: null,
        ...counts({ added: 3 }),
      });
      const [last, ...others] = await claimMembers();
      await end(at.store, others, "completed");
      expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 3, completed: 2 }) });
      expect(await callbacks()).toEqual([]);
      await at.clock.advance(1);
      await end(at.store, [last!], "completed");
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        failedAt: null,
        ...counts({ added: 3, completed: 3 }),
      });
      expect(await callbacks()).toEqual(["success", "finish"]);
      await at.store.batches.sweep();
      expect(await callbacks()).toEqual(["success", "finish"]);
    });

    test("dispatches callbacks as they were prepared, with the batch", async () => {
      const id = await create(0);
      const run = (await list(at.store, { name: "success" }))[0]!;
      expect(run).toMatchObject({ state: "ready", args: '{"on":"success"}', batchId: `${id}/success` });
      expect(run).toMatchObject({ createdAt: at.clock.now(), runAt: at.clock.now(), queue: "default" });
      // A job without a row could not be claimed under limits.
      expect(await at.store.jobNames()).toContain("success");
      expect((await claim(at.store)).map(({ name }) => name).sort()).toEqual(["finish", "success"]);
    });

    test("without members finishes at once", async () => {
      const id = await create(0);
      expect(await read(id)).toMatchObject({ finishedAt: at.clock.now(), ...counts({}) });
      expect(await callbacks()).toEqual(["success", "finish"]);
    });

    test("without callbacks finishes as well", async () => {
      const batch = { name: "bare", cancels: false, callbacks: [] };
      const { id } = await at.store.batches.create(batch, members(1), { seal: true });
      await end(at.store, await claimMembers(), "completed");
      expect((await read(id)).finishedAt).not.toBeNull();
    });

    test.each(["completed", "failed", "cancelled", "skipped"] as FinishedState[])(
      "counts members that are %s, whether history keeps them or not",
      async (outcome) => {
        const id = await create(2);
        const [one, two] = await claimMembers();
        await end(at.store, [one!], outcome, { keep: 0 });
        await end(at.store, [two!], outcome);
        expect(await read(id)).toMatchObject(counts({ added: 2, [outcome]: 2 }));
        const expected = { completed: ["success", "finish"], skipped: ["success", "finish"] };
        const failed = outcome === "failed" ? ["failure", "finish"] : ["finish"];
        expect(await callbacks()).toEqual(expected[outcome as "completed"] ?? failed);
      },
    );

    test.each(["retried", "snoozed", "released"] as const)(
      "does not count an attempt that is %s",
      async (outcome) => {
        const id = await create(1);
        await end(at.store, await claimMembers(), outcome, { delay: 0 });
        expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 1 }) });
        await end(at.store, await claimMembers(), "completed");
        expect(await read(id)).toMatchObject(counts({ added: 1, completed: 1 }));
      },
    );

    test("counts different ends in one exchange, of several batches", async () => {
      const one = await create(3);
      const two = await create(2);
      const runs = await claimMembers();
      const outcomes = ["completed", "failed", "skipped", "cancelled", "completed"] as const;
      const settle = runs.map((run, index) => settlement(run, outcomes[index]!, { batchId: run.batchId }));
      await exchange(at.store, { settle });
      expect(await read(one)).toMatchObject(counts({ added: 3, completed: 1, failed: 1, skipped: 1 }));
      expect(await read(two)).toMatchObject(counts({ added: 2, completed: 1, cancelled: 1 }));
      expect(await callbacks()).toEqual(
        expect.arrayContaining(["failure", "finish", "finish"]) as unknown as string[],
      );
    });

    test("counts a settlement once whose answer was lost, and looks at the batch again", async () => {
      const id = await create(1);
      const [run] = await claimMembers();
      const settle = [settlement(run!, "completed", { batchId: run!.batchId, keep: 0 })];
      await exchange(at.store, { seq: 1000, settle });
      // As if the process had not looked after it was committed.
      await at.sql("update punctual_batches set finished_at = null where id = ?", id);
      await at.sql("delete from punctual_runs");
      await exchange(at.store, { seq: 1000, settle, again: true });
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        ...counts({ added: 1, completed: 1 }),
      });
      expect(await callbacks()).toEqual(["success", "finish"]);
    });

    test("does not count a settlement whose lease is lost", async () => {
      const id = await create(2);
      const [run] = await claimMembers(1);
      await end(at.store, [{ ...run!, token: "another" }], "completed");
      expect(await read(id)).toMatchObject(counts({ added: 2 }));
    });

    test("counts a member that its own transaction completes", async () => {
      const id = await create(1);
      const [run] = await claimMembers();
      const settled = settlement(run!, "completed", { batchId: run!.batchId });
      expect(await at.store.transaction(settled, () => {})).toBe(true);
      expect(await read(id)).toMatchObject(counts({ added: 1, completed: 1 }));
      expect(await callbacks()).toEqual(["success", "finish"]);
    });

    test("counts members whose crashes end them", async () => {
      const id = await create(3);
      const [one, two] = await claim(at.store, { limit: 2, lease: 1000 });
      await at.store.start(one!, false);
      await at.store.start(two!, false);
      await at.store.takeBack([one!], cap(1), "crashed", null);
      expect(await read(id)).toMatchObject(counts({ added: 3, failed: 1 }));
      await at.clock.advance(60);
      await reap(at.store, 1);
      expect(await read(id)).toMatchObject(counts({ added: 3, failed: 2 }));
      expect(await callbacks()).toEqual(["failure"]);
    });

    test("counts a crashed member that runs again only once", async () => {
      const id = await create(1);
      await claim(at.store, { lease: 1000 });
      await at.clock.advance(60);
      await reap(at.store);
      expect(await read(id)).toMatchObject(counts({ added: 1 }));
      await end(at.store, await claimMembers(), "completed");
      expect(await read(id)).toMatchObject(counts({ added: 1, completed: 1 }));
    });

    test("counts members that are cancelled or deleted one by one as cancelled", async () => {
      const id = await create(4);
      const [running] = await claimMembers(1);
      const waiting = ids(await list(at.store, { states: ["ready"] })).filter((one) => one !== running!.id);
      expect(await at.store.cancel(waiting[0]!, 0)).toBe("ended");
      expect(await at.store.cancel(waiting[1]!, null)).toBe("ended");
      expect(await at.store.remove(waiting[2]!)).toBe("removed");
      expect(await at.store.cancel(running!.id, null)).toBe("requested");
      expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 4, cancelled: 3 }) });
      expect(await at.store.cancel(running!.id, null, true)).toBe("ended");
      expect(await read(id)).toMatchObject(counts({ added: 4, cancelled: 4 }));
      expect(await callbacks()).toEqual(["finish"]);
      // Finished members were counted when they ended.
      expect(await at.store.remove(waiting[1]!)).toBe("removed");
      expect(await read(id)).toMatchObject(counts({ added: 4, cancelled: 4 }));
    });

    test("counts members of a job that is gone as cancelled when they are pruned", async () => {
      const id = await create(2);
      await at.clock.advance(10 * DAY);
      await at.sql("delete from punctual_jobs where name = ?", "member");
      const request = { finishedFor: null, jobsUnseenFor: 1000, orphansOlderThan: 1000, batch: 1000 };
      expect((await at.store.prune(request)).orphans).toBe(2);
      expect(await read(id)).toMatchObject(counts({ added: 2, cancelled: 2 }));
      expect(await callbacks()).toEqual(["finish"]);
    });

    test("has no member of a run whose unique key is held", async () => {
      const unique = { key: "once", until: "finished", for: 0 } as const;
      await insertOne(at.store, { unique });
      const runs = [
        newRun({ unique }),
        newRun(),
        newRun({ unique: { ...unique, key: "two" } }),
        newRun({ unique: { ...unique, key: "two" } }),
      ];
      const { id, inserted } = await at.store.batches.create(
        { name: "keys", cancels: false, callbacks: ALL },
        runs,
        { seal: true },
      );
      expect(inserted.map((one) => one.inserted)).toEqual([false, true, true, false]);
      expect(await read(id)).toMatchObject(counts({ added: 2 }));
      await end(at.store, await claimMembers(), "completed");
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        ...counts({ added: 2, completed: 2 }),
      });
    });

    test("finishes at once if all keys are held", async () => {
      const unique = { key: "once", until: "finished", for: 0 } as const;
      await insertOne(at.store, { unique });
      const { id } = await at.store.batches.create(
        { name: "keys", cancels: false, callbacks: [] },
        [newRun({ unique })],
        {
          seal: true,
        },
      );
      expect((await read(id)).finishedAt).toBe(at.clock.now());
    });

    describe("that is open", () => {
      const add = (id: number, count: number, options: Partial<NewMembers> = {}) =>
        at.store.batches.add(id, members(count), { seal: false, ...options });

      test("does not finish before it is sealed", async () => {
        const id = await create(1, { seal: false });
        await end(at.store, await claimMembers(), "completed");
        await at.store.batches.sweep();
        expect(await read(id)).toMatchObject({ sealedAt: null, finishedAt: null });
        expect(await add(id, 2)).toHaveLength(2);
        expect(await at.store.batches.seal(id)).toBe(true);
        expect(await at.store.batches.seal(id)).toBe(false);
        expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 3, completed: 1 }) });
        await end(at.store, await claimMembers(), "completed");
        expect(await read(id)).toMatchObject({
          finishedAt: at.clock.now(),
          ...counts({ added: 3, completed: 3 }),
        });
        expect(await callbacks()).toEqual(["success", "finish"]);
      });

      test("finishes when it is sealed after its last member has ended", async () => {
        const id = await create(1, { seal: false });
        await end(at.store, await claimMembers(), "completed");
        await at.store.batches.seal(id);
        expect((await read(id)).finishedAt).toBe(at.clock.now());
        expect(await at.store.batches.seal(MISSING)).toBeNull();
      });

      test("is sealed with its last members", async () => {
        const id = await create(1, { seal: false });
        await add(id, 2, { seal: true });
        expect(await read(id)).toMatchObject({ sealedAt: at.clock.now(), ...counts({ added: 3 }) });
        await end(at.store, await claimMembers(), "completed");
        expect((await read(id)).finishedAt).toBe(at.clock.now());
      });

      test("takes members from outside until it is sealed, and from members until it has finished", async () => {
        const id = await create(1);
        expect(await add(id, 1)).toBe("sealed");
        expect(await list(at.store)).toHaveLength(1);
        const [first] = await claimMembers();
        expect(await add(id, 1, { byMember: true })).toHaveLength(1);
        await end(at.store, [first!], "completed");
        expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 2, completed: 1 }) });
        await end(at.store, await claimMembers(), "completed");
        expect(await read(id)).toMatchObject(counts({ added: 2, completed: 2 }));
        expect(await add(id, 1, { byMember: true })).toBe("finished");
        expect(await add(MISSING, 1)).toBeNull();
        expect(await list(at.store, { states: ["ready"], name: "member" })).toEqual([]);
      });

      test("shows its first failure before it is sealed", async () => {
        const id = await create(2, { seal: false });
        await end(at.store, await claimMembers(1), "failed");
        expect(await read(id)).toMatchObject({ failedAt: at.clock.now(), finishedAt: null });
        await end(at.store, await claim(at.store, { exclude: ["failure"] }), "failed");
        expect(await callbacks()).toEqual(["failure"]);
      });

      test("finishes once if members are added while it is sealed", async () => {
        const other = await at.another({ clock: at.clock });
        for (let round = 0; round < 20; round++) {
          const id = await create(0, { seal: false });
          const adding = times(4, (n) =>
            (n % 2 ? other : at.store).batches.add(id, members(1), { seal: false }),
          );
          const answers = await Promise.all([...adding, at.store.batches.seal(id)]);
          const added = answers.filter((one) => Array.isArray(one)).length;
          const runs = await claimMembers();
          const mine = runs.filter(({ batchId }) => batchId === String(id));
          expect(mine).toHaveLength(added);
          await end(at.store, runs, "completed", { keep: 0 });
          expect(await read(id)).toMatchObject({
            finishedAt: at.clock.now(),
            ...counts({ added, completed: added }),
          });
        }
        expect((await callbacks()).filter((name) => name === "finish").length).toBeLessThanOrEqual(20);
      });
    });

    test("is not sealed while a transaction adds members that is not committed", async () => {
      const id = await create(0, { seal: false });
      const { tx, commit } = await at.begin();
      await at.store.batches.add(id, members(2), { seal: false }, tx);
      const sealing = at.store.batches.seal(id);
      // Others that begin later are sealed meanwhile. On SQLite nobody writes beside an open transaction.
      for (let n = 0; n < 3 && database.name !== "sqlite"; n++)
        await at.store.batches.seal(await create(0, { seal: false }));
      await commit();
      await sealing;
      expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 2 }) });
    });

    test(
      "finishes once if its last members end at the same time",
      async () => {
        const other = await at.another({ clock: at.clock });
        for (let round = 0; round < RACES; round++) {
          const { id } = await at.store.batches.create(
            { name: "pair", cancels: false, callbacks: [callback("finish", `finish-${round}`)] },
            members(2),
            { seal: true },
          );
          const [one, two] = await claim(at.store);
          await Promise.all([
            exchange(at.store, {
              settle: [settlement(one!, "completed", { batchId: one!.batchId, keep: 0 })],
            }),
            exchange(other, {
              worker: "w2",
              settle: [settlement(two!, "completed", { batchId: two!.batchId, keep: 0 })],
            }),
          ]);
          expect(await read(id)).toMatchObject({
            finishedAt: at.clock.now(),
            ...counts({ added: 2, completed: 2 }),
          });
          const dispatched = await list(at.store, { name: `finish-${round}` });
          expect(dispatched).toHaveLength(1);
          await at.store.remove(dispatched[0]!.id);
        }
      },
      60_000 + RACES * 100,
    );

    test("ends a member after the members that it adds without waiting for them", async () => {
      const jobs = new Punctual(at.url, { clock: at.clock, logger: false });
      const leaf = jobs.define("leaf", () => {});
      const page = jobs.define("page", (_: unknown, run) => {
        void run.batch!.add(leaf.many(times(1000, (n) => n)));
      });
      const batch = await jobs.batch("crawl").add(page);
      await jobs.run({ batch: 1 });
      expect(await batch.status()).toMatchObject({ state: "running", total: 1001, completed: 1 });
      await jobs.stop();
    });

    test("cancels its waiting members, and asks the running ones to end", async () => {
      const id = await create(5);
      const [running] = await claimMembers(1);
      expect(await at.store.batches.cancel(id)).toEqual({ cancelled: 4, requested: [running!.id] });
      expect(await read(id)).toMatchObject({
        cancelledAt: at.clock.now(),
        finishedAt: null,
        ...counts({ added: 5, cancelled: 4 }),
      });
      expect((await exchange(at.store)).cancelled).toEqual([running!.id]);
      await end(at.store, [running!], "cancelled");
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        ...counts({ added: 5, cancelled: 5 }),
      });
      expect(await callbacks()).toEqual(["finish"]);
      expect(await at.store.batches.cancel(id)).toBe("finished");
      expect(await at.store.batches.cancel(MISSING)).toBeNull();
    });

    test("that is cancelled takes no more members, not even from members", async () => {
      const id = await create(1, { seal: false });
      await claimMembers();
      await at.store.batches.cancel(id);
      expect(await at.store.batches.add(id, members(1), { seal: false, byMember: true })).toBe("cancelled");
      expect(await list(at.store, { name: "member" })).toHaveLength(1);
    });

    test("that a dead process has begun to cancel: members that are claimed do not start", async () => {
      const id = await create(6);
      const [before] = await claimMembers(1);
      await at.sql("update punctual_batches set cancelled_at = ? where id = ?", at.clock.now(), id);
      // The first claim of each process learns that the batch is cancelled, and asks its members to end.
      const [first] = await claimMembers(1);
      expect((await exchange(at.store)).cancelled).toEqual([first!.id]);
      const { claimed, cancelled } = await exchange(at.store, { claim: claimRequest({ limit: 2 }) });
      expect(cancelled.toSorted((a, b) => a - b)).toEqual([first!.id, ...ids(claimed)]);
      await end(at.store, [before!, first!, ...claimed], "cancelled");
      // A retry removes the mark, also one of another process.
      await (await at.another({ clock: at.clock })).batches.retry(id);
      expect(await read(id)).toMatchObject({ cancelledAt: null, finishedAt: null });
      const again = await exchange(at.store, { claim: claimRequest() });
      expect(again.claimed).toHaveLength(6);
      expect(again.cancelled).toEqual([]);
      expect((await exchange(at.store)).cancelled).toEqual([]);
    });

    test("is cancelled further by the sweep if the process died that cancelled it", async () => {
      const id = await create(3);
      await at.sql("update punctual_batches set cancelled_at = 1 where id = ?", id);
      await at.store.batches.sweep();
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        ...counts({ added: 3, cancelled: 3 }),
      });
    });

    test("whose first failure cancels the rest cancels it, once", async () => {
      const id = await create(4, { cancels: true });
      const [failing, running] = await claimMembers(2);
      await end(at.store, [failing!], "failed");
      expect(await read(id)).toMatchObject({
        failedAt: at.clock.now(),
        cancelledAt: at.clock.now(),
        finishedAt: null,
        ...counts({ added: 4, failed: 1, cancelled: 2 }),
      });
      expect((await found(at.store, running!.id)).cancelRequested).toBe(true);
      await end(at.store, [running!], "cancelled");
      expect(await callbacks()).toEqual(["failure", "finish"]);
    });

    test("that continues runs all members in spite of failures", async () => {
      const id = await create(3);
      const [one, two, three] = await claimMembers();
      await end(at.store, [one!], "failed");
      await end(at.store, [two!], "failed");
      await end(at.store, [three!], "completed");
      expect(await read(id)).toMatchObject(counts({ added: 3, completed: 1, failed: 2 }));
      expect(await callbacks()).toEqual(["failure", "finish"]);
    });

    describe("with a member that is retried", () => {
      test("before the end counts it again, and finishes once", async () => {
        const id = await create(2);
        const [one, two] = await claimMembers();
        await end(at.store, [one!], "skipped");
        expect(await at.store.revive(one!.id)).toBe("revived");
        expect(await read(id)).toMatchObject(counts({ added: 2 }));
        await end(at.store, [two!], "completed");
        expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 2, completed: 1 }) });
        await end(at.store, await claimMembers(), "completed");
        expect(await read(id)).toMatchObject(counts({ added: 2, completed: 2 }));
        expect(await callbacks()).toEqual(["success", "finish"]);
      });

      test("after the end counts it again, without callbacks", async () => {
        const id = await create(2);
        const runs = await claimMembers();
        await end(at.store, runs, "failed");
        expect(await callbacks()).toEqual(["failure", "finish"]);
        expect(await at.store.revive(runs[0]!.id)).toBe("revived");
        expect(await read(id)).toMatchObject(counts({ added: 2, failed: 1 }));
        await end(at.store, await claim(at.store, { exclude: ["failure", "finish"] }), "completed");
        expect(await read(id)).toMatchObject(counts({ added: 2, completed: 1, failed: 1 }));
        await at.store.batches.sweep();
        expect(await callbacks()).toEqual(["failure", "finish"]);
      });
    });

    test("that is retried runs its failed and cancelled members again, with callbacks at the end", async () => {
      const id = await create(4);
      const [one, two, three, four] = await claimMembers();
      await end(at.store, [one!], "completed");
      await end(at.store, [two!], "failed");
      await end(at.store, [three!], "cancelled");
      await end(at.store, [four!], "failed", { keep: 0 });
      expect(await callbacks()).toEqual(["failure", "finish"]);
      expect(await at.store.batches.retry(id)).toBe(2);
      expect(await read(id)).toMatchObject({
        sealedAt: at.clock.now(),
        failedAt: at.clock.now(),
        finishedAt: null,
        ...counts({ added: 4, completed: 1, failed: 1 }),
      });
      const again = (await claimMembers()).filter(({ name }) => name === "member");
      expect(ids(again).sort()).toEqual([two!.id, three!.id].sort());
      await end(at.store, again, "completed");
      // The failed member that history does not have stays failed.
      expect(await read(id)).toMatchObject(counts({ added: 4, completed: 3, failed: 1 }));
      expect((await callbacks()).filter((name) => name === "finish")).toHaveLength(2);
      expect(await at.store.batches.retry(MISSING)).toBeNull();
    });

    test("reports how far its cancelling and retrying is, and both stop when they are asked to", async () => {
      const id = await create(1100);
      const stop = new AbortController();
      const seen: number[] = [];
      const watch = { progress: (done: number) => void seen.push(done), signal: stop.signal };
      stop.abort();
      expect(await at.store.batches.cancel(id, watch)).toEqual({ cancelled: 1000, requested: [] });
      expect(seen.at(-1)).toBe(1000);
      expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 1100, cancelled: 1000 }) });
      await at.store.batches.sweep();
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        ...counts({ added: 1100, cancelled: 1100 }),
      });
      seen.length = 0;
      expect(await at.store.batches.retry(id, watch)).toBe(50);
      expect(seen).toEqual([50]);
      expect(await read(id)).toMatchObject({
        retriedAt: null,
        finishedAt: null,
        ...counts({ added: 1100, cancelled: 1050 }),
      });
    });

    test("finishes before the worker leaves that has ended its last members one after the other", async () => {
      const id = await create(2);
      const runs = await claimMembers();
      // With a real clock: a busy worker looks at its batches ten times a second.
      const store = await at.another({ clock: systemClock });
      for (const run of runs) await end(store, [run], "completed");
      await store.leave("w1");
      expect((await read(id)).finishedAt).not.toBeNull();
    });

    test("that was cancelled does not succeed, although its members were completed", async () => {
      const id = await create(2, { seal: false });
      await end(at.store, await claimMembers(), "completed");
      await at.store.batches.cancel(id);
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        ...counts({ added: 2, completed: 2 }),
      });
      expect(await callbacks()).toEqual(["finish"]);
    });

    test("whose retry dies waits for the members that it has revived, and finishes by a sweep", async () => {
      const id = await create(3);
      const runs = await claimMembers();
      await end(at.store, runs, "failed");
      expect(await callbacks()).toEqual(["failure", "finish"]);
      await at.sql(
        `update punctual_batches set retried_at = ${at.clock.now()}, finished_at = null, keep_until = null`,
      );
      expect(await at.store.revive(runs[0]!.id)).toBe("revived");
      await end(at.store, await claim(at.store, { exclude: ["failure", "finish"] }), "completed");
      await at.store.batches.sweep();
      expect(await callbacks()).toEqual(["failure", "finish"]);
      await at.clock.advance(61);
      await at.store.batches.sweep();
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        retriedAt: null,
        ...counts({ added: 3, completed: 1, failed: 2 }),
      });
      expect(await callbacks()).toEqual(["failure", "finish", "failure", "finish"]);
    });

    test("that has nothing to retry stays finished", async () => {
      const id = await create(1);
      await end(at.store, await claimMembers(), "completed");
      expect(await at.store.batches.retry(id)).toBe(0);
      expect((await read(id)).finishedAt).not.toBeNull();
    });

    describe("with workers of an older version, which do not count", () => {
      const endUncounted = (
        runs: ClaimedRun[],
        outcome: Settlement["outcome"],
        fields: Partial<Settlement> = {},
      ) => end(at.store, runs, outcome, { ...fields, batchId: null });

      test("is finished by the sweep, with the counts of history", async () => {
        const id = await create(4);
        const [one, two, three, four] = await claimMembers();
        await endUncounted([one!], "completed");
        await endUncounted([two!], "failed");
        await end(at.store, [three!], "completed", { keep: 0 });
        await endUncounted([four!], "completed", { keep: 0 });
        expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 4, completed: 1 }) });
        await at.clock.advance(60);
        await at.store.batches.sweep();
        // Nobody knows what became of the members that history does not have.
        expect(await read(id)).toMatchObject({
          finishedAt: at.clock.now(),
          ...counts({ added: 4, completed: 1, failed: 1, cancelled: 2 }),
        });
        expect(await callbacks()).toEqual(["failure", "finish"]);
      });

      test("is not finished while a member is left", async () => {
        const id = await create(2);
        const [one, two] = await claimMembers();
        await endUncounted([one!], "completed");
        await at.clock.advance(50);
        await at.store.batches.sweep();
        expect(await read(id)).toMatchObject({ finishedAt: null, ...counts({ added: 2 }) });
        await end(at.store, [two!], "completed");
        await at.store.batches.sweep();
        expect(await read(id)).toMatchObject(counts({ added: 2, completed: 2 }));
        expect(await callbacks()).toEqual(["success", "finish"]);
      });

      test("is not finished while a member runs again that was not counted back", async () => {
        const id = await create(2);
        const [one, two] = await claimMembers();
        await end(at.store, [one!], "failed");
        await at.store.revive(one!.id);
        // As the older code leaves it: the first end is still counted.
        await at.sql("update punctual_batch_counts set failed = 1 where batch = ? and failed < 0", id);
        await at.sql("update punctual_batch_counts set failed = 0 where batch = ? and who like 't%'", id);
        await end(at.store, [two!], "completed");
        expect((await read(id)).finishedAt).toBeNull();
        await end(
          at.store,
          (await claimMembers()).filter(({ name }) => name === "member"),
          "completed",
        );
        expect(await read(id)).toMatchObject({
          finishedAt: at.clock.now(),
          ...counts({ added: 2, completed: 2 }),
        });
      });
    });

    test("is finished by the sweep if the process died that ended its last member", async () => {
      const id = await create(1);
      const [run] = await claimMembers();
      await end(at.store, [run!], "completed");
      // As if it had not looked.
      await at.sql("update punctual_batches set finished_at = null where id = ?", id);
      await at.sql("delete from punctual_runs");
      await at.store.batches.sweep();
      expect(await read(id)).toMatchObject({
        finishedAt: at.clock.now(),
        ...counts({ added: 1, completed: 1 }),
      });
      expect(await callbacks()).toEqual(["success", "finish"]);
    });

    describe("in the caller's transaction", () => {
      const within = async (count: number, tx: unknown) =>
        at.store.batches.create(
          { name: "tx", cancels: false, callbacks: ALL },
          members(count),
          { seal: true },
          tx,
        );

      test("exists once the caller commits", async () => {
        const { tx, commit } = await at.begin();
        const { id, inserted } = await within(2, tx);
        await commit();
        expect(inserted).toHaveLength(2);
        expect(await read(id)).toMatchObject({ sealedAt: at.clock.now(), ...counts({ added: 2 }) });
        await end(at.store, await claimMembers(), "completed");
        expect(await callbacks()).toEqual(["success", "finish"]);
      });

      test("leaves nothing if the caller rolls back", async () => {
        const { tx, rollback } = await at.begin();
        const { id } = await within(2, tx);
        await rollback();
        expect(await at.store.batch(id)).toBeNull();
        expect(await list(at.store)).toEqual([]);
        for (const table of ["batches", "batch_members", "batch_counts"])
          expect(await at.sql(`select 1 as one from punctual_${table}`)).toEqual([]);
      });

      test("without members finishes soon after the commit", async () => {
        const { tx, commit } = await at.begin();
        const { id } = await within(0, tx);
        await commit();
        await at.clock.advance(1);
        await expect.poll(async () => (await read(id)).finishedAt).not.toBeNull();
        expect(await callbacks()).toEqual(["success", "finish"]);
      });

      test("takes members that count once the caller commits", async () => {
        const id = await create(0, { seal: false });
        const { tx, commit } = await at.begin();
        expect(await at.store.batches.add(id, members(2), { seal: true }, tx)).toHaveLength(2);
        await commit();
        expect(await read(id)).toMatchObject({ sealedAt: at.clock.now(), ...counts({ added: 2 }) });
      });
    });

    test("is listed, the newest first", async () => {
      const one = await create(1);
      const two = await create(0);
      const three = await create(2);
      const page = { limit: 2, before: null, unfinished: false };
      expect(ids(await at.store.listBatches(page))).toEqual([three, two]);
      expect(ids(await at.store.listBatches({ ...page, before: two }))).toEqual([one]);
      expect(ids(await at.store.listBatches({ ...page, unfinished: true }))).toEqual([three, one]);
    });

    test("tells how many members run", async () => {
      const id = await create(3);
      await claim(at.store, { limit: 2, start: 1 });
      expect(await read(id)).toMatchObject({ running: 1, added: 3 });
      expect(await at.store.batch(MISSING)).toBeNull();
    });

    test("is found by its members", async () => {
      const id = await create(2);
      await create(1);
      const where = [{ field: "batch" as const, any: [{ is: String(id) }] }];
      expect((await at.store.search({ where, limit: 10 })).runs).toHaveLength(2);
      await end(at.store, (await claimMembers(1))!, "failed");
      const failed = [...where, { field: "state" as const, any: ["failed" as const] }];
      expect((await at.store.search({ where: failed, limit: 10 })).runs).toHaveLength(1);
      expect(await at.store.count(where, 10)).toEqual({ count: 2, capped: false });
    });

    test("is kept for a week, and as long as its members", async () => {
      const id = await create(2);
      const bare = await create(0);
      const runs = (await claimMembers()).filter(({ name }) => name === "member");
      await end(at.store, runs, "completed", { keep: 9 * DAY * 1000 });
      const prune = () =>
        at.store.prune({ finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 1000 });
      await at.clock.advance(7 * DAY - 1);
      await prune();
      expect(await at.store.batch(bare)).not.toBeNull();
      await at.clock.advance(2);
      await prune();
      expect(await at.store.batch(bare)).toBeNull();
      expect(await at.store.batch(id)).not.toBeNull();
      await at.clock.advance(3 * DAY);
      await prune();
      await prune();
      expect(await at.store.batch(id)).toBeNull();
      expect(await at.sql("select 1 as one from punctual_batch_members")).toEqual([]);
    });

    test("is kept while a single member runs again", async () => {
      const id = await create(1);
      const runs = await claimMembers(1);
      await end(at.store, runs!, "failed");
      await at.store.revive(runs![0]!.id);
      await at.clock.advance(8 * DAY);
      await at.store.prune({ finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 1000 });
      expect(await at.store.batch(id)).not.toBeNull();
    });

    test("is inserted as a whole or not at all", async () => {
      const runs = [...members(2), newRun({ name: "member", args: "x".repeat(10), priority: 2 ** 40 })];
      const batch = { name: "bad", cancels: false, callbacks: [] };
      const creating = at.store.batches.create(batch, runs, { seal: true });
      if (database.name === "sqlite") {
        // SQLite stores any integer.
        await creating;
        return;
      }
      await expect(creating).rejects.toMatchObject({ code: "DATA_REJECTED" });
      expect(await list(at.store)).toEqual([]);
      expect(await at.store.listBatches({ limit: 10, before: null, unfinished: false })).toEqual([]);
    });

    test("has members and callbacks that a claim takes like any run", async () => {
      await create(1);
      const { claimed } = await exchange(at.store, { claim: claimRequest() });
      const settle = claimed.map((run) => settlement(run, "completed", { batchId: run.batchId }));
      // The exchange that ends the last member claims the callbacks, if there is nothing else to do.
      const next = await exchange(at.store, { settle, claim: claimRequest() });
      expect(next.claimed.map(({ name }) => name).sort()).toEqual(["finish", "success"]);
      await claimOne(at.store).catch(() => {});
    });
  });
}
