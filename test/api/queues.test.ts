import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { ForeverOptions } from "../../src/index.ts";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** The same random numbers for each test. */
function seeded(): () => number {
  let state = 11;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** An instance with one job, which records the queues and arguments of its runs. */
function scene(source: object = new DatabaseSync(":memory:"), options: object = {}) {
  const one = open(options, source);
  const seen: { queue: string; n: number }[] = [];
  one.jobs
    .schedule("task", (args: { n: number }, run) => void seen.push({ queue: run.queue, n: args.n }))
    .concurrency(0);
  const dispatch = (queue: string, n = 0, priority = 100) =>
    one.jobs.dispatch("task", { n }).queue(queue).priority(priority);
  return { ...one, seen, dispatch };
}

describe("excluded queues", () => {
  test("are left to others; the worker ends when nothing else is due", async () => {
    const { jobs, seen, dispatch } = scene();
    for (const queue of ["a", "b", "c", "a"]) await dispatch(queue);
    expect(await jobs.run({ exceptQueues: ["a"] })).toBe(2);
    expect(seen.map(({ queue }) => queue)).toEqual(["b", "c"]);
    expect(await jobs.forever({ exceptQueues: ["a"], untilEmpty: true, signals: false })).toBe(0);
    expect(await jobs.run()).toBe(2);
  });

  test("are known to why(): no worker serves the queue", async () => {
    const db = new DatabaseSync(":memory:");
    const one = scene(db);
    void one.jobs.forever({ exceptQueues: ["bulk"], weights: { reports: 2 }, signals: false });
    await heard(one.jobs, "worker.started");
    const run = await one.dispatch("bulk");
    const { jobs } = open({ clock: one.clock }, db);
    expect((await jobs.status()).workers).toMatchObject([
      { queues: null, exceptQueues: ["bulk"], weights: { reports: 2 }, schedules: true },
    ]);
    expect(await jobs.why(run.id)).toBe('No live worker serves the queue "bulk".');
    await one.clock.advance(11);
    expect(await jobs.health()).toMatchObject({
      level: "stalled",
      sentences: ["bulk: 1 waiting for 11 s, no live worker serves this queue."],
      hints: ["punctual work --queues bulk"],
    });
  });
});

describe("weights", () => {
  test.each<[string, ForeverOptions]>([
    ["one run at once", { parallel: 1 }],
    ["several at once, some claimed ahead", { parallel: 4 }],
    ["claims of three", { parallel: 3, batch: 3 }],
  ])(
    "start three runs of one queue for each of another, whatever their priorities: %s",
    async (_, options) => {
      const { jobs, seen, dispatch } = scene(undefined, { random: seeded() });
      for (let n = 0; n < 150; n++) await Promise.all([dispatch("a", n), dispatch("b", n, -1)]);
      await jobs.forever({ ...options, weights: { a: 3 }, limit: 120, signals: false });
      const ofA = seen.filter(({ queue }) => queue === "a").length;
      expect(ofA).toBeGreaterThan(72);
      expect(ofA).toBeLessThan(108);
      expect(await jobs.forever({ ...options, weights: { a: 3 }, untilEmpty: true, signals: false })).toBe(
        180,
      );
      for (const queue of ["a", "b"]) {
        const order = seen.filter((one) => one.queue === queue).map(({ n }) => n);
        expect(order).toEqual(order.toSorted((x, y) => x - y));
        expect(order).toHaveLength(150);
      }
    },
  );

  test("are off by default: only priority counts", async () => {
    const { jobs, seen, dispatch } = scene();
    for (let n = 0; n < 20; n++) await Promise.all([dispatch("a", n), dispatch("b", n, -1)]);
    await jobs.run({ queues: ["a", "b"], batch: 20 });
    expect(new Set(seen.map(({ queue }) => queue))).toEqual(new Set(["b"]));
  });

  test("let a crashed run start beside queues of higher priority", async () => {
    const db = new DatabaseSync(":memory:");
    const { jobs, seen, dispatch } = scene(db, { random: seeded() });
    const crashed = await dispatch("a", 7, 1000);
    db.exec("update punctual_runs set crashes = 1");
    for (let n = 0; n < 60; n++) await dispatch("b", n, -1);
    await jobs.forever({ weights: { a: 1 }, parallel: 2, limit: 40, signals: false });
    expect(seen.filter(({ queue }) => queue === "a")).toEqual([{ queue: "a", n: 7 }]);
    expect(await crashed.state()).toBe("completed");
  });
});

describe("schedules: false", () => {
  test("executes runs and never ticks; without another worker health() reports that", async () => {
    const db = new DatabaseSync(":memory:");
    const one = scene(db);
    let ticks = 0;
    one.jobs.schedule("tick", () => void ticks++).everyMinute();
    await one.jobs.run();
    void one.jobs.forever({ schedules: false, signals: false });
    await heard(one.jobs, "worker.started");
    await one.clock.advance("2m");
    await (await one.dispatch("default", 1)).wait();
    expect(one.seen).toHaveLength(1);
    expect(ticks).toBe(0);
    const two = open({ clock: one.clock }, db);
    expect((await two.jobs.status()).workers).toMatchObject([{ schedules: false }]);
    expect(await two.jobs.health()).toMatchObject({
      level: "stalled",
      sentences: ["tick: its schedule is 60 s late, no live worker ticks schedules."],
      hints: ["punctual work"],
    });
    two.jobs.schedule("tick", () => void ticks++).everyMinute();
    expect(await two.jobs.run({ schedules: false })).toBe(0);
    await two.jobs.run();
    await one.clock.advance(1);
    expect(ticks).toBe(1);
    expect((await two.jobs.health()).level).toBe("healthy");
  });

  test("refuses other values", async () => {
    const { jobs } = open();
    const options = { schedules: "no" } as never;
    await expectRefusal(() => jobs.forever(options), "INVALID_OPTION", 'true or false, got "no"');
    await expectRefusal(() => jobs.run({ exceptQueue: ["a"] } as never), "INVALID_OPTION", '"exceptQueues"?');
  });
});
