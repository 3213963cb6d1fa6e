import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { temporaryFolder } from "./support/child.ts";
import { heard, open } from "./support/instance.ts";

function scene(where: "memory" | "file" = "memory") {
  const db = new DatabaseSync(where === "memory" ? ":memory:" : join(temporaryFolder(), "app.db"));
  db.exec("create table orders (id integer)");
  const count = () => (db.prepare("select count(*) as n from orders").get() as { n: number }).n;
  return { ...open({}, db), db, count };
}

const write = (tx: DatabaseSync) => tx.exec("insert into orders values (1)");

describe.each(["memory", "file"] as const)("run.transaction(), %s", (where) => {
  test("commits writes and completion together", async () => {
    const { jobs, count } = scene(where);
    const states: unknown[] = [];
    jobs.schedule("task", async (_args, run) => {
      await run.transaction((tx) => {
        write(tx);
        states.push(tx.isTransaction);
      });
      states.push(await jobs.state(run.id));
    });
    const run = await jobs.dispatch("task");
    const completed = heard(jobs, "run.completed");
    expect(await jobs.run()).toBe(1);
    expect(states).toEqual([true, "completed"]);
    expect(count()).toBe(1);
    expect(await completed).toMatchObject({ id: run.id, name: "task" });
    expect(await jobs.find(run.id)).toMatchObject({ state: "completed", attempts: 1 });
    expect((await jobs.status()).jobs[0]).toMatchObject({ running: 0, fails: 0 });
  });

  test("writes neither if the lease is lost, and rejects", async () => {
    const { jobs, db, count } = scene(where);
    let code: unknown;
    jobs.schedule("task", async (_args, run) => {
      db.exec("update punctual_runs set lease_token = 'another'");
      await run.transaction(write).catch((error) => {
        code = [error.code, run.signal.aborted, (run.signal.reason as { code: string }).code];
      });
    });
    const run = await jobs.dispatch("task");
    const lost = heard(jobs, "run.lost");
    await jobs.run();
    expect(code).toEqual(["LEASE_LOST", true, "LEASE_LOST"]);
    expect(await lost).toEqual({ id: run.id, name: "task", queue: "default", attempt: 1, reason: "lease" });
    expect(count()).toBe(0);
    expect(await run.state()).toBe("running");
  });

  test("of a function that throws rolls back, and the attempt fails", async () => {
    const { jobs, count } = scene(where);
    jobs
      .schedule("task", (_args, run) =>
        run.transaction((tx) => {
          write(tx);
          throw new Error("half way");
        }),
      )
      .retries({ max: 2, base: 0 });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(count()).toBe(0);
    expect(await jobs.find(run.id)).toMatchObject({
      state: "failed",
      attempts: 2,
      error: { message: "half way" },
    });
  });

  test("may be followed by other work if the handler catches the error", async () => {
    const { jobs, count } = scene(where);
    jobs.schedule("task", async (_args, run) => {
      await run
        .transaction(() => {
          throw new Error("conflict");
        })
        .catch(() => {});
      return "without";
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(await run.wait()).toBe("without");
    expect(count()).toBe(0);
  });

  test("refuses an async function before it is called", async () => {
    const { jobs, count } = scene(where);
    let called = false;
    jobs.schedule("task", (_args, run) =>
      run.transaction(async (tx) => {
        called = true;
        write(tx);
      }),
    );
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect([called, count()]).toEqual([false, 0]);
    expect((await jobs.find(run.id))?.error).toMatchObject({
      code: "TRANSACTION_NOT_SYNC",
      message: expect.stringContaining("Nothing was written. Do asynchronous work before run.transaction()"),
    });
  });

  test("of a function that returns a promise writes nothing, neither before nor after its first await", async () => {
    const { jobs, count } = scene(where);
    const late: string[] = [];
    const unhandled: unknown[] = [];
    const listener = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", listener);
    jobs.schedule("task", (_args, run) =>
      run.transaction((tx) => {
        write(tx);
        const statement = tx.prepare("insert into orders values (?)");
        const writeLater = async () => {
          await null;
          for (const use of [
            () => write(tx),
            () => statement.run(2),
            () => tx.prepare("insert into orders values (3)"),
          ]) {
            try {
              use();
              late.push("written");
            } catch (error) {
              late.push((error as { code: string }).code);
            }
          }
          await new Promise((resolve) => setImmediate(resolve));
          throw new Error("late");
        };
        return writeLater();
      }),
    );
    const run = await jobs.dispatch("task");
    await jobs.run();
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", listener);
    expect(count()).toBe(0);
    expect(late).toEqual(Array(3).fill("NOT_IN_TRANSACTION"));
    expect(unhandled).toEqual([]);
    expect(await jobs.find(run.id)).toMatchObject({
      state: "failed",
      error: { code: "TRANSACTION_NOT_SYNC" },
    });
  });

  test("is not called after the handler has ended its attempt, even if it catches that", async () => {
    const { jobs } = scene(where);
    const called: string[] = [];
    jobs.schedule("task", async (_args, run) => {
      try {
        run.snooze("10m");
      } catch {}
      await run.transaction(() => called.push("function")).catch((error) => called.push(error.message));
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(called).toEqual(["The handler ended its attempt: snoozed."]);
    expect(await run.state()).toBe("scheduled");
  });

  test("lends a handle with statements, iterators and rows as the database has them", async () => {
    const { jobs, db } = scene(where);
    jobs.schedule("task", (_args, run) =>
      run.transaction((tx) => {
        expect(tx).toBeInstanceOf(DatabaseSync);
        expect(tx.location()).toBe(db.location());
        expect(tx.prepare("insert into orders values (?)").run(7).changes).toBe(1);
        const all = tx.prepare("select id from orders");
        expect(all.all()).toEqual([{ id: 7 }]);
        expect(all.get()).toEqual({ id: 7 });
        expect([...all.iterate()]).toEqual([{ id: 7 }]);
        expect(tx.prepare("select zeroblob(2) as b").get()).toEqual({ b: new Uint8Array(2) });
      }),
    );
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(await run.state()).toBe("completed");
  });
});

describe("after run.transaction()", () => {
  const later = async (handler: (run: RunContext) => Promise<unknown>) => {
    const one = scene();
    const told: string[] = [];
    one.jobs
      .schedule("task", async (_args, run) => {
        await run.transaction(write);
        await handler(run);
      })
      .retries(3)
      .onSuccess(() => told.push("success"))
      .onError(() => told.push("error"))
      .onAfter(() => told.push("after"));
    const run = await one.jobs.dispatch("task");
    expect(await one.jobs.run()).toBe(1);
    expect(await one.jobs.find(run.id)).toMatchObject({ state: "completed", attempts: 1 });
    expect(one.count()).toBe(1);
    return { ...one, told };
  };

  test("the hooks of a success are called", async () => {
    const { told } = await later(async () => {});
    expect(told).toEqual(["success", "after"]);
  });

  test("the run has completed; an error of the handler is reported", async () => {
    const { told, errors } = await later(async () => {
      throw new Error("too late to fail");
    });
    expect(told).toEqual(["success", "after"]);
    expect(errors.splice(0)).toMatchObject([{ error: { message: "too late to fail" } }]);
  });

  test("a second transaction is refused, and writes nothing", async () => {
    const codes: string[] = [];
    await later((run) => run.transaction(write).catch((error) => codes.push(error.code, error.message)));
    expect(codes).toEqual([
      "TRANSACTION_REPEATED",
      'run.transaction() was called again in run 1 of "task", whose transaction has been committed and has completed the run. Nothing of this call was written. Write everything in one call: its commit completes the run.',
    ]);
  });

  test.each(["snooze", "discard"] as const)(
    "%s() is refused, and the run stays completed",
    async (method) => {
      const { told, errors } = await later(async (run) => run[method]("1m"));
      expect(told).toEqual(["success", "after"]);
      expect(errors.splice(0)).toMatchObject([{ error: { code: "RUN_FINISHED" } }]);
    },
  );

  test("what the handler returns is not kept", async () => {
    const { jobs, errors } = scene();
    jobs.schedule("task", async (_args, run) => {
      await run.transaction(write);
      return new Date();
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect((await jobs.find(run.id))?.result).toBeUndefined();
    expect(errors).toEqual([]);
  });
});

test("a run may dispatch within its own transaction", async () => {
  const { jobs, db } = scene();
  jobs.schedule("child", () => {});
  jobs.schedule("task", async (_args, run) => {
    await run.transaction((tx) => {
      write(tx);
      expect(tx.location()).toBe(db.location());
    });
    await jobs.dispatch("child");
  });
  const run = await jobs.dispatch("task");
  expect(await jobs.run()).toBe(2);
  expect((await jobs.runs({ parent: run.id })).runs).toHaveLength(1);
});
