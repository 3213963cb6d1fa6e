import { expect, test } from "vitest";
import type { ExchangeRequest, ExchangeResult, Store } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";
import type { Executor } from "../../src/worker/executor.ts";
import { claimedRun, workerOver } from "./support/worker.ts";

const LEASE = 60_000;

/** A worker over a store with delayed answers. */
function scene(runs: number, { parallel = 1 } = {}) {
  const clock = new TestClock();
  const began: number[] = [];
  const settled: string[] = [];
  let left = Array.from({ length: runs }, (_, n) => claimedRun(n + 1));
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
      const execution = { run, job, isQueued: false, duration: 0, abort: () => {} };
      observer.began(execution);
      observer.started(execution);
    },
    close: () => {
      throw new Error("nothing crashed here");
    },
    callCrashHooks: () => {},
    crashHooksCalled: async () => {},
  };
  const worker = workerOver({ clock, store, executor }, { parallel });
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

test("a claim whose answer took longer than its lease starts nothing: all runs are released", async () => {
  const { clock, began, settled, answer } = scene(3);
  await clock.advance(LEASE / 1000 - 5);
  answer();
  await clock.advance(1);
  expect(began).toEqual([]);
  expect(settled.sort()).toEqual(["1 released", "2 released", "3 released"]);
});

test("a claim whose answer came in time starts as many runs as there is room for", async () => {
  const { clock, began, settled, answer } = scene(3);
  await clock.advance(LEASE / 1000 - 7);
  answer();
  await clock.advance(0);
  expect(began).toEqual([1]);
  expect(settled).toEqual([]);
});

test("buffered runs are released when their leases end while the database hangs", async () => {
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
