import { expect, test } from "vitest";
import { Emitter } from "../../src/events/events.ts";
import { toLogger } from "../../src/events/logger.ts";
import type { ClaimedRun, ExchangeRequest, ExchangeResult, Store } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";
import { Deadline } from "../../src/worker/deadline.ts";
import type { Executor, RunnableJob } from "../../src/worker/executor.ts";
import type { WorkerParts } from "../../src/worker/parts.ts";
import { Worker } from "../../src/worker/worker.ts";

const LEASE = 60_000;

/** A worker over a store whose answers take as long as the test says. */
function scene(runs: number, { parallel = 1 } = {}) {
  const clock = new TestClock();
  const began: number[] = [];
  const settled: string[] = [];
  let left = Array.from({ length: runs }, (_, n) => ({
    id: n + 1,
    token: "token",
    name: "job",
    queue: "default",
    lane: "job",
    priority: 100,
    runAt: 0,
    crashes: 0,
    attempts: 1,
    owner: null,
    logged: 0,
  })) as unknown as ClaimedRun[];
  const waiting: (() => void)[] = [];
  let hangs = false;
  const store: Partial<Store> = {
    streams: 1,
    now: async () => clock.now(),
    exchange: async ({ settle, claim }: ExchangeRequest): Promise<ExchangeResult> => {
      for (const { id, outcome } of settle) settled.push(`${id} ${outcome}`);
      const claimed = claim ? left : [];
      left = claim ? [] : left;
      if (claimed.length > 0 || hangs) await new Promise<void>((resolve) => waiting.push(resolve));
      return { settled: settle.map(() => true), claimed, nextDue: null, cancelled: [] };
    },
    renew: () => new Promise(() => {}),
  };
  const executor: Executor = {
    processes: 1,
    slots: parallel,
    get free() {
      return parallel - began.length;
    },
    hasRoomFor: () => parallel > began.length,
    leasesExtended: () => {},
    execute: (run, job, observer) => {
      began.push(run.id);
      observer.began({ run, job, isQueued: false, duration: 0, abort: () => {} });
    },
    close: () => {
      throw new Error("nothing crashed here");
    },
    callCrashHooks: () => {},
    crashHooksCalled: async () => {},
  };
  const parts = {
    id: "w1",
    store: store as Store,
    clock,
    events: new Emitter(toLogger(false), clock),
    registry: { handlerOf: () => ({}) as RunnableJob } as unknown as WorkerParts["registry"],
    counts: { settled() {} } as unknown as WorkerParts["counts"],
    logbook: { holds: () => false } as unknown as WorkerParts["logbook"],
    logger: toLogger(false),
    instance: {},
    random: () => 0,
    nextSeq: () => 1,
    known: {
      elsewhere: async () => [],
      unusualLeases: () => ({}),
    } as unknown as WorkerParts["known"],
    ticker: null,
    executor,
    deadline: new Deadline(() => {}),
  } satisfies WorkerParts;
  const worker = new Worker(parts, {
    parallel,
    queues: null,
    exceptQueues: [],
    weights: null,
    schedules: false,
    batch: 100,
    sleep: 600_000,
    idleSleep: 600_000,
    budget: null,
    untilEmpty: false,
    grace: 0,
  });
  void worker.work();
  const hang = () => {
    hangs = true;
    worker.wake();
  };
  const answer = () => {
    hangs = false;
    waiting.shift()!();
  };
  return { clock, began, settled, answer, hang };
}

test("a claim whose answer took longer than its lease begins nothing: all of it is given back", async () => {
  const { clock, began, settled, answer } = scene(3);
  await clock.advance(LEASE / 1000 - 5);
  answer();
  await clock.advance(1);
  expect(began).toEqual([]);
  expect(settled.sort()).toEqual(["1 released", "2 released", "3 released"]);
});

test("a claim whose answer came in time begins as much as there is room for", async () => {
  const { clock, began, settled, answer } = scene(3);
  await clock.advance(LEASE / 1000 - 7);
  answer();
  await clock.advance(0);
  expect(began).toEqual([1]);
  expect(settled).toEqual([]);
});

test("runs that wait here while the database hangs are given back when their lease is over", async () => {
  const { clock, began, settled, answer, hang } = scene(3);
  await clock.advance(0);
  answer();
  await clock.advance(0);
  hang();
  await clock.advance(LEASE / 1000);
  answer();
  await clock.advance(0);
  expect(began).toEqual([1]);
  expect(settled.sort()).toEqual(["2 released", "3 released"]);
});
