import { describe, expect, test } from "vitest";
import type { Entry } from "../support/journal.ts";
import { check, type Evidence, type FinalRun } from "./support/checker.ts";
import { recoveries, summary } from "./support/recovery.ts";

const entry = (at: number, what: string, pid: number, more: Partial<Entry> = {}): Entry => ({
  at,
  what,
  pid,
  by: "",
  ...more,
});

const given = (at: number, pid: number, ...ids: number[]) => entry(at, "given", pid, { ids });
const start = (at: number, pid: number, run: number, job: string, more: Partial<Entry> = {}) =>
  entry(at, "start", pid, { run, job, crashes: 0, key: null, ...more });
const end = (at: number, pid: number, run: number, job: string) => entry(at, "end", pid, { run, job });

const run = (id: number, name: string, more: Partial<FinalRun> = {}): FinalRun => ({
  id,
  name,
  state: 3,
  attempts: 1,
  crashes: 0,
  uncounted: 0,
  tick_at: null,
  ...more,
});

const crash = (run_id: number, pid: number | null) => ({
  run_id,
  outcome: "crashed",
  error: pid === null ? "lost its lease" : `Its process, child 1 (pid ${pid}), was ended by SIGKILL.`,
});

/** Process 1 is killed during run 1, which process 2 repeats; then the supervisor, with run 5 in process 2. */
const fair: Evidence = {
  asked: [1, 2, 3, 4, 5],
  entries: [
    given(0, 1, 1, 2),
    start(1, 1, 1, "single"),
    start(2, 1, 2, "keyed", { key: "a" }),
    given(2, 2, 3, 4),
    start(3, 2, 3, "keyed", { key: "b" }),
    start(3, 2, 4, "narrow"),
    end(4, 1, 2, "keyed"),
    entry(5, "kill", 9, { ids: [1] }),
    end(6, 2, 3, "keyed"),
    end(6, 2, 4, "narrow"),
    entry(6, "run.reaped", 8, { run: 1 }),
    given(7, 2, 1),
    start(8, 2, 1, "single", { crashes: 1 }),
    end(9, 2, 1, "single"),
    start(10, 2, 11, "ticking", { text: "second 1" }),
    end(11, 2, 11, "ticking"),
    given(12, 2, 5),
    start(13, 2, 5, "pair"),
    entry(14, "kill supervisor", 9, { ids: [8] }),
    entry(15, "gone", 9, { ids: [2] }),
    given(16, 3, 5),
    start(17, 3, 5, "pair", { crashes: 1 }),
    end(18, 3, 5, "pair"),
    start(20, 3, 12, "ticking", { text: "second 2" }),
    end(21, 3, 12, "ticking"),
  ],
  finished: [
    run(1, "single", { attempts: 2, crashes: 1 }),
    run(2, "keyed"),
    run(3, "keyed"),
    run(4, "narrow"),
    run(5, "pair", { attempts: 2, crashes: 1 }),
    run(11, "ticking", { tick_at: 1000 }),
    run(12, "ticking", { tick_at: 2000 }),
  ],
  unfinished: [run(13, "ticking", { state: 1, attempts: 0, tick_at: 3000 })],
  attempts: [crash(1, 1), crash(5, null)],
  limits: { job: { single: 1 }, perKey: { keyed: 1 }, queue: { narrow: 1 } },
  queueOf: { narrow: "narrow" },
};

const replaced = (id: number, more: Partial<FinalRun>) =>
  fair.finished.map((one) => (one.id === id ? { ...one, ...more } : one));
const without = (id: number) => fair.finished.filter((one) => one.id !== id);
const inserted = (...more: Entry[]) => [...fair.entries, ...more].sort((a, b) => a.at - b.at);
const left = (wanted: (one: Entry) => boolean) => fair.entries.filter((one) => !wanted(one));

test("the checker accepts a journal without faults", () => {
  expect(check(fair)).toEqual([]);
});

test("the checker charges a child that was killed just before its supervisor as part of it", () => {
  const entries = inserted(
    given(12, 4, 6),
    start(13, 4, 6, "free"),
    entry(13.5, "kill", 9, { ids: [4] }),
    given(16, 3, 6),
    start(19, 3, 6, "free", { crashes: 1 }),
    end(19.5, 3, 6, "free"),
  );
  const finished = [...fair.finished, run(6, "free", { attempts: 2, crashes: 1 })];
  expect(check({ ...fair, entries, finished, attempts: [...fair.attempts, crash(6, null)] })).toEqual([]);
});

describe("the checker catches", () => {
  const planted: [what: string, change: Partial<Evidence>, words: string][] = [
    ["a run that vanished", { finished: without(2) }, "run 2 was asked for and is not in history"],
    ["a run that is still running", { unfinished: [run(2, "keyed", { state: 2 })] }, "is left in state 2"],
    [
      "a run that completed without a handler",
      { entries: left(({ what, run: id }) => what === "end" && id === 3) },
      "run 3 completed, but no handler of it ended",
    ],
    [
      "a run that was failed without three deaths",
      {
        finished: replaced(1, { state: 4, attempts: 3, crashes: 3 }),
        attempts: [crash(1, 1), crash(1, 2), crash(1, 3)],
      },
      "run 1 failed as crashed, but began in 2 dead processes",
    ],
    ["a run that failed otherwise", { finished: replaced(2, { state: 4 }) }, "run 2 is in state 4"],
    [
      "a lease that was lost for no reason",
      { entries: inserted(entry(6, "run.lost", 8, { run: 3, by: "supervisor 1" })) },
      "run 3 lost its lease, and nothing had kept supervisor 1 from it",
    ],
    [
      "a run that two processes had at once",
      { entries: inserted(given(3, 3, 4), start(4, 3, 4, "narrow"), end(5, 3, 4, "narrow")) },
      "run 4 ran 2 times at once",
    ],
    [
      "a run that began again before its process was dead",
      { entries: inserted(start(4.5, 3, 1, "single"), end(4.6, 3, 1, "single")) },
      "run 1 ran 2 times at once",
    ],
    [
      "a job's limit that was broken",
      { entries: inserted(start(4, 3, 6, "single"), end(4.5, 3, 6, "single")) },
      "2 of the job single at once, where 1 may be",
    ],
    [
      "a key's limit that was broken",
      { entries: inserted(start(3, 3, 6, "keyed", { key: "a" }), end(5, 3, 6, "keyed")) },
      "2 of the job keyed with the key a at once",
    ],
    [
      "a queue's limit that was broken",
      { entries: inserted(start(4, 3, 6, "narrow"), end(5, 3, 6, "narrow")) },
      "2 of the queue narrow at once",
    ],
    [
      "a crashed run with a neighbour",
      { entries: inserted(start(8, 2, 6, "free"), end(9, 2, 6, "free")) },
      "run 1 has a crash behind it and ran beside 6",
    ],
    [
      "a tick that was made twice",
      { finished: [...fair.finished, run(14, "ticking", { tick_at: 2000 })] },
      "the tick of second 2 was made twice",
    ],
    ["a tick that is missing", { finished: without(12) }, "1 ticks before second 3 are missing"],
    [
      "a tick that ran as two runs",
      { entries: inserted(start(22, 3, 14, "ticking", { text: "second 2" }), end(23, 3, 14, "ticking")) },
      "the tick of second 2 ran as 12 and 14",
    ],
    [
      "a crash that nobody wrote down",
      { finished: replaced(1, { attempts: 1 }), attempts: [crash(5, null)] },
      "run 1 has 1 crashes and 0 crashed attempts",
    ],
    ["attempts that do not add up", { finished: replaced(3, { attempts: 2 }) }, "run 3 has 2 attempts"],
    [
      "a charge with a process that lives",
      {
        finished: replaced(3, { attempts: 2, crashes: 1 }),
        attempts: [...fair.attempts, crash(3, 3)],
      },
      "run 3 is charged with process 3, which did not die",
    ],
    [
      "a charge with a process that had not got the run",
      {
        finished: replaced(4, { attempts: 2, crashes: 1 }),
        attempts: [...fair.attempts, crash(4, 1)],
      },
      "run 4 is charged with process 1, which had not got it",
    ],
    [
      "more charges than lost workers",
      {
        finished: replaced(5, { attempts: 3, crashes: 2 }),
        attempts: [...fair.attempts, crash(5, null)],
      },
      "run 5 is charged with 2 lost workers; 1 were",
    ],
    [
      "a charge that came twice",
      {
        finished: replaced(1, { attempts: 3, crashes: 2 }),
        attempts: [...fair.attempts, crash(1, 1)],
      },
      "run 1 is charged twice with one process",
    ],
    [
      "a crash that was not charged",
      { finished: replaced(1, { attempts: 1, crashes: 0 }), attempts: [crash(5, null)] },
      "run 1 had begun in process 1 when it was killed, and is not charged with it",
    ],
  ];

  test.for(planted)("%s", ([, change, words]) => {
    expect(check({ ...fair, ...change })).toContainEqual(expect.stringContaining(words));
  });
});

test("the checker measures a recovery from the kill until the runs are ready, and until they start", () => {
  expect(recoveries(fair.entries)).toEqual([{ ready: 1, first: 3, last: 3 }]);
  expect(summary([3, 1, 2])).toEqual({ median: 2, p95: 3, max: 3 });
});
