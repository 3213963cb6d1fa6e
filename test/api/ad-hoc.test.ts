import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { type Events, PermanentError } from "../../src/index.ts";
import { heard, listen, open, stopped } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("a dispatched function", () => {
  test("runs once, in this process, with its arguments and its run", async () => {
    const { jobs } = open();
    const seen: unknown[] = [];
    const run = await jobs
      .dispatch("upload-42", (args, context) => {
        seen.push([args, context.name, context.queue, context.id, context.key]);
        return "done";
      })
      .args({ file: 42 })
      .queue("uploads");
    expect(await jobs.find(run.id)).toMatchObject({
      name: "upload-42",
      queue: "uploads",
      state: "ready",
      key: null,
    });
    expect(await jobs.run()).toBe(1);
    expect(seen).toEqual([[{ file: 42 }, "upload-42", "uploads", run.id, null]]);
    expect(await run.wait()).toBe("done");
    expect(await jobs.find(run.id)).toMatchObject({ state: "completed", key: null, result: "done" });
    expect(await jobs.run()).toBe(0);
  });

  test("defines no job: another function, or later a definition, can use the name", async () => {
    const { jobs } = open();
    const seen: number[] = [];
    await jobs.dispatch("task", () => void seen.push(1));
    await jobs.dispatch("task", () => void seen.push(2));
    await jobs.run({ parallel: 1 });
    expect(seen).toEqual([1, 2]);
    expect((await jobs.status()).jobs).toEqual([]);
    await expectRefusal(() => jobs.dispatch("task"), "UNKNOWN_JOB");
    jobs.schedule("task", () => void seen.push(3));
    await jobs.dispatch("task");
    await jobs.run();
    expect(seen).toEqual([1, 2, 3]);
  });

  test("has no limit: many run at once", async () => {
    const { jobs } = open();
    const { promise: go, resolve } = Promise.withResolvers<void>();
    let now = 0;
    for (let n = 0; n < 5; n++) {
      await jobs.dispatch("task", async () => {
        if (++now === 5) resolve();
        await go;
      });
    }
    expect(await jobs.run()).toBe(5);
  });

  test("takes an options object, or a number as the delay", async () => {
    const { jobs, clock } = open();
    const run = await jobs.dispatch("task", () => {}, 60);
    const other = await jobs.dispatch("task", () => {}, { delay: 60, priority: 1, tags: ["x"] });
    expect(await run.state()).toBe("scheduled");
    expect(await jobs.find(other.id)).toMatchObject({ state: "scheduled", priority: 1, tags: ["x"] });
    await clock.advance(60);
    expect(await jobs.run()).toBe(2);
  });

  test("has every setting of a job", async () => {
    const { jobs, clock } = open();
    const told: unknown[] = [];
    let tries = 0;
    const run = await jobs
      .dispatch("task", (args) => {
        told.push(["handler", args]);
        if (++tries < 2) throw new Error("once more");
        return tries;
      })
      .args({ n: 1 })
      .queue("slow")
      .priority(5)
      .lease(30)
      .concurrency(2)
      .retries({ max: 2, base: 10, jitter: "none" })
      .timeout("1m")
      .keep({ completed: "forever" })
      .when(() => true)
      .skip(() => false)
      .onBefore((args) => told.push(["before", args]))
      .onSuccess((args) => told.push(["success", args]))
      .onError((error, args) => told.push(["error", (error as Error).message, args]))
      .onAfter((args) => told.push(["after", args]))
      .tags("t")
      .delay(1);
    await clock.advance(1);
    await jobs.run();
    await clock.advance(10);
    await jobs.run();
    expect(await run.wait()).toBe(2);
    expect(told).toEqual([
      ["before", { n: 1 }],
      ["handler", { n: 1 }],
      ["error", "once more", { n: 1 }],
      ["after", { n: 1 }],
      ["before", { n: 1 }],
      ["handler", { n: 1 }],
      ["success", { n: 1 }],
      ["after", { n: 1 }],
    ]);
    await clock.advance("3 days");
    await jobs.prune();
    expect(await run.state()).toBe("completed");
  });

  test("filters and PermanentError work as for a job", async () => {
    const { jobs } = open();
    const skipped = await jobs.dispatch("a", () => {}).when(() => false);
    const failed = await jobs
      .dispatch("b", () => {
        throw new PermanentError("never");
      })
      .retries(5);
    await jobs.run();
    expect(await skipped.state()).toBe("skipped");
    expect(await jobs.find(failed.id)).toMatchObject({ state: "failed", attempts: 1 });
  });

  test("starts with the defaults of the instance", async () => {
    const { jobs } = open({ defaults: { queue: "mine", priority: 3, retries: { max: 2, base: 0 } } });
    const run = await jobs.dispatch("task", () => {
      throw new Error("no");
    });
    expect(await jobs.find(run.id)).toMatchObject({ queue: "mine", priority: 3 });
    await jobs.run();
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", attempts: 2 });
  });
});

describe("its owner", () => {
  test("is the instance that dispatched it: another one does not run it", async () => {
    const db = new DatabaseSync(":memory:");
    const owner = open({}, db);
    const other = open({ clock: owner.clock }, db);
    const run = await owner.jobs.dispatch("task", () => "mine");
    expect(await other.jobs.run()).toBe(0);
    expect(await run.state()).toBe("ready");
    expect(await owner.jobs.run()).toBe(1);
    expect(await run.wait()).toBe("mine");
  });

  test("that stops fails its waiting functions with HANDLER_GONE", async () => {
    const db = new DatabaseSync(":memory:");
    const owner = open({}, db);
    const run = await owner.jobs.dispatch("task", () => {}).delay(60);
    await stopped(owner);
    const { jobs } = open({}, db);
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", error: { code: "HANDLER_GONE" } });
    await expectRefusal(() => jobs.wait(run.id), "RUN_FAILED", "handler is gone");
  });

  test("that died fails its waiting functions when a worker notices", async () => {
    const db = new DatabaseSync(":memory:");
    const owner = open({}, db);
    const run = await owner.jobs.dispatch("task", () => {});
    // Its heartbeats end, as if its process had died.
    db.exec("update punctual_workers set seen_at = 0");
    const { jobs } = open({}, db);
    await jobs.run();
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", error: { code: "HANDLER_GONE" } });
  });

  test("releases its jobs when its worker ends, although a function waits", async () => {
    const one = open();
    const { promise, resolve } = Promise.withResolvers<void>();
    one.jobs.schedule("job", () => promise);
    await one.jobs.dispatch("job");
    await one.jobs.dispatch("task", () => {}).delay("20m");
    const working = one.jobs.run();
    await one.clock.advance("3m");
    resolve();
    await working;
    const ended = one.clock.now();
    await one.clock.advance("5m");
    const { jobs, workers } = await one.jobs.status();
    expect(jobs.find(({ name }) => name === "job")?.seenAt).toEqual(new Date(ended));
    expect(workers).toMatchObject([{ parallel: 0 }]);
  });

  test("stays alive without a worker, as long as a function waits", async () => {
    const db = new DatabaseSync(":memory:");
    const owner = open({}, db);
    const run = await owner.jobs.dispatch("task", () => "late").delay("10m");
    const other = open({ clock: owner.clock }, db);
    await owner.clock.advance("5m");
    await other.jobs.run();
    expect(await run.state()).toBe("scheduled");
    await owner.clock.advance("5m");
    await owner.jobs.run();
    expect(await run.wait()).toBe("late");
  });
});

describe("the end of a dispatched function", () => {
  test("unique: a function whose run was not inserted is forgotten", async () => {
    const { jobs } = open();
    const seen: number[] = [];
    const first = await jobs.dispatch("task", () => void seen.push(1)).unique("k");
    const second = await jobs.dispatch("task", () => void seen.push(2)).unique("k");
    expect([second.inserted, second.id]).toEqual([false, first.id]);
    expect(await jobs.run()).toBe(1);
    expect(seen).toEqual([1]);
  });

  test("retry() after its end fails at once, because the function is gone", async () => {
    const { jobs } = open();
    let ran = 0;
    const run = await jobs.dispatch("task", () => {
      ran++;
      throw new Error("no");
    });
    await jobs.run();
    const released = listen(jobs, "run.released");
    await run.retry();
    const failed: Promise<Events["run.failed"]> = heard(jobs, "run.failed");
    await jobs.run();
    expect((await failed).error.code).toBe("HANDLER_GONE");
    expect(ran).toBe(1);
    expect(released).toEqual([]);
  });

  test("an invalid payload rejects, and the function is forgotten", async () => {
    const { jobs } = open();
    await expectRefusal(() => jobs.dispatch("task", () => {}).args({ n: 1n }), "INVALID_PAYLOAD", "args.n");
    await jobs.run();
    expect((await jobs.status()).workers).toEqual([]);
  });

  test("a dispatch that failed leaves no row in the job table", async () => {
    const { jobs } = open();
    await jobs.dispatch("task", () => {
      throw new Error("no");
    });
    await jobs.run();
    expect((await jobs.status()).jobs).toEqual([]);
    expect((await jobs.runs({ job: "task" })).runs).toHaveLength(1);
  });
});
