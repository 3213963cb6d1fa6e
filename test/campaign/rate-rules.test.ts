import { describe, expect, test } from "vitest";
import type { Entry } from "../support/journal.ts";
import { check, type Evidence, type StoredRun } from "./support/checker.ts";
import { RATES } from "./support/load.ts";

/** A start of a run under a rate: when it was requested and started, and the time that its claim has written. */
interface Start {
  requested: number;
  started: number;
  claimed?: number;
  key?: string;
  attempt?: number;
}

/** Runs of one job that were executed once each. */
function evidenceOf(job: string, starts: Start[]): Evidence {
  const finished: StoredRun[] = starts.map((_, index) => ({
    id: index + 1,
    name: job,
    state: 3,
    attempts: 1,
    crashes: 0,
    tick_at: null,
    args: JSON.stringify({ n: 100 + index }),
    batch_id: null,
  }));
  const entries = starts.flatMap((start, index): Entry[] => {
    const { requested, started, claimed, key = "key 1", attempt = 1 } = start;
    const of = { pid: 11, by: "worker 1", run: index + 1, attempt, job, key };
    const n = 100 + index;
    return [
      { at: requested, by: "producer 1", pid: 1, what: "request", job, ids: [n] },
      {
        at: requested + 1,
        by: "producer 1",
        pid: 1,
        what: "accepted",
        job,
        key,
        ids: [index + 1],
        text: `[${n}]`,
      },
      { ...of, at: started, what: "start" },
      ...(claimed === undefined ? [] : [{ ...of, at: started + 1, what: "claimed", ids: [claimed] }]),
      { ...of, at: started + 5, what: "end" },
    ];
  });
  return {
    entries: entries.sort((a, b) => a.at - b.at),
    finished,
    unfinished: [],
    batches: [],
    booked: [],
    footprint: { rows: {}, connections: null },
  };
}

const times = <Item>(count: number, make: (index: number) => Item) =>
  Array.from({ length: count }, (_, index) => make(index));

describe("the rule of rates", () => {
  const { limit, per } = RATES.job.metered!;

  test("accepts as many starts as the rate admits in a window, and as many in the next", () => {
    const starts = times(2 * limit, (index) => {
      const time = index < limit ? 5000 : 5000 + per;
      return { requested: 10, started: time, claimed: time };
    });
    expect(check(evidenceOf("metered", starts))).toEqual([]);
  });

  test("reports a window with one start more, by the times that the claims have written", () => {
    // Requested long before, so that the journal alone cannot tell when they were claimed.
    const starts = times(limit + 1, (index) => ({ requested: 10, started: 9000, claimed: 5000 + index }));
    expect(check(evidenceOf("metered", starts))).toEqual([
      `${limit + 1} runs of the job metered started within 1000 ms by the clock of the database, where ${limit} may`,
    ]);
    starts.at(-1)!.claimed = 5000 + per;
    expect(check(evidenceOf("metered", starts))).toEqual([]);
  });

  test("accepts a second attempt, which may have been claimed before the time in its row", () => {
    const starts: Start[] = times(limit + 1, () => ({ requested: 10, started: 9000, claimed: 5000 }));
    starts[0]!.attempt = 2;
    expect(check(evidenceOf("metered", starts))).toEqual([]);
  });

  test("reports a window with one start more by the journal, whatever the claims have written", () => {
    const starts = times(limit + 1, (index) => ({
      requested: 5000,
      started: 5100 + index,
      claimed: 5000 + index * per,
    }));
    expect(check(evidenceOf("metered", starts))).toEqual([
      `${limit + 1} runs of the job metered started within 1000 ms by the clock of the journal, where ${limit} may`,
    ]);
    // One that was requested before may have been claimed before.
    starts[0]!.requested = 100;
    expect(check(evidenceOf("metered", starts))).toEqual([]);
  });

  test("counts every attempt of a run, each claimed after the one before", () => {
    const evidence = evidenceOf(
      "metered",
      times(limit, () => ({ requested: 5000, started: 5100 })),
    );
    const again = { by: "worker 2", pid: 12, run: 1, attempt: 2, job: "metered", key: null };
    const entries = [
      ...evidence.entries,
      { ...again, at: 5200, what: "start" },
      { ...again, at: 5210, what: "end" },
    ];
    expect(check({ ...evidence, entries })).toEqual([
      `${limit + 1} runs of the job metered started within 1000 ms by the clock of the journal, where ${limit} may`,
    ]);
  });

  test("reports the rate of a key, and takes keys one by one", () => {
    const most = RATES.key.quota!.limit;
    const starts = times(most + 1, () => ({ requested: 10, started: 9000, claimed: 5000, key: "key 1" }));
    expect(check(evidenceOf("quota", starts))).toEqual([
      `${most + 1} runs of the job quota with the key key 1 started within 1000 ms by the clock of the database, where ${most} may`,
    ]);
    starts[0]!.key = "key 2";
    expect(check(evidenceOf("quota", starts))).toEqual([]);
  });

  test("adds what the starts under a named limit cost, by both clocks", () => {
    const most = RATES.named.api!.limit;
    // Each costs 3 but the last.
    const evidence = (starts: Start[]): Evidence => {
      const made = evidenceOf("priced", starts);
      const finished = made.finished.map((run, index) => ({
        ...run,
        args: JSON.stringify({ n: 100 + index, cost: index * 3 < most ? 3 : 1 }),
      }));
      return { ...made, finished };
    };
    const byDatabase = times(most / 3 + 1, (index) => ({
      requested: 10,
      started: 9000 + 10 * index,
      claimed: 5000,
    }));
    expect(check(evidence(byDatabase.slice(1)))).toEqual([]);
    const message = `${most + 1} units of the limit api started within 1000 ms by the clock of the`;
    expect(check(evidence(byDatabase))).toEqual([`${message} database, where ${most} may`]);
    const byJournal = times(most / 3 + 1, (index) => ({ requested: 5000, started: 5100 + 10 * index }));
    expect(check(evidence(byJournal))).toEqual([`${message} journal, where ${most} may`]);
  });
});
