import { Emitter } from "../../../src/events/events.ts";
import { toLogger } from "../../../src/events/logger.ts";
import { QueueOrders } from "../../../src/job/queue-orders.ts";
import type { ClaimedRun, Store } from "../../../src/store/store.ts";
import type { TestClock } from "../../../src/testing/clock.ts";
import { Deadline } from "../../../src/worker/deadline.ts";
import type { Executor, RunnableJob } from "../../../src/worker/executor.ts";
import type { WorkerOptions } from "../../../src/worker/options.ts";
import type { WorkerParts } from "../../../src/worker/parts.ts";
import { Worker } from "../../../src/worker/worker.ts";

/** A worker over a store and an executor of the test. It wakes up only when the test says so. */
export function workerOver(
  parts: { clock: TestClock; store: Partial<Store>; executor: Executor; events?: Emitter },
  options: Partial<WorkerOptions>,
): Worker {
  const { clock, store, executor, events = new Emitter(toLogger(false), clock) } = parts;
  const all = {
    id: "w1",
    store: store as Store,
    clock,
    events,
    registry: {
      handlerOf: () => ({ settings: { keep: {} } }) as unknown as RunnableJob,
    } as unknown as WorkerParts["registry"],
    queueOrders: new QueueOrders(
      () => {},
      () => 0,
    ),
    counts: { settled() {} } as unknown as WorkerParts["counts"],
    logbook: { holds: () => false } as unknown as WorkerParts["logbook"],
    logger: toLogger(false),
    engine: {},
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
  return new Worker(all, {
    parallel: 1,
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
    ...options,
  });
}

export function claimedRun(id: number, fields: Partial<ClaimedRun> = {}): ClaimedRun {
  return {
    id,
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
    ...fields,
  } as unknown as ClaimedRun;
}
