import type { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { Punctual, type RunContext } from "../../../src/index.ts";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimOne,
  found,
  ids,
  insertOne,
  list,
  newRun,
  reap,
  settlement,
} from "../support/requests.ts";
import { everythingOf } from "../support/rows.ts";
import type { Database } from "../support/stores.ts";

export function transactions(database: Database): void {
  describe("the caller's own transaction", () => {
    const at = fresh(database);
    const runs = () => [
      newRun({ args: "[1]" }),
      newRun({ args: "[2]", unique: { key: "once", until: "finished", for: 0 } }),
      newRun({ args: "[3]" }),
    ];

    test("inserts the runs when it commits", async () => {
      const { tx, commit } = await at.begin();
      const inserted = await at.store.insert(runs(), tx);
      expect(inserted.every((one) => one.inserted)).toBe(true);
      expect(await list(at.store, { limit: 10 })).toEqual([]);
      await commit();
      const claimed = await claim(at.store);
      expect(ids(claimed)).toEqual(ids(inserted));
      expect(claimed.map(({ args }) => args)).toEqual(["[1]", "[2]", "[3]"]);
    });

    test("inserts no run when it rolls back", async () => {
      const { tx, rollback } = await at.begin();
      await at.store.insert(runs(), tx);
      await rollback();
      expect(await list(at.store, { limit: 10 })).toEqual([]);
      expect(await claim(at.store)).toEqual([]);
      const [again] = await at.store.insert([newRun({ unique: { key: "once", until: "finished", for: 0 } })]);
      expect(again!.inserted).toBe(true);
    });

    test.each(["read committed", "repeatable read", "serializable"])(
      "works at the isolation level %s",
      async (level) => {
        const { tx, commit } = await at.begin(level);
        const inserted = await at.store.insert(runs(), tx);
        await commit();
        expect(ids(await claim(at.store))).toEqual(ids(inserted));
      },
    );

    test("sees a unique key that is held outside", async () => {
      const unique = { key: "once", until: "finished" as const, for: 0 };
      const id = await insertOne(at.store, { unique });
      const { tx, commit } = await at.begin();
      expect(await at.store.insert([newRun({ unique })], tx)).toEqual([{ id, inserted: false }]);
      await commit();
    });

    test("is refused if it is on another database", async () => {
      for (const { what, tx, code } of await at.wrongHandles()) {
        await expect(at.store.insert([newRun()], tx), what).rejects.toMatchObject({ code });
      }
      expect(await list(at.store, { limit: 10 })).toEqual([]);
    });
  });

  describe("a transaction with a settlement", () => {
    const at = fresh(database);

    test("writes the work and the outcome together", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      const done = await at.store.transaction(settlement(run, "completed", { result: "[1]" }), (tx) => {
        const child = at.store.insert([newRun({ name: "child" })], tx);
        // On SQLite the work is synchronous, and the insert is done when it returns.
        return at.store.database === "sqlite" ? undefined : child;
      });
      expect(done).toBe(true);
      expect(await found(at.store, id)).toMatchObject({ state: "completed", result: "[1]" });
      expect(await list(at.store, { name: "child", limit: 10 })).toHaveLength(1);
    });

    test("writes neither when the work throws", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { start: 0 });
      const before = await everythingOf(at, id);
      let child: Promise<unknown> | undefined;
      const work = (tx: unknown) => {
        child = at.store.insert([newRun({ name: "child" })], tx);
        child.catch(() => {});
        throw new Error("no");
      };
      await expect(at.store.transaction(settlement(run, "completed"), work)).rejects.toThrow("no");
      // A statement that was not awaited arrives after the end of the transaction, and must be refused.
      await child!.catch((error) => expect(error).toMatchObject({ code: "NOT_IN_TRANSACTION" }));
      expect(await everythingOf(at, id)).toEqual(before);
      expect(await list(at.store, { name: "child", limit: 10 })).toEqual([]);
      expect(await at.store.transaction(settlement(run, "completed"), () => {})).toBe(true);
    });

    test("can have its lease prolonged while it is open, and a rollback keeps that", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 1000 });
      const other = await at.another();
      let renewing: ReturnType<typeof other.renew> | undefined;
      const work = () => {
        renewing = at.clock.advance("900ms").then(() => other.renew("w1", [{ ...run, lease: 1000 }]));
        // On SQLite the work is synchronous, and no other connection can write before it has returned.
        if (at.store.database === "sqlite") throw new Error("no");
        return renewing.then(() => {
          throw new Error("no");
        });
      };
      await expect(at.store.transaction(settlement(run, "completed"), work)).rejects.toThrow("no");
      expect([...(await renewing!).held]).toEqual([id]);
      await at.clock.advance("900ms");
      expect(await reap(other)).toEqual([]);
      expect(await found(at.store, id)).toMatchObject({ state: "running", crashes: 0 });
      expect(await at.store.transaction(settlement(run, "completed"), () => {})).toBe(true);
    });

    test("writes nothing if the lease is lost while it is open", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 1000 });
      const other = await at.another();
      const work = async (tx: unknown) => {
        await at.store.insert([newRun({ name: "child" })], tx);
        await at.clock.advance("1001ms");
        expect(await reap(other)).toMatchObject([{ id, state: "ready" }]);
        await claimOne(other, { worker: "w2" });
      };
      const takenHere = (tx: DatabaseSync) => {
        void at.store.insert([newRun({ name: "child" })], tx);
        tx.exec(`update punctual_runs set lease_token = 'another'`);
      };
      const inside = at.store.database === "sqlite" ? takenHere : work;
      const done = at.store.transaction(settlement(run, "completed"), inside as (tx: unknown) => unknown);
      expect(await done).toBe(false);
      expect((await found(at.store, id)).worker).not.toBeNull();
      expect(await list(at.store, { name: "child", limit: 10 })).toEqual([]);
    });

    test("does not prevent a cancellation request", async () => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      const other = await at.another();
      let cancelling: ReturnType<typeof other.cancel> | undefined;
      const work = () => {
        cancelling = other.cancel(id, null);
        if (at.store.database === "sqlite") throw new Error("no");
        return cancelling.then(() => {
          throw new Error("no");
        });
      };
      await expect(at.store.transaction(settlement(run, "completed"), work)).rejects.toThrow("no");
      expect(await cancelling).toBe("requested");
    });
  });

  describe("run.transaction()", () => {
    const at = fresh(database);
    const isSqlite = database.name === "sqlite";

    /** Executes one run whose handler does this, and returns its record and the children that it dispatched. */
    const execute = async (act: (run: RunContext, write: (tx: unknown) => unknown) => Promise<unknown>) => {
      const jobs = new Punctual(at.url, { clock: at.clock, logger: false });
      try {
        const write = (tx: unknown) => {
          const child = at.store.insert([newRun({ name: "child" })], tx);
          // On SQLite the function is synchronous, and the insert is done when it returns.
          return isSqlite ? void child.catch(() => {}) : child;
        };
        jobs.define("task", (_args: object, run) => act(run, write));
        const { id } = await jobs.dispatch("task");
        await jobs.run();
        const children = await list(at.store, { name: "child", limit: 10 });
        return { ...(await found(at.store, id)), children: children.length };
      } finally {
        await jobs.stop();
      }
    };

    /** Calls `code` behind `first`, at once if that is no promise. */
    const followed = (first: unknown, code: () => void) =>
      first instanceof Promise || typeof (first as { then?: unknown })?.then === "function"
        ? (first as Promise<unknown>).then(code)
        : code();

    test("writes nothing if the handler has snoozed in it, even if it catches that", async () => {
      const run = await execute((context, write) =>
        context.transaction((tx) =>
          followed(write(tx), () => {
            try {
              context.snooze("10m");
            } catch {}
          }),
        ),
      );
      expect(run).toMatchObject({ state: "scheduled", attempts: 1, children: 0 });
    });

    test("writes nothing if the handler has discarded before it, even if it catches that", async () => {
      const run = await execute(async (context, write) => {
        try {
          context.discard("nothing to do");
        } catch {}
        await context.transaction(write).catch(() => {});
      });
      expect(run).toMatchObject({ state: "cancelled", children: 0 });
    });

    test("is refused a second time, after the commit and while the first is open", async () => {
      const codes: unknown[] = [];
      const refused = (error: { code?: unknown }) => void codes.push(error.code);
      const run = await execute(async (context, write) => {
        const first = context.transaction(write);
        const second = context.transaction(write).catch(refused);
        await Promise.all([first, second]);
        await context.transaction(write).catch(refused);
        expect(context.signal.aborted).toBe(false);
      });
      expect(codes).toEqual(["TRANSACTION_REPEATED", "TRANSACTION_REPEATED"]);
      expect(run).toMatchObject({ state: "completed", attempts: 1, children: 1 });
    });

    test("may be called again after it was rolled back", async () => {
      const run = await execute(async (context, write) => {
        const thrown = context.transaction((tx) =>
          followed(write(tx), () => {
            throw new Error("conflict");
          }),
        );
        await expect(thrown).rejects.toThrow("conflict");
        await context.transaction(write);
      });
      expect(run).toMatchObject({ state: "completed", attempts: 1, children: 1 });
    });
  });
}
