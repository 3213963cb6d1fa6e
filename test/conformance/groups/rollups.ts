import { describe, expect, test } from "vitest";
import { type EndedAttempt, Rollups } from "../../../src/run/rollups.ts";
import type { RollupCount, RollupRequest, RollupSurvey } from "../../../src/store/rollups.ts";
import { fresh } from "../support/fresh.ts";
import { define } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const attempt: EndedAttempt = { job: "mail", queue: "bulk", outcome: "completed", waited: 7, took: 30 };

function countsOf(attempts: (Partial<EndedAttempt> & { minute: number })[]): RollupCount[] {
  const rollups = new Rollups();
  for (const { minute, ...given } of attempts) rollups.add({ ...attempt, ...given }, minute);
  return rollups.take();
}

export function rollups(database: Database): void {
  describe("rollups", () => {
    const at = fresh(database);
    const outcomes = async (request: Partial<RollupRequest> = {}) => {
      const all: RollupRequest = { grain: 60, scope: "all", name: "", from: 0, to: Number.MAX_SAFE_INTEGER };
      const rows = await at.store.rollups({ ...all, ...request });
      return rows.filter(({ measure }) => measure === "outcome").map(({ minute, count }) => [minute, count]);
    };

    test("of several processes add up", async () => {
      const counts = countsOf([{ minute: 120 }, { minute: 121 }]);
      await Promise.all([1, 2, 3].map(() => at.store.flush([], counts)));
      expect(await outcomes()).toEqual([[120, 6]]);
      expect(await outcomes({ grain: 1 })).toEqual([
        [120, 3],
        [121, 3],
      ]);
    });

    test("are read by subject and span, in order of time", async () => {
      await at.store.flush([], countsOf([{ minute: 180 }, { minute: 60 }, { minute: 120, job: "sms" }]));
      expect(await outcomes({ scope: "job", name: "mail" })).toEqual([
        [60, 1],
        [180, 1],
      ]);
      expect(await outcomes({ scope: "queue", name: "bulk", from: 60, to: 180 })).toEqual([
        [60, 1],
        [120, 1],
      ]);
      expect(await outcomes({ scope: "job", name: "MAIL" })).toEqual([]);
    });

    test("of all jobs or queues are summed over longer spans, by name", async () => {
      const attempts = [{ minute: 103 }, { minute: 104 }, { minute: 107 }, { minute: 99 }, { minute: 110 }];
      await at.store.flush([], countsOf([...attempts, { minute: 105, job: "sms", outcome: "failed" }]));
      const survey = async (request: Partial<RollupSurvey>) => {
        const all: RollupSurvey = { grain: 1, scope: "job", from: 100, to: 110, step: 5, limit: 100 };
        const rows = await at.store.surveyRollups({ ...all, ...request });
        return rows
          .filter(({ measure }) => measure === "outcome")
          .map(({ name, minute, bucket, count }) => [name, minute, bucket, count]);
      };
      expect(await survey({})).toEqual([
        ["mail", 100, 0, 2],
        ["mail", 105, 0, 1],
        ["sms", 105, 2, 1],
      ]);
      expect(await survey({ scope: "queue", step: 10 })).toEqual([
        ["bulk", 100, 0, 3],
        ["bulk", 100, 2, 1],
      ]);
      expect((await survey({ limit: 1 })).length).toBeLessThan(2);
    });

    test("of a former name count for the current name, before and after the rename", async () => {
      await define(at.store, [{ name: "mail" }]);
      await at.store.flush([], countsOf([{ minute: 60 }]));
      await define(at.store, [{ name: "post", formerly: ["mail"] }]);
      await at.store.flush([], countsOf([{ minute: 60 }, { minute: 60, job: "post" }]));
      expect(await outcomes({ scope: "job", name: "mail" })).toEqual([]);
      expect(await outcomes({ scope: "job", name: "post" })).toEqual([[60, 3]]);
    });

    test("are pruned by grain: minutes first, hours last", async () => {
      const now = Math.floor((await at.store.now()) / 60_000);
      const old = now - 24 * 60;
      await at.store.flush([], countsOf([{ minute: now }, { minute: old }]));
      await at.store.prune({ finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 1000 });
      expect(await outcomes({ grain: 1 })).toEqual([[now, 1]]);
      expect((await outcomes({ grain: 10 })).length).toBe(2);
      expect((await outcomes({ grain: 60 })).length).toBe(2);
    });
  });
}
