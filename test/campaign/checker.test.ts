import { describe, expect, test } from "vitest";
import type { Entry } from "../support/journal.ts";
import { check, type Evidence, type StoredRun } from "./support/checker.ts";

const COMPLETED = 3;

/** A run of request 7 that was accepted, executed once and completed. */
function scene(job = "free"): Evidence & { entries: Entry[]; finished: StoredRun[] } {
  const of = { run: 1, attempt: 1, job, key: "key 1" };
  return {
    entries: [
      entry(1, "producer", "request", { job, ids: [7] }),
      entry(2, "producer", "accepted", { job, key: "key 1", ids: [1], text: "[7]" }),
      entry(10, "worker 1", "start", of),
      entry(20, "worker 1", "end", of),
    ],
    finished: [stored(1, job, { n: 7 })],
    unfinished: [],
    batches: [],
    booked: job === "ledger" ? [1] : [],
    footprint: { rows: {}, connections: null },
  };
}

const pids: Record<string, number> = { producer: 1, "worker 1": 11, "worker 2": 12 };

function entry(at: number, by: string, what: string, more: Partial<Entry> = {}): Entry {
  return { at, by, pid: pids[by] ?? 99, what, ...more };
}

function stored(id: number, name: string, args: object, more: Partial<StoredRun> = {}): StoredRun {
  const run = { id, name, state: COMPLETED, attempts: 1, crashes: 0, tick_at: null, batch_id: null };
  return { ...run, args: JSON.stringify(args), ...more };
}

/** Adds a second run of the job that is executed from `from` to `to` on another worker. */
function addRun(
  evidence: ReturnType<typeof scene>,
  from: number,
  to: number,
  more: Partial<Entry> = {},
): void {
  const { name } = evidence.finished[0]!;
  const of = { run: 2, attempt: 1, job: name, key: "key 1", ...more };
  evidence.entries.push(entry(3, "producer", "accepted", { job: name, key: "key 1", ids: [2], text: "[8]" }));
  evidence.entries.push(entry(from, "worker 2", "start", of), entry(to, "worker 2", "end", of));
  evidence.entries.sort((a, b) => a.at - b.at);
  evidence.finished.push(stored(2, name, { n: 8 }));
}

describe("the checker of campaigns", () => {
  test.each(["free", "serial", "keyed", "ledger"])("accepts a run of %s that was executed once", (job) => {
    expect(check(scene(job))).toEqual([]);
  });

  test("reports a run that was accepted and is gone", () => {
    const evidence = { ...scene(), finished: [] };
    expect(check(evidence)).toEqual(["request 7 was accepted as run 1, which does not exist"]);
  });

  test("reports a run that is left unfinished", () => {
    const evidence = scene();
    const unfinished = evidence.finished.splice(0).map((run) => ({ ...run, state: 1 }));
    expect(check({ ...evidence, unfinished })).toEqual(["run 1 of free is left in state 1"]);
  });

  test("reports a request that was inserted twice", () => {
    const evidence = scene();
    evidence.finished.push(stored(2, "free", { n: 7 }));
    expect(check(evidence)).toContain("request 7 was inserted as runs 1 and 2");
  });

  test("reports an outcome that no handler caused", () => {
    const evidence = scene();
    evidence.entries.splice(3);
    expect(check(evidence)).toEqual(["run 1 of free completed, and no handler of it returned"]);
    const cancelled = { ...scene(), finished: [stored(1, "free", { n: 7 }, { state: 5 })] };
    expect(check(cancelled)).toEqual(["run 1 of free was cancelled by nobody"]);
    const failed = { ...scene(), finished: [stored(1, "free", { n: 7 }, { state: 4 })] };
    expect(check(failed)).toEqual(["run 1 of free failed after 0 failures and 0 crashes"]);
  });

  test("reports an attempt that started twice, and at once", () => {
    const evidence = scene();
    const of = { run: 1, attempt: 1, job: "free", key: null };
    evidence.entries.push(entry(15, "worker 2", "start", of), entry(25, "worker 2", "end", of));
    evidence.entries.sort((a, b) => a.at - b.at);
    expect(check(evidence)).toEqual([
      "attempt 1 of run 1 started in worker 1 and in worker 2",
      "run 1 ran 2 times at once",
    ]);
  });

  test.each(["abort", "kill", "freeze"])("trusts no execution after %s of its worker", (what) => {
    const evidence = scene();
    const of = { run: 1, attempt: 1, job: "free" };
    const again = { ...of, attempt: 2 };
    evidence.entries.splice(3, 1);
    const more = what === "abort" ? of : { text: "worker 1" };
    evidence.entries.push(
      entry(12, what === "abort" ? "worker 1" : "campaign", what, more),
      entry(15, "worker 2", "start", again),
      entry(25, "worker 2", "end", again),
    );
    expect(check(evidence)).toEqual([]);
  });

  test("reports an outcome that was written over that of the last attempt", () => {
    const evidence = scene();
    evidence.finished[0]!.attempts = 2;
    evidence.entries.push(entry(21, "worker 1", "run.lost", { run: 1, attempt: 1, text: "lease" }));
    expect(check(evidence)).toEqual([]);
    evidence.entries.push(entry(22, "worker 2", "run.lost", { run: 1, attempt: 2, text: "lease" }));
    expect(check(evidence)).toEqual([]);
    const of = { run: 1, attempt: 2, job: "free" };
    evidence.entries.push(entry(30, "worker 2", "start", of), entry(40, "worker 2", "end", of));
    expect(check(evidence)).toEqual([]);
    evidence.entries.push(entry(41, "worker 2", "run.lost", { run: 1, attempt: 2, text: "lease" }));
    expect(check(evidence)).toEqual([
      "attempt 2 of run 1 in worker 2 lost its run, which no later attempt took",
    ]);
  });

  test("accepts a completed run whose worker stopped without an answer", () => {
    const evidence = scene();
    evidence.entries.push(entry(21, "worker 1", "run.lost", { run: 1, attempt: 1, text: "database" }));
    expect(check(evidence)).toEqual([]);
  });

  test("trusts an execution through a short freeze", () => {
    const evidence = scene("serial");
    addRun(evidence, 15, 25);
    const text = "worker 1";
    evidence.entries.push(entry(11, "campaign", "freeze", { text }), entry(12, "campaign", "thaw", { text }));
    evidence.entries.sort((a, b) => a.at - b.at);
    expect(check(evidence)).toEqual(["2 runs of the job serial at once, where 1 may be"]);
  });

  test.each([
    ["serial", "2 runs of the job serial at once, where 1 may be"],
    ["keyed", "2 runs of the job keyed with the key key 1 at once, where 1 may be"],
  ])("reports a limit of %s that was exceeded", (job, message) => {
    const evidence = scene(job);
    addRun(evidence, 15, 25);
    expect(check(evidence)).toEqual([message]);
    const later = scene(job);
    addRun(later, 20, 25);
    expect(check(later)).toEqual([]);
  });

  test("reports two holders of a unique key", () => {
    const evidence = scene("unique");
    addRun(evidence, 30, 40);
    const [accepted] = evidence.entries.filter(({ at }) => at === 3);
    accepted!.at = 25;
    expect(check(evidence)).toEqual([]);
    accepted!.at = 15;
    expect(check(evidence)).toEqual(["runs 1 and 2 held the unique key key 1 at once"]);
  });

  test("judges holders of a unique key by time, not by the ids that producers have reserved", () => {
    const evidence = scene("unique");
    evidence.entries.push(
      entry(40, "producer", "accepted", { job: "unique", key: "key 1", ids: [0], text: "[8]" }),
    );
    const of = { run: 0, attempt: 1, job: "unique", key: "key 1" };
    evidence.entries.push(entry(50, "worker 2", "start", of), entry(60, "worker 2", "end", of));
    evidence.finished.push(stored(0, "unique", { n: 8 }));
    expect(check(evidence)).toEqual([]);
  });

  test("trusts no execution through a lapse of its process, or of its supervisor", () => {
    for (const [by, lapsed] of [
      ["worker 1", "worker 1"],
      ["supervisor 1, child", "supervisor 1"],
    ] as const) {
      const evidence = scene("serial");
      for (const one of evidence.entries) if (one.by === "worker 1") Object.assign(one, { by });
      addRun(evidence, 15, 25);
      evidence.entries.push(entry(30, lapsed, "lapse", { ids: [18] }));
      expect(check(evidence)).toEqual([]);
      evidence.entries.at(-1)!.ids = [10];
      expect(check(evidence)).toHaveLength(1);
    }
  });

  test("takes the row of a ledger as the end of its handler", () => {
    const evidence = scene("ledger");
    evidence.entries[3]!.code = "DATABASE_UNAVAILABLE";
    expect(check(evidence)).toEqual([]);
    evidence.entries.splice(2);
    expect(check(evidence)).toEqual(["run 1 of ledger completed, and no handler of it returned"]);
  });

  test("reports runs of a lane that started in another order", () => {
    const evidence = scene("serial");
    addRun(evidence, 5, 9);
    for (const one of evidence.entries) if (one.by === "worker 2") Object.assign(one, { pid: 11 });
    expect(check(evidence)).toEqual(["run 2 of the lane started before run 1"]);
    evidence.entries.push(entry(6, "worker 2", "run.released", { run: 1 }));
    expect(check(evidence)).toEqual([]);
  });

  test("reports ticks that were made twice, or not", () => {
    const ticks = [1000, 2000, 2000, 5000].map((tick_at, index) =>
      stored(10 + index, "ticking", {}, { tick_at, state: 6 }),
    );
    const evidence = scene();
    evidence.finished.push(...ticks);
    expect(check(evidence)).toEqual([
      "the tick of second 2 of ticking was made twice",
      "2 ticks before second 5 of ticking are missing",
    ]);
  });

  test("reports a tick that a renamed job made under both names", () => {
    const evidence = scene();
    const ticks = ["beat", "beat.next"].map((name, index) =>
      stored(10 + index, name, {}, { tick_at: 2000, state: 6 }),
    );
    evidence.finished.push(...ticks);
    expect(check(evidence)).toEqual(["the tick of second 2 of beat was made twice"]);
  });

  test("reports runs that started in another order than their priorities", () => {
    const evidence = scene("ranked");
    evidence.entries[1]!.ids = [1, 2];
    evidence.entries[1]!.text = "[7,8]";
    addRun(evidence, 30, 40);
    evidence.entries = evidence.entries.filter(({ at }) => at !== 3);
    evidence.finished = [stored(1, "ranked", { n: 7, rank: 1 }), stored(2, "ranked", { n: 8, rank: 2 })];
    expect(check(evidence)).toEqual([]);
    evidence.finished[0]!.args = JSON.stringify({ n: 7, rank: 3 });
    expect(check(evidence)).toEqual(["run 2 of priority 2 started after run 1 of priority 3"]);
  });

  test("reports tables, pools and processes that grow", () => {
    const evidence = scene();
    evidence.footprint = {
      rows: { workers: 3, gates: 256, rates: 7, batch_counts: 1 },
      connections: { idle: 500, left: 40 },
    };
    evidence.entries.push(entry(30, "worker 1", "figures", { ids: [9000] }));
    const steps = Array.from({ length: 200 }, (_, index) =>
      entry(31, "worker 2", "figures", { ids: [100 + 2 * index] }),
    );
    evidence.entries.push(...steps);
    expect(check(evidence)).toEqual([
      "the table rates has 7 rows, where 6 may be",
      "the table batch_counts has 1 rows, where 0 may be",
      "the table workers has 3 rows, where 0 may be",
      "the fleet has 500 connections while it idles, where 88 may be",
      "40 connections are left of processes that have ended",
      "worker 1 (11) took 9000 MiB of memory",
      "worker 2 (12) grew from 250 to 450 MiB of memory",
    ]);
  });

  test("judges the memory of a process that has lived for six minutes", () => {
    const grown = (count: number) => {
      const evidence = scene();
      const sizes = Array.from({ length: count }, (_, index) => (index < count / 2 ? 100 : 400));
      evidence.entries.push(...sizes.map((size) => entry(30, "veteran", "figures", { ids: [size] })));
      return check(evidence);
    };
    expect(grown(71)).toEqual([]);
    expect(grown(72)).toEqual(["veteran (99) grew from 100 to 400 MiB of memory"]);
  });

  test("accepts the counts of a batch that is left open", () => {
    const evidence = scene();
    const counts = { added: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
    const open = { id: 1, cancels: 0, sealed_at: null, cancelled_at: null, finished_at: null, ...counts };
    evidence.batches = [open];
    evidence.footprint = { rows: { batch_counts: 13 }, connections: null };
    expect(check(evidence)).toEqual([]);
    evidence.footprint.rows.batch_counts = 14;
    expect(check(evidence)).toEqual(["the table batch_counts has 14 rows, where 13 may be"]);
  });

  test("reports a named limit that the runs of two jobs exceed together", () => {
    const evidence = scene("priced");
    for (const id of [2, 3]) {
      const of = { run: id, attempt: 1, job: "flat", key: null };
      evidence.entries.push(entry(12, "worker 2", "start", of), entry(18, "worker 2", "end", of));
      evidence.finished.push(stored(id, "flat", { n: 100 + id }));
    }
    expect(check(evidence)).toEqual([]);
    const of = { run: 4, attempt: 1, job: "priced", key: null };
    evidence.entries.push(entry(13, "worker 2", "start", of), entry(17, "worker 2", "end", of));
    evidence.finished.push(stored(4, "priced", { n: 104 }));
    expect(check(evidence)).toEqual(["4 runs of the limit api at once, where 3 may be"]);
  });

  test("reports a ledger that was not written exactly once", () => {
    expect(check({ ...scene("ledger"), booked: [] })).toEqual([
      "run 1 of the ledger is in state 3 and wrote 0 rows",
    ]);
    expect(check({ ...scene("ledger"), booked: [1, 1] })).toEqual([
      "run 1 of the ledger is in state 3 and wrote 2 rows",
    ]);
  });
});
