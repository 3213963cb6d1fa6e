import { describe, expect, test } from "vitest";
import type { QueueSettings } from "../../src/index.ts";
import { busyJob, startsBefore } from "./support/busy.ts";
import { heard, type Opened, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const SLOTS = 10;

/** A job whose runs note their keys, in a queue with these options. */
function imports(one: Opened, settings: QueueSettings) {
  const keys: string[] = [];
  one.jobs.queue("imports", settings);
  const job = one.jobs
    .define("import", async ({ key }: { key: string }) => {
      keys.push(key);
    })
    .queue("imports")
    .concurrency(0, { by: ({ key }) => key });
  return { keys, job };
}

const many = (key: string, count: number) => Array.from({ length: count }, () => ({ key }));

const countOf = (keys: string[], key: string) => keys.filter((one) => one === key).length;

describe("a fair queue", () => {
  test("starts runs of each key in turn, from one pass to the next", async () => {
    const one = open({ random: () => 0.999 });
    const { keys, job } = imports(one, { fair: true });
    await job.dispatchMany([...many("a", 50), ...many("b", 3), ...many("c", 1)]);
    await one.jobs.run({ batch: 4, parallel: 1 });
    await one.jobs.run({ batch: 4, parallel: 1 });
    expect(keys.join("")).toBe("abcababa");
  });

  test.each([
    ["by key", { gold: 3 }],
    ["by a function", (key: string) => (key === "gold" ? 3 : 1)],
  ])("starts as many runs of a key as it weighs, %s", async (_, weight) => {
    const one = open();
    const { keys, job } = imports(one, { fair: true, weight });
    await job.dispatchMany([...many("silver", 200), ...many("gold", 200)]);
    await one.jobs.run({ batch: 200 });
    expect(countOf(keys, "gold")).toBeGreaterThanOrEqual(148);
    expect(countOf(keys, "gold")).toBeLessThanOrEqual(152);
  });

  test("is told the key and the job, and an empty key for runs without one", async () => {
    const one = open();
    const asked = new Set<string>();
    const weight = (key: string, job: string) => {
      asked.add(`${job} "${key}"`);
      return 1;
    };
    const { job } = imports(one, { fair: true, weight });
    one.jobs
      .define("other", async () => {})
      .queue("imports")
      .concurrency(0);
    await job.dispatch({ key: "a" });
    await one.jobs.dispatch("other");
    await one.jobs.run();
    expect([...asked].sort()).toEqual(['import "a"', 'other ""']);
  });

  test.each([
    ["throws", () => JSON.parse("{"), "weighing the lanes of queue"],
    ["returns a fraction", () => 0.5, "from 1 to 1000"],
  ])("whose function %s counts each lane as 1, and reports it once", async (_, weight, part) => {
    const one = open();
    const { keys, job } = imports(one, { fair: true, weight });
    await job.dispatchMany([...many("a", 20), ...many("b", 20)]);
    await one.jobs.run({ batch: 20 });
    expect(countOf(keys, "a")).toBe(10);
    const reported = one.errors.splice(0);
    expect(reported).toHaveLength(1);
    expect(`${reported[0]!.during}: ${String(reported[0]!.error)}`).toContain(part);
  });

  test("starts a run of another key before those that are prefetched", async () => {
    const one = open();
    const busy = busyJob(one, "short");
    one.jobs.queue("imports", { fair: true });
    busy.job.queue("imports").concurrency(0);
    const other = one.jobs
      .define("other", () => {})
      .queue("imports")
      .concurrency(0);
    const before = await startsBefore(one, busy, SLOTS, () => other.dispatch());
    expect(before).toBeLessThanOrEqual(4 * SLOTS);
  });

  test("ceases to be fair, and options that are not given stay", async () => {
    const one = open();
    const { keys, job } = imports(one, { fair: true, weight: { b: 2 } });
    one.jobs.queue("imports", { concurrency: 7 }).queue("imports", { patience: "1m" });
    await one.jobs.run();
    const order = async () => {
      const found = (await one.jobs.status()).queues.find(({ name }) => name === "imports")!;
      return [found.limit, found.fair, found.patience];
    };
    expect(await order()).toEqual([7, true, 60_000]);
    one.jobs.queue("imports", { fair: false, patience: null });
    await one.jobs.run();
    expect(await order()).toEqual([7, false, null]);
    await expectRefusal(
      () => one.jobs.queue("imports", { weight: { b: 2 } }),
      "INVALID_OPTION",
      "needs fair: true",
    );
    await job.dispatchMany([...many("a", 3), ...many("b", 3)]);
    await one.jobs.run({ parallel: 1 });
    expect(keys.join("")).toBe("aaabbb");
  });

  test("is explained by why(), which counts the runs of the same lane", async () => {
    const one = open();
    const { job } = imports(one, { fair: true });
    const { job: slow, busy } = busyJob(one, "slow");
    slow.queue("imports");
    await slow.dispatch();
    // The only slot is occupied.
    void one.jobs.forever({ signals: false, parallel: 1 });
    await heard(one.jobs, "run.started");
    await job.dispatchMany([...many("a", 20), ...many("b", 3)]);
    const { runs } = await one.jobs.runs({ where: "key:b" });
    const [last, , first] = runs;
    expect(await one.jobs.why(last!.id)).toBe(
      'The lanes of its queue "imports" take turns: 2 ready runs come before it in its own lane or because they are more important.',
    );
    expect(await one.jobs.why(first!.id)).toContain("it is next in its lane");
    busy.release();
  });
});

describe("patience", () => {
  test("lets a run start that has waited longer, although more important ones wait", async () => {
    const one = open();
    const started: number[] = [];
    one.jobs.queue("mixed", { patience: "10m" });
    const job = one.jobs
      .define("mixed", async (_args, run) => {
        started.push(run.id);
        await new Promise<void>((resolve) => run.signal.addEventListener("abort", () => resolve()));
      })
      .queue("mixed")
      .concurrency(0)
      .lease("1h");
    // One run occupies the only slot.
    await job.dispatch({}, { priority: 1 });
    void one.jobs.forever({ signals: false, parallel: 1 });
    await heard(one.jobs, "run.started");
    const low = await job.dispatch({}, { priority: 500 });
    const priority = async () => (await one.jobs.find(low.id))!.priority;
    await one.clock.advance("9m");
    await job.dispatch({}, { priority: 1 });
    expect(await priority()).toBe(500);
    await one.clock.advance("3m");
    expect(await priority()).toBe(1);
    await one.jobs.cancel(started[0]!);
    await heard(one.jobs, "run.started");
    expect(started[1]).toBe(low.id);
  });
});
