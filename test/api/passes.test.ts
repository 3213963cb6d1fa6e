import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("run()", () => {
  test("returns the number of runs it executed", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {}).concurrency(0);
    jobs.schedule("broken", () => {
      throw new Error("no");
    });
    jobs.schedule("skipped", () => {}).when(() => false);
    expect(await jobs.run()).toBe(0);
    for (const name of ["task", "task", "broken", "skipped"]) await jobs.dispatch(name);
    expect(await jobs.run()).toBe(4);
    expect(await jobs.run()).toBe(0);
  });

  test("executes at most batch runs, by default 32", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", () => {}).concurrency(0);
    await job.dispatchMany(Array(50).fill({}));
    expect(await jobs.run({ batch: 5 })).toBe(5);
    expect(await jobs.run({ batch: 1 })).toBe(1);
    expect(await jobs.run()).toBe(32);
    expect(await jobs.run({ batch: 1000 })).toBe(12);
  });

  test("counts limited and retried runs towards batch", async () => {
    const { jobs } = open();
    let ran = 0;
    const job = jobs.schedule("task", () => void ran++);
    await job.dispatchMany(Array(10).fill({}));
    expect(await jobs.run({ batch: 4, parallel: 2 })).toBe(4);
    expect(ran).toBe(4);
    jobs.schedule("again", (_args, run) => run.snooze(0));
    const again = await jobs.dispatch("again").priority(-1);
    expect(await jobs.run({ batch: 3 })).toBe(3);
    await again.cancel();
  });

  test("executes runs that become due during the pass", async () => {
    const { jobs } = open();
    const seen: string[] = [];
    jobs.schedule("second", () => void seen.push("second"));
    jobs.schedule("first", async () => {
      seen.push("first");
      await jobs.dispatch("second");
    });
    await jobs.dispatch("first");
    expect(await jobs.run()).toBe(2);
    expect(seen).toEqual(["first", "second"]);
  });

  test("leaves runs that are not due", async () => {
    const { jobs, clock } = open();
    jobs.schedule("task", () => {});
    await jobs.dispatch("task").delay(10);
    expect(await jobs.run()).toBe(0);
    await clock.advance("9999ms");
    expect(await jobs.run()).toBe(0);
    await clock.advance("1ms");
    expect(await jobs.run()).toBe(1);
  });

  test("runs concurrent passes one after the other", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", () => {}).concurrency(0);
    await job.dispatchMany(Array(10).fill({}));
    expect(
      await Promise.all([jobs.run({ batch: 4 }), jobs.run({ batch: 4 }), jobs.run({ batch: 4 })]),
    ).toEqual([4, 4, 2]);
  });

  test("in a handler is refused: it would deadlock", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => jobs.run());
    const run = await jobs.dispatch("task");
    expect(await jobs.run()).toBe(1);
    expect((await jobs.find(run.id))?.error).toMatchObject({
      code: "WORKER_RUNNING",
      message: expect.stringContaining("outside of handlers"),
    });
  });

  test("serves only the given queues", async () => {
    const { jobs } = open();
    const seen: string[] = [];
    jobs.schedule("task", (_args, run) => void seen.push(run.queue)).concurrency(0);
    for (const queue of ["a", "b", "c", "a"]) await jobs.dispatch("task").queue(queue);
    expect(await jobs.run({ queues: ["a", "c", "a"] })).toBe(3);
    expect(seen.sort()).toEqual(["a", "a", "c"]);
    expect(await jobs.run()).toBe(1);
  });

  test("executes only jobs that it defines, and leaves others", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    const two = open({ clock: one.clock }, db);
    one.jobs.schedule("mine", () => {});
    two.jobs.schedule("yours", () => {});
    await one.jobs.run();
    await two.jobs.run();
    await one.jobs.dispatch("yours");
    await one.jobs.dispatch("mine");
    expect(await one.jobs.run()).toBe(1);
    expect(await two.jobs.run()).toBe(1);
    const { runs } = await one.jobs.runs();
    expect(runs.map((run) => run.attempts)).toEqual([1, 1]);
  });

  test.each([
    [{ batch: 0 }, "batch", "at least 1", "got 0"],
    [{ batch: 1.5 }, "batch", "got 1.5"],
    [{ parallel: 0 }, "parallel", "at least 1", "got 0"],
    [{ parallel: "4" }, "parallel", 'got "4"'],
    [{ queues: [] }, "queues", "at least one name", "leave it out"],
    [{ queues: "emails" }, "queues as a list"],
    [{ queue: "emails" }, 'no option "queue"', 'Did you mean "queues"?'],
    [{ sleep: 5 }, 'no option "sleep"', "Known: batch, parallel, queues"],
    [null, "run()", "got null"],
    [32, "run()", "got 32"],
  ] as [unknown, ...string[]][])("%j is refused", async (options, ...parts) => {
    const { jobs } = open();
    await expectRefusal(() => jobs.run(options as object), "INVALID_OPTION", ...parts);
  });
});

describe("order", () => {
  test("is by priority, due time and id", async () => {
    const { jobs, clock } = open();
    const seen: number[] = [];
    jobs.schedule("task", (args: { n: number }) => void seen.push(args.n)).concurrency(0);
    await jobs.dispatch("task", { n: 6 }).priority(100);
    await jobs.dispatch("task", { n: 7 }).priority(100);
    await jobs.dispatch("task", { n: 4 }).priority(5).delay(2);
    await jobs.dispatch("task", { n: 3 }).priority(5).delay(1);
    await jobs.dispatch("task", { n: 5 }).priority(5).delay(2);
    await jobs.dispatch("task", { n: 1 }).priority(-10).delay(3);
    await jobs.dispatch("task", { n: 2 }).priority(0);
    await clock.advance(5);
    await jobs.run({ parallel: 1 });
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test("holds over queues and jobs, limited or not", async () => {
    const { jobs } = open();
    const seen: number[] = [];
    const note = (args: { n: number }) => void seen.push(args.n);
    jobs.schedule("free", note).concurrency(0);
    jobs.schedule("limited", note).queue("b");
    await jobs.dispatch("free", { n: 3 }).priority(3);
    await jobs.dispatch("limited", { n: 2 }).priority(2);
    await jobs.dispatch("free", { n: 1 }).priority(1).queue("c");
    await jobs.dispatch("limited", { n: 4 }).priority(4).queue("c");
    await jobs.dispatch("ad hoc", () => void seen.push(0)).priority(0);
    await jobs.run({ parallel: 1 });
    expect(seen).toEqual([0, 1, 2, 3, 4]);
  });

  test("uses the queue and priority of the dispatch", async () => {
    const { jobs } = open();
    const job = jobs
      .schedule("task", () => {})
      .queue("before")
      .priority(1);
    const run = await job.dispatch();
    job.queue("after").priority(2);
    expect(await jobs.find(run.id)).toMatchObject({ queue: "before", priority: 1 });
  });
});

describe("parallel", () => {
  test.each([1, 3])("executes %d at once, and no more", async (parallel) => {
    const { jobs } = open();
    let now = 0;
    let most = 0;
    jobs
      .schedule("task", async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setImmediate(resolve));
        now--;
      })
      .concurrency(0);
    for (let n = 0; n < 9; n++) await jobs.dispatch("task");
    expect(await jobs.run({ parallel })).toBe(9);
    expect(most).toBe(parallel);
  });
});

test("a run whose job has no row is looked at once, not repeatedly", async () => {
  const db = new DatabaseSync(":memory:");
  const before = open({}, db);
  before.jobs.schedule("gone", () => {}).keep("forever");
  const run = await before.jobs.dispatch("gone");
  await before.jobs.run();
  await before.jobs.stop();
  const { jobs, clock } = open({}, db);
  jobs.schedule("other", () => {});
  clock.set("2026-03-01T00:00:00Z");
  expect((await jobs.prune()).jobs).toBe(1);
  await jobs.retry(run.id);
  let released = 0;
  jobs.on("run.released", ({ queue }) => {
    // Otherwise the pass would never end.
    if (++released === 50) void jobs.pauseQueue(queue);
  });
  await jobs.dispatch("other").queue("elsewhere");
  expect(await jobs.run()).toBe(1);
  expect(released).toBeLessThanOrEqual(1);
  expect(await jobs.find(run.id)).toMatchObject({ state: "ready", attempts: 1 });
});

test("a pass reaps the runs of a dead process", async () => {
  const db = new DatabaseSync(":memory:");
  const dead = open({}, db);
  dead.jobs.schedule("task", () => new Promise(() => {})).lease(5);
  const run = await dead.jobs.dispatch("task");
  const pass = dead.jobs.run();
  await heard(dead.jobs, "run.started");
  // Its lease ends, as if its process had stopped renewing.
  db.exec("update punctual_runs set locked_until = 0");

  const { jobs } = open({}, db);
  const seen: unknown[] = [];
  jobs.schedule(
    "task",
    (_args, context) => void seen.push([context.attempt, context.crashes, context.isLastAttempt]),
  );
  const reaped = heard(jobs, "run.reaped");
  expect(await jobs.run()).toBe(1);
  expect(await reaped).toMatchObject({ id: run.id, name: "task", state: "ready", crashed: true });
  expect(seen).toEqual([[2, 1, true]]);
  expect(await jobs.attempts(run.id)).toMatchObject([
    { attempt: 1, outcome: "crashed", error: { code: "RUN_CRASHED" } },
  ]);
  const lost = heard(dead.jobs, "run.lost");
  await dead.clock.advance(10);
  await Promise.all([pass, lost]);
  expect(await jobs.find(run.id)).toMatchObject({ state: "completed", attempts: 2, crashes: 1 });
});
