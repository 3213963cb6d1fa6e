import { expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { Emitter } from "../../src/events/events.ts";
import { toLogger } from "../../src/events/logger.ts";
import type { ClaimedRun, ExchangeRequest, ExchangeResult, Store } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";
import type { Execution, ExecutionObserver, Executor } from "../../src/worker/executor.ts";
import type { WorkerOptions } from "../../src/worker/options.ts";
import { claimedRun, workerOver } from "./support/worker.ts";

/** The smallest claim of the second stream. */
const GROUP = 100;

interface UnderWay extends ExchangeRequest {
  answer(result: Partial<ExchangeResult>): Promise<void>;
  fail(): Promise<void>;
}

/** A worker with two streams. Each exchange waits until the test answers it. */
function scene(options: Partial<WorkerOptions> = {}) {
  const clock = new TestClock();
  const underWay: UnderWay[] = [];
  const running = new Map<number, { execution: Execution; observer: ExecutionObserver }>();
  const aborted: number[] = [];
  let free = 3 * GROUP;
  let made = 0;
  const store: Partial<Store> = {
    streams: 2,
    now: async () => clock.now(),
    exchange: (request) =>
      new Promise((resolve, reject) => {
        const end = (act: () => void) => {
          underWay.splice(underWay.indexOf(exchange), 1);
          act();
          return clock.advance(0);
        };
        const exchange: UnderWay = {
          ...request,
          answer: (result) =>
            end(() => {
              const settled = request.settle.map(() => true);
              resolve({ settled, claimed: [], nextDue: null, cancelled: [], ...result });
            }),
          fail: () => end(() => reject(new PunctualError("DATABASE_UNAVAILABLE", "gone"))),
        };
        underWay.push(exchange);
      }),
    renew: () => new Promise(() => {}),
  };
  const executor: Executor = {
    processes: 1,
    slots: free,
    get free() {
      return free;
    },
    hasRoomFor: () => free > 0,
    leasesExtended: () => {},
    execute: (run, job, observer) => {
      free--;
      const abort = () => aborted.push(run.id);
      const execution = { run, job, isQueued: false, duration: 0, abort };
      running.set(run.id, { execution, observer });
      observer.began(execution);
      observer.started(execution);
    },
    close: () => {
      throw new Error("nothing crashed here");
    },
    callCrashHooks: () => {},
    crashHooksCalled: async () => {},
  };
  const events = new Emitter(toLogger(false), clock);
  const worker = workerOver({ clock, store, executor, events }, { parallel: free, batch: GROUP, ...options });
  let ended = false;
  const ran = worker.work();
  void ran.then(() => {
    ended = true;
  });
  const runs = (count: number, fields: Partial<ClaimedRun> = {}) =>
    Array.from({ length: count }, () => claimedRun(++made, { started: true, ...fields }));
  const on = (stream: number) => underWay.find((one) => one.stream === stream);
  return {
    clock,
    worker,
    events,
    ran,
    aborted,
    runs,
    on,
    /** Lets the handlers of these runs return. */
    async end(...ids: number[]) {
      for (const id of ids) {
        const { execution, observer } = running.get(id)!;
        observer.ended(execution, { outcome: "completed", result: null, value: null, written: false });
        free++;
        observer.returned(execution);
      }
      await clock.advance(0);
    },
    /** The runs whose handlers were called. */
    running: () => [...running.keys()].sort((a, b) => a - b),
    streams: () => underWay.map(({ stream }) => stream).sort(),
    hasEnded: () => ended,
    /** Answers that the database has no more runs. */
    async untilIdle() {
      while (underWay.length > 0) await underWay[0]!.answer({});
    },
    /** Waits until both streams have an exchange under way. */
    async both() {
      await clock.advance(0);
      await on(0)!.answer({ claimed: runs(GROUP) });
    },
  };
}

test("the second stream claims while claims are full: neither limited runs nor crashed ones", async () => {
  const at = scene();
  await at.both();
  expect(at.streams()).toEqual([0, 1]);
  expect(at.on(1)!.claim).toMatchObject({ limit: GROUP, start: GROUP, limited: 0, crashed: 0 });
  expect(at.on(0)!.claim).toMatchObject({ limit: GROUP, start: GROUP, limited: GROUP, crashed: 1 });
  expect(at.on(0)!.claim!.token).not.toBe(at.on(1)!.claim!.token);
});

test("a claim that is not full leaves the second stream idle", async () => {
  const at = scene();
  await at.clock.advance(0);
  await at.on(0)!.answer({ claimed: at.runs(GROUP - 1) });
  expect(at.streams()).toEqual([]);
});

test("the start of a suspect is written before its handler is called", async () => {
  const at = scene();
  await at.clock.advance(0);
  const [suspect, other] = [
    ...at.runs(1, { suspect: true, started: false }),
    ...at.runs(1, { started: false }),
  ];
  await at.on(0)!.answer({ claimed: [suspect!, other!] });
  expect(at.running()).toEqual([other!.id]);
  const { started, answer } = at.on(0)!;
  expect(started.map(({ id }) => id).sort()).toEqual([suspect!.id, other!.id]);
  await answer({});
  expect(at.running()).toEqual([suspect!.id, other!.id]);
  await at.untilIdle();
});

test("a suspect whose start the claim has written starts at once", async () => {
  const at = scene();
  await at.clock.advance(0);
  const [suspect] = at.runs(1, { suspect: true });
  await at.on(0)!.answer({ claimed: [suspect!] });
  expect(at.running()).toEqual([suspect!.id]);
});

test("a suspect that is cancelled while its start is being written does not start", async () => {
  const at = scene();
  await at.clock.advance(0);
  const [suspect] = at.runs(1, { suspect: true, started: false });
  await at.on(0)!.answer({ claimed: [suspect!] });
  await at.on(0)!.answer({ cancelled: [suspect!.id] });
  expect(at.running()).toEqual([]);
  expect(at.on(0)!.settle).toMatchObject([{ id: suspect!.id, outcome: "cancelled" }]);
});

test("a suspect that is cancelled in this process before its start is written does not start", async () => {
  const at = scene();
  await at.clock.advance(0);
  const [suspect] = at.runs(1, { suspect: true, started: false });
  await at.on(0)!.answer({ claimed: [suspect!] });
  at.worker.cancel([suspect!.id]);
  await at.on(0)!.answer({});
  expect(at.running()).toEqual([]);
  expect(at.on(0)!.settle).toMatchObject([{ id: suspect!.id, outcome: "cancelled" }]);
});

test("a claimed run that is cancelled in this process does not start, whatever the database answers", async () => {
  const at = scene({ parallel: 1 });
  await at.clock.advance(0);
  const head = at.runs(1, { limited: true, token: "t.1" })[0]!;
  const follower = at.runs(1, { limited: true, token: "t.1", started: false })[0]!;
  await at.on(0)!.answer({ claimed: [head, follower] });
  at.worker.cancel([follower.id]);
  await at.end(head.id);
  expect(at.running()).toEqual([head.id]);
  expect(at.on(0)!.settle).toContainEqual(expect.objectContaining({ id: follower.id, outcome: "cancelled" }));
});

test("a full claim of few runs is not worth a second stream", async () => {
  const at = scene({ batch: GROUP - 1 });
  await at.clock.advance(0);
  await at.on(0)!.answer({ claimed: at.runs(GROUP - 1) });
  expect(at.streams()).toEqual([0]);
});

test("both together ask for no more runs than there is room for", async () => {
  const at = scene();
  await at.both();
  await at.on(1)!.answer({ claimed: at.runs(GROUP) });
  // A group of each stream runs, and the first one claims the last group.
  expect(at.streams()).toEqual([0]);
  await at.on(0)!.answer({ claimed: at.runs(GROUP) });
  expect(at.streams()).toEqual([]);
});

test("both together ask for no more runs than the budget has", async () => {
  const at = scene({ budget: 2 * GROUP + 7 });
  await at.both();
  expect(at.on(0)!.claim!.limit + at.on(1)!.claim!.limit).toBe(GROUP + 7);
});

test("a stream settles the runs that it has claimed", async () => {
  const at = scene();
  await at.both();
  const group = at.runs(GROUP);
  const [mine] = group;
  await at.on(1)!.answer({ claimed: group });
  await at.untilIdle();
  await at.end(1, mine!.id);
  expect(at.on(0)!.settle.map(({ id }) => id)).toEqual([1]);
  expect(at.on(1)!.settle.map(({ id }) => id)).toEqual([mine!.id]);
});

test("a settlement of the second stream is followed by a claim of the first", async () => {
  const at = scene();
  await at.both();
  const group = at.runs(GROUP);
  await at.on(1)!.answer({ claimed: group });
  await at.untilIdle();
  await at.end(group[0]!.id);
  expect(at.on(1)!.claim).toBeNull();
  expect(at.on(0)).toBeUndefined();
  await at.on(1)!.answer({});
  expect(at.on(0)!.claim).not.toBeNull();
});

test("the second stream writes the starts of its runs without an outcome", async () => {
  const at = scene();
  await at.both();
  const group = at.runs(GROUP, { started: false });
  await at.on(1)!.answer({ claimed: group });
  expect(at.on(1)!.started.map(({ id }) => id)).toEqual(group.map(({ id }) => id));
  await at.on(0)!.answer({});
  expect(at.on(0)?.started ?? []).toEqual([]);
});

test("a stop waits for the answers to both, and releases the runs that they bring", async () => {
  const at = scene();
  await at.both();
  await at.end(...Array.from({ length: GROUP }, (_, index) => index + 1));
  at.worker.stop();
  await at.on(0)!.answer({});
  await at.on(0)!.answer({});
  expect(at.streams()).toEqual([1]);
  expect(at.hasEnded()).toBe(false);
  const group = at.runs(2);
  await at.on(1)!.answer({ claimed: group });
  expect(at.on(1)!.settle.map(({ outcome }) => outcome)).toEqual(["released", "released"]);
  expect(at.worker.unwritten.map(({ run }) => run)).toEqual(group);
  expect(at.hasEnded()).toBe(false);
  await at.on(1)!.answer({});
  expect(await at.ran).toBe(GROUP);
});

test("a pass does not end while the second stream claims", async () => {
  const at = scene({ untilEmpty: true });
  await at.both();
  await at.end(...Array.from({ length: GROUP }, (_, index) => index + 1));
  await at.on(0)!.answer({});
  await at.on(0)!.answer({});
  expect(at.streams()).toEqual([1]);
  expect(at.hasEnded()).toBe(false);
  await at.on(1)!.answer({});
  expect(await at.ran).toBe(GROUP);
});

test("each stream repeats its own exchange, and the outage lasts until both have succeeded", async () => {
  const at = scene();
  const told: string[] = [];
  at.events.on("database.unavailable", () => told.push("unavailable"));
  at.events.on("database.available", () => told.push("available"));
  await at.both();
  const { token } = at.on(1)!.claim!;
  await at.on(1)!.fail();
  await at.on(0)!.fail();
  await at.clock.advance(5);
  expect([at.on(0)!.again, at.on(1)!.again, at.on(1)!.claim!.token]).toEqual([true, true, token]);
  await at.on(0)!.answer({});
  expect(told).toEqual(["unavailable"]);
  await at.on(1)!.answer({});
  expect(told).toEqual(["unavailable", "available"]);
});

test("a run that was cancelled while the second stream claimed it is found by another look", async () => {
  const at = scene();
  await at.both();
  const group = at.runs(GROUP - 1);
  const { id } = group[0]!;
  await at.on(0)!.answer({ cancelled: [id] });
  expect(at.streams()).toEqual([1]);
  await at.on(1)!.answer({ claimed: group });
  expect(at.on(0)).toBeDefined();
  await at.on(0)!.answer({ cancelled: [id] });
  expect(at.aborted).toEqual([id]);
});

test("a woken worker claims immediately, and looks at the rest after a partial answer", async () => {
  const at = scene();
  await at.clock.advance(0);
  expect(at.on(0)!.claim).toMatchObject({ immediate: false });
  await at.untilIdle();
  at.worker.wake();
  await at.clock.advance(0);
  expect(at.on(0)!.claim).toMatchObject({ immediate: true });
  await at.on(0)!.answer({ claimed: at.runs(1), isPartial: true });
  expect(at.on(0)!.claim).toMatchObject({ immediate: false });
  await at.on(0)!.answer({});
  expect(at.on(0)).toBeUndefined();
});

test("a poll does not claim immediately", async () => {
  const at = scene({ sleep: 1000 });
  await at.clock.advance(0);
  await at.untilIdle();
  await at.clock.advance(1);
  expect(at.on(0)!.claim).toMatchObject({ immediate: false });
});
