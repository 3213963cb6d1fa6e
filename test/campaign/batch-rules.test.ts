import { describe, expect, test } from "vitest";
import type { Entry } from "../support/journal.ts";
import { check, type Evidence, type StoredBatch, type StoredRun } from "./support/checker.ts";

const [COMPLETED, FAILED, CANCELLED] = [3, 4, 5];

const batch: StoredBatch = {
  id: 5,
  cancels: 0,
  sealed_at: 1,
  cancelled_at: null,
  finished_at: 100,
  added: 2,
  completed: 2,
  failed: 0,
  cancelled: 0,
  skipped: 0,
};

function run(id: number, batchId: string, more: Partial<StoredRun> = {}): StoredRun {
  const args = JSON.stringify({ n: 100 + id });
  const name = batchId.includes("/") ? "callback" : "member";
  return {
    id,
    name,
    state: COMPLETED!,
    attempts: 1,
    crashes: 0,
    tick_at: null,
    args,
    batch_id: batchId,
    ...more,
  };
}

function execution(id: number, job: string, from: number, more: Partial<Entry> = {}): Entry[] {
  const of = { by: "worker 1", pid: 11, run: id, attempt: 1, job };
  return [
    { ...of, at: from, what: "start" },
    { ...of, at: from + 10, what: "end", ...more },
  ];
}

type Scene = Evidence & { entries: Entry[]; finished: StoredRun[]; batches: StoredBatch[] };

/** A batch of two members that were completed, and its callbacks of success and finish. */
function scene(): Scene {
  return {
    entries: [
      { at: 1, by: "producer 1", pid: 1, what: "request", job: "member", ids: [101, 102] },
      { at: 2, by: "producer 1", pid: 1, what: "batched", ids: [5], text: "[101,102]" },
      ...execution(1, "member", 10),
      ...execution(2, "member", 20),
      ...execution(3, "callback", 40),
      ...execution(4, "callback", 41),
    ],
    finished: [run(1, "5"), run(2, "5"), run(3, "5/success"), run(4, "5/finish")],
    unfinished: [],
    batches: [{ ...batch }],
    booked: [],
    footprint: { rows: {}, connections: null },
  };
}

/** The same batch, whose second member has failed. */
function failedScene(): Scene {
  const evidence = scene();
  evidence.entries[5]!.code = "PLANNED";
  evidence.finished[1]!.state = FAILED!;
  evidence.finished[2] = run(3, "5/failure");
  Object.assign(evidence.batches[0]!, { completed: 1, failed: 1 });
  return evidence;
}

describe("the rule of batches", () => {
  test("accepts batches that counted each member and called back once", () => {
    expect(check(scene())).toEqual([]);
    expect(check(failedScene())).toEqual([]);
  });

  test("accepts a batch that stayed open, and one that its producer did not hear of", () => {
    const evidence = scene();
    evidence.entries.splice(1, 1);
    expect(check(evidence)).toEqual([]);
    const open = { ...batch, sealed_at: null, finished_at: null, added: 0, completed: 0 };
    expect(check({ ...scene(), batches: [batch, { ...open, id: 6 }] })).toEqual([]);
  });

  test("reports a batch, and a member, that was accepted and is gone", () => {
    expect(check({ ...scene(), batches: [] })).toEqual(["batch 5 was accepted and does not exist"]);
    const evidence = scene();
    evidence.finished.splice(1, 1);
    evidence.entries = evidence.entries.filter((entry) => entry.run !== 2);
    expect(check(evidence)).toEqual([
      "request 102 was accepted in batch 5 and is no member of it",
      "batch 5 counts 2 added members, and 1 are",
      "batch 5 counts 2 completed members, and 1 are",
    ]);
  });

  test("reports a batch that has not finished", () => {
    expect(check({ ...scene(), batches: [{ ...batch, finished_at: null }] })).toEqual([
      "batch 5 has not finished",
    ]);
  });

  test.each(["completed", "failed", "cancelled", "skipped", "added"] as const)(
    "reports a wrong count of %s members",
    (count) => {
      const evidence = failedScene();
      evidence.batches[0]![count]++;
      const [is, counted] = [evidence.batches[0]![count] - 1, evidence.batches[0]![count]];
      expect(check(evidence)).toEqual([`batch 5 counts ${counted} ${count} members, and ${is} are`]);
    },
  );

  test("reports a callback that was dispatched twice, or not", () => {
    const twice = scene();
    twice.finished.push(run(7, "5/finish"));
    twice.entries.push(...execution(7, "callback", 50));
    expect(check(twice)).toEqual(["batch 5 dispatched 2 callbacks of finish, where 1 must be"]);
    const never = scene();
    never.finished.splice(2, 1);
    expect(check(never)).toEqual(["batch 5 dispatched 0 callbacks of success, where 1 must be"]);
  });

  test("reports a success of a batch with a failed member, and of a cancelled one", () => {
    const evidence = failedScene();
    evidence.finished.push(run(7, "5/success"));
    evidence.entries.push(...execution(7, "callback", 50));
    expect(check(evidence)).toEqual(["batch 5 dispatched 1 callbacks of success, where 0 must be"]);
    const cancelled = scene();
    cancelled.batches[0]!.cancelled_at = 50;
    cancelled.entries.push({ at: 49, by: "operator 1", pid: 9, what: "cancel batch", ids: [5] });
    expect(check(cancelled)).toEqual(["batch 5 dispatched 1 callbacks of success, where 0 must be"]);
  });

  test("reports a callback that started before the last member had ended", () => {
    const evidence = scene();
    evidence.entries.splice(4, 2, ...execution(2, "member", 35));
    evidence.entries.sort((a, b) => a.at - b.at);
    expect(check(evidence)).toEqual(["run 2 ended after a callback of its batch 5 had started"]);
  });

  test("accepts a callback beside an attempt that had lost its run before", () => {
    const evidence = scene();
    evidence.finished[1]!.attempts = 2;
    const again = { attempt: 2, by: "worker 2", pid: 12 };
    evidence.entries.push(
      { at: 21, by: "campaign", pid: 99, what: "freeze", text: "worker 1" },
      ...execution(2, "member", 25, again).map((entry) => ({ ...entry, ...again })),
    );
    evidence.entries[5]!.at = 90;
    evidence.entries.sort((a, b) => a.at - b.at);
    // Callbacks of the other worker.
    for (const entry of evidence.entries)
      if (entry.job === "callback") Object.assign(entry, { by: "worker 2", pid: 12 });
    expect(check(evidence)).toEqual([]);
  });

  test("takes the cancellation of a batch as the cause of those of its members", () => {
    const evidence = scene();
    evidence.finished[1] = run(2, "5", { state: CANCELLED! });
    evidence.finished.splice(2, 1);
    Object.assign(evidence.batches[0]!, { completed: 1, cancelled: 1 });
    expect(check(evidence)).toEqual(["run 2 of member was cancelled by nobody"]);
    evidence.batches[0]!.cancelled_at = 50;
    expect(check(evidence)).toEqual(["batch 5 was cancelled by nobody"]);
    evidence.entries.push({ at: 49, by: "operator 1", pid: 9, what: "cancel batch", ids: [5] });
    expect(check(evidence)).toEqual([]);
  });
});
