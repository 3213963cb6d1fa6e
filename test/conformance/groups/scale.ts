import { describe, expect, test } from "vitest";
import type { DueSchedule } from "../../../src/store/definitions.ts";
import type { ClaimedRun, Store } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import { minutely, onTime, tick } from "../support/minutely.ts";
import {
  beat,
  claim,
  claimRequest,
  define,
  exchange,
  ids,
  insert,
  insertOne,
  list,
  names,
  settle,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const COLUMNS = "id, name, queue, lane, limited, priority, run_at, state, created_at";

export function scale(database: Database): void {
  describe("scale", () => {
    const at = fresh(database, "once");
    const SCHEDULED = 0;
    const READY = 1;

    /** Ids far from each other and from those of the store. */
    let lastId = 100_000;

    const fill = (count: number, fields: { name: string; limited: 0 | 1; state: number; due: number }) => {
      lastId += 200_000;
      return at.sql(
        `insert into punctual_runs (${COLUMNS})
         select ${lastId} + s.n, '${fields.name}', 'default', '${fields.name}', ${fields.limited}, 1, ${fields.due} + s.n, ${fields.state}, ${at.clock.now()}
           from ${at.series(count)} s order by s.n`,
      );
    };

    /** All statements of a worker: tick, claim under every kind of limit, start, settle, renew. */
    async function work(store: Store): Promise<void> {
      const decide = (due: DueSchedule, now: number) => ({ ...onTime(due, now), last: now, next: now + 1 });
      expect((await tick(store, { decide })).ticked).not.toEqual([]);
      const unique = { key: "again and again", until: "started" as const, for: 1000 };
      await insert(store, { unique }, { unique }, {}, {});
      await exchange(store, { claim: claimRequest({ queues: ["nothing here"] }) });
      const first = await exchange(store, {
        again: true,
        claim: claimRequest({ limit: 20, start: 10, exclude: ["theirs"] }),
      });
      expect(first.claimed.length).toBeGreaterThan(2);
      await store.renew(
        "w1",
        first.claimed.map((run) => ({ ...run, lease: 60_000 })),
      );
      const outcomes = ["completed", "retried", "failed", "snoozed", "released"] as const;
      const settle = first.claimed
        .slice(1)
        .map((run, n) => settlement(run, outcomes[n % 5]!, { error: "why", keep: n % 2 ? 0 : 1000 }));
      const started = [first.claimed[0]!];
      await exchange(store, { settle, started, claim: claimRequest({ limit: 20, start: 10 }) });
      expect(await store.start(first.claimed[0]!, false)).toBe(true);
      await store.progress(first.claimed[0]!, "1");
      await store.cancel(first.claimed[0]!.id, null);
      await exchange(store);
    }

    async function explained(): Promise<void> {
      const plans = await at.plans(work);
      expect(plans.length).toBeGreaterThan(10);
      expect(plans.filter(({ faults }) => faults.length > 0)).toEqual([]);
    }

    async function everyKindOfRun(): Promise<void> {
      await beat(at.store, "w1");
      await define(
        at.store,
        [
          { name: "job", limit: 3, keyLimit: 1 },
          { name: "paused" },
          { name: "theirs", schedules: [minutely({ next: (after) => after + 1 })] },
        ],
        {
          queues: [
            { name: "default", limit: 50 },
            { name: "other", limit: 0 },
          ],
        },
      );
      await at.store.pauseJob("paused", true);
      await at.store.pauseQueue("other", true, null);
      await insert(
        at.store,
        ...times(100, (n) => ({ key: `k${n % 2}` })),
        ...times(100, () => ({ name: "free", queue: "wide" })),
        ...times(20, () => ({ name: "theirs" })),
        ...times(20, () => ({ name: "paused" })),
        { owner: "w1", lane: "1|adhoc" },
        { name: "free", delay: 1, unique: { key: "u", until: "started", for: 0 } },
      );
      await at.clock.advance("1ms");
    }

    test("no statement of a worker scans or sorts", async () => {
      await everyKindOfRun();
      await explained();
    });

    test("30,000 ready runs: no statement scans or sorts", async () => {
      await fill(30_000, { name: "free", limited: 0, state: READY, due: at.clock.now() - 200_000 });
      await everyKindOfRun();
      await explained();
    });

    test("10,000 runs since the last statistics of the database: no statement scans or sorts", async () => {
      await at.stopCounting();
      await fill(5000, { name: "free", limited: 0, state: READY, due: at.clock.now() - 200_000 });
      await fill(5000, { name: "job", limited: 1, state: READY, due: at.clock.now() - 200_000 });
      await everyKindOfRun();
      await explained();
    });

    test("30,000 runs behind a full limit: one exchange finds the open job behind them, without a scan", async () => {
      await define(at.store, [
        { name: "closed", limit: 1 },
        { name: "open", limit: 1 },
      ]);
      await fill(30_000, { name: "closed", limited: 1, state: READY, due: at.clock.now() - 200_000 });
      expect(await claim(at.store)).toHaveLength(1);
      const [open, free] = await insert(
        at.store,
        { name: "open", priority: 2 },
        { name: "free", priority: 3 },
      );
      expect(ids(await claim(at.store))).toEqual([open, free]);
      expect(await claim(at.store)).toEqual([]);
      await everyKindOfRun();
      await explained();
    });

    test("behind a full limit a claim reads as many rows of 20,000 as of 1,000", async () => {
      const readWith = async (count: number) => {
        await fill(count, { name: "closed", limited: 1, state: READY, due: at.clock.now() - 200_000 });
        await insert(at.store, { name: "open", priority: 2 }, { name: "free", priority: 3 });
        let claimed: ClaimedRun[] = [];
        const plans = await at.plans(async (store) => {
          claimed = await claim(store);
        });
        expect(names(claimed)).toEqual(["open", "free"]);
        for (const run of claimed) await settle(at.store, run, "completed");
        return plans.reduce((sum, { rows }) => sum + rows, 0);
      };
      await define(at.store, [{ name: "closed", limit: 1 }, { name: "open", limit: 9 }, { name: "free" }]);
      await insertOne(at.store, { name: "closed" });
      await claim(at.store);
      const few = await readWith(1000);
      // A store may begin its walk at a random lane, so that the number of rows varies.
      expect(await readWith(20_000)).toBeLessThan(few * 1.5);
    });

    test("a claim reads as many rows behind 20,000 runs of jobs that are not defined here as behind none", async () => {
      await fill(20_000, { name: "theirs", limited: 0, state: READY, due: at.clock.now() - 200_000 });
      const ours = await insert(at.store, { name: "ours" }, { name: "ours" }, { name: "also ours" });
      const exclude = ["theirs"];
      let claimed: ClaimedRun[] = [];
      const plans = await at.plans(async (store) => {
        claimed = await claim(store, { exclude, limit: 2 });
        claimed.push(...(await claim(store, { exclude })));
      });
      expect(ids(claimed)).toEqual(ours);
      expect(plans.filter(({ faults }) => faults.length > 0)).toEqual([]);
      // SQLite does not report how many rows a statement skips.
      const skipping = plans.filter(({ statement }) => statement.includes("name not in"));
      expect(skipping).not.toEqual([]);
      expect(skipping.flatMap(({ steps }) => steps).filter((step) => step.includes("runs_ready"))).toEqual(
        [],
      );
    });

    test("of 10,000 runs beside those of jobs that are not defined here a claim reads only the first", async () => {
      for (const name of ["theirs", "ours"])
        await fill(10_000, { name, limited: 0, state: READY, due: at.clock.now() - 200_000 });
      const plans = await at.plans(async (store) => {
        expect(names(await claim(store, { exclude: ["theirs"], limit: 2 }))).toEqual(["ours", "ours"]);
      });
      expect(plans.filter(({ faults }) => faults.length > 0)).toEqual([]);
    });

    test("30,000 delayed runs: a claim does not read them", async () => {
      await fill(30_000, { name: "later", limited: 0, state: SCHEDULED, due: at.clock.now() + 60_000 });
      expect(await claim(at.store)).toEqual([]);
      const id = await insertOne(at.store, { priority: 9 });
      const answer = await exchange(at.store, { claim: claimRequest() });
      expect(ids(answer.claimed)).toEqual([id]);
      expect(answer.nextDue).toBe(at.clock.now() + 60_001);
      await everyKindOfRun();
      await explained();
    });

    test("30,000 finished runs: the surplus is found and deleted without reading the others", async () => {
      const columns =
        "id, name, queue, lane, limited, priority, run_at, state, attempts, crashes, finished_at, created_at";
      const finished = (count: number, name: string) => {
        lastId += 100_000;
        return at.sql(
          `insert into punctual_history (${columns})
           select ${lastId} + s.n, '${name}', 'default', '${name}', 0, 1, 0, 3, 1, 0, 0, 0 from ${at.series(count)} s`,
        );
      };
      for (let n = 0; n < 90; n++) await finished(300, `job ${n}`);
      await finished(2400, "job 91");
      const rest = { finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null };
      const plans = await at.plans(async (store) => {
        expect((await store.prune({ ...rest, keep: 300, batch: 500 })).history).toBe(2100);
      });
      const told = plans.filter(({ statement }) => /punctual_(history|attempts)/.test(statement));
      expect(told.length).toBeGreaterThan(3);
      expect(told.filter(({ faults }) => faults.length > 0)).toEqual([]);
    });

    test("the check detects a statement that scans the backlog", async () => {
      await fill(10_000, { name: "later", limited: 0, state: SCHEDULED, due: at.clock.now() + 60_000 });
      const plans = await at.plans(async (store) => {
        expect(await list(store, { tag: "nobody has it", limit: 1 })).toEqual([]);
      });
      expect(plans.flatMap(({ faults }) => faults)).not.toEqual([]);
    });
  });
}
