import { describe, expect, test } from "vitest";
import { explain } from "../../src/status/why.ts";
import type { IsolatedRun, RunRecord, WaitFacts, WorkerRecord } from "../../src/store/records.ts";

const NOW = 1_000_000;

const worker = (id: string, fields: Partial<WorkerRecord> = {}): WorkerRecord => ({
  id,
  host: "web-1",
  pid: 1,
  parallel: 10,
  queues: null,
  exceptQueues: [],
  weights: null,
  schedules: true,
  startedAt: 0,
  seenAt: NOW,
  ...fields,
});

const isolated = (id: number, fields: Partial<IsolatedRun> = {}): IsolatedRun => ({
  id,
  name: "long",
  worker: "w1",
  child: null,
  startedAt: NOW - 1000,
  ...fields,
});

const UNUSED = { slots: 0, holders: [] };

function why(run: Partial<RunRecord>, facts: Partial<WaitFacts> = {}): string {
  const whole = {
    id: 7,
    name: "quick",
    queue: "default",
    crashes: 0,
    owner: null,
    worker: null,
    ...run,
  } as RunRecord;
  return explain({
    now: NOW,
    run: whole,
    keyed: true,
    job: { limit: 0, keyLimit: 0, paused: false, pause: null, seenAt: NOW },
    queue: null,
    runningOfJob: UNUSED,
    runningOfLane: UNUSED,
    runningOfQueue: UNUSED,
    behind: null,
    ahead: 0,
    workers: [worker("w1")],
    holder: { host: "web-1", pid: 1, seenAt: NOW - 1000 },
    isolated: [],
    slowHook: null,
    ownerAlive: false,
    ...facts,
  }).join(" ");
}

describe("a scheduled run that is due", () => {
  const due = { state: "scheduled", runAt: NOW - 90_000, attempts: 1 } as const;

  test("becomes ready with the next claim, if nothing holds it back", () => {
    expect(why(due)).toBe("It is due: the next claim of any worker makes it ready. It waits for attempt 2.");
  });

  test("has the obstacles of a ready run", () => {
    const since = "It has been due for 90 s.";
    const pause = { since: 0, by: "ana", reason: null };
    const queue = { limit: 0, paused: true, pausedUntil: null, pause };
    expect(why(due, { queue })).toBe(
      `${since} Its queue "default" is paused by ana. It waits for attempt 2.`,
    );
    expect(why(due, { workers: [] })).toBe(`${since} No worker is alive. It waits for attempt 2.`);
    expect(why(due, { workers: [worker("w1", { queues: ["other"] })] })).toContain("serves the queue");
    expect(why({ ...due, owner: "w9" })).toContain("a process that gives no sign of life");
    expect(why({ ...due, runAt: NOW + 90_000 }, { workers: [] })).toMatch(/^It is due in 90 s, /);
  });
});

describe("a ready run", () => {
  const ready = { state: "ready" } as const;

  test("names some of the runs that use its limit", () => {
    const job = { limit: 5, keyLimit: 0, paused: false, pause: null, seenAt: NOW };
    const heartbeat = { host: "web-1", pid: 1, seenAt: NOW };
    const holders = [
      { id: 3, worker: heartbeat },
      { id: 4, worker: null },
    ];
    expect(why(ready, { job, runningOfJob: { slots: 5, holders } })).toBe(
      'Its job "quick" may run 5 at once, and 5 are running: run 3 on worker web-1:1, run 4 on a dead worker, 3 more.',
    );
  });

  test("behind others under the rate of a named limit is explained by their order", () => {
    const named = { name: "openai", limit: 0, cost: 1, running: UNUSED };
    const rate = { job: null, key: null, queue: null, limit: 60_000, per: 60_000, burst: 0 };
    const open = { ...rate, spent: 0, opensAt: null, slowedUntil: null };
    const order = 'Runs under its limit "openai" start in order';
    expect(why(ready, { ahead: 2, named, rates: [{ ...open, name: "openai" }] })).toContain(order);
    expect(why(ready, { ahead: 2, named, rates: [{ ...open, queue: "default" }] })).not.toContain(order);
    expect(why(ready, { named, rates: [{ ...open, name: "openai" }] })).not.toContain(order);
  });

  test("names the run that its worker isolates", () => {
    const says = 'Worker w1 isolates run 3 of "long", which has crashed before: its other runs wait';
    expect(why(ready, { isolated: [isolated(3)] })).toContain(says);
    expect(why(ready, { isolated: [isolated(3, { startedAt: null })] })).toContain(says);
    const workers = [worker("w1"), worker("w2")];
    expect(why(ready, { isolated: [isolated(3)], workers })).toMatch(
      /isolates run 3 .* It is next in its queue for the other worker\.$/,
    );
  });

  test("is not delayed by the isolation in a child process or in a worker of other queues", () => {
    expect(why(ready, { isolated: [isolated(3, { child: "1:99" })] })).toMatch(/^Nothing holds it back/);
    const workers = [worker("w1", { queues: ["other"] }), worker("w2")];
    expect(why(ready, { isolated: [isolated(3)], workers })).toMatch(/^Nothing holds it back/);
  });

  test("that crashed is explained to start in isolation", () => {
    expect(why({ ...ready, crashes: 1 })).toBe(
      "It has crashed once: it starts when a worker can isolate it.",
    );
    expect(why({ ...ready, crashes: 2 }, { isolated: [isolated(3)] })).toBe(
      "It has crashed 2 times: it starts when a worker can isolate it. Now isolated: 3.",
    );
  });
});

describe("a running run", () => {
  const running = { state: "running", attempts: 1, worker: "w1", child: null } as const;
  const started = { ...running, startedAt: NOW - 1000, lockedUntil: NOW + 30_000 };

  test("that crashed is explained to be alone or not", () => {
    const crashed = { ...started, crashes: 1 };
    expect(why({ ...crashed, isolated: true })).toContain("It has crashed once, and is alone in its process");
    expect(why({ ...crashed, isolated: true, child: "2:99" })).toContain("has its child process to itself");
    expect(why({ ...crashed, startedAt: null })).toContain("waits until the other runs in its process");
    expect(why(crashed)).toMatch(/It has crashed once\.$/);
  });

  test("with a lease that holds and a worker that was seen needs no explanation", () => {
    expect(why(started)).toBe("It is running: attempt 1, started 1 s ago, on worker web-1:1.");
  });

  test("whose lease has ended is explained with who reaps it", () => {
    const lost = { ...started, lockedUntil: NOW - 5000 };
    const none = "Its lease ended 5 s ago: no other worker is alive to take it back.";
    expect(why(lost, { workers: [] })).toContain(none);
    expect(why(lost)).toContain(none);
    expect(why(lost, { workers: [worker("w2", { parallel: 0 })] })).toContain(none);
    expect(why(lost, { workers: [worker("w2")] })).toContain("another worker takes it back within seconds.");
  });

  test("of a worker that was not seen is explained with the silence and the end of its lease", () => {
    const holder = { host: "web-1", pid: 1, seenAt: NOW - 47_000 };
    expect(why(started, { workers: [], holder })).toContain(
      "Its worker has given no sign of life for 47 s: its lease ends in 30 s, and no other worker is alive to take it back.",
    );
    expect(why(started, { workers: [worker("w2")], holder })).toMatch(
      /for 47 s: its lease ends in 30 s, then another worker takes it back\.$/,
    );
    expect(why(started, { workers: [worker("w2")], holder: null })).toMatch(
      /on a dead worker\. Its worker gives no sign of life any more: its lease ends in 30 s,/,
    );
  });
});
