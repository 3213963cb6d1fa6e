import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sleepReal, systemClock } from "../../../src/time.ts";
import { mostInWindow } from "../../support/rate-journal.ts";
import { scriptPath } from "../support/processes.ts";
import { define, insert, times } from "../support/requests.ts";
import type { Database, Opened } from "../support/stores.ts";

const RACERS = 5;

/** How often the processes are killed and replaced, and the time between, in milliseconds. */
const KILLS = 8;
const BETWEEN = 600;

interface Start {
  name: string;
  lane: string;
  queue: string;
  at: number;
}

export function racingRates(database: Database): void {
  describe("processes that race for starts, and are killed", () => {
    let at: Opened;
    beforeEach(async () => {
      at = await database.open(systemClock);
      await at.store.install();
    });
    afterEach(() => at.teardown());

    test("no window has more starts than the rate", async () => {
      const job = { limit: 12, per: 400, burst: null };
      const key = { limit: 4, per: 300, burst: 2 };
      const queue = { limit: 30, per: 700, burst: null };
      await define(
        at.store,
        [
          { name: "job", rates: { job, key: null } },
          { name: "keyed", limit: 50, rates: { job: null, key } },
          { name: "free" },
        ],
        { queues: [{ name: "small", limit: 0, rate: queue }] },
      );
      // Mixed, so that every claim sees runs of each job.
      await insert(
        at.store,
        ...times(1500, (n) => [
          { name: "job", queue: n % 3 ? "small" : "default" },
          { name: "keyed", key: `k${n % 3}`, queue: n % 2 ? "small" : "default" },
          { name: "free", queue: "small" },
        ]).flat(),
      );
      const starter = (n: number) =>
        spawn(process.execPath, [scriptPath("rate-racer.ts"), at.url, `racer-${n}`], { stdio: "inherit" });
      const kill = async (child: ChildProcess) => {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error("a racer has ended by itself");
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      };
      const racers = times(RACERS, starter);
      for (const n of times(KILLS, (n) => n)) {
        await sleepReal(BETWEEN);
        await kill(racers[n % RACERS]!);
        racers[n % RACERS] = starter(RACERS + n);
      }
      for (const racer of racers) await kill(racer);
      // Each run has started once, and the database has the time: also if its process died before it knew.
      const read = (column: string, rows: string) =>
        at.sql<Start & { attempts: number }>(
          `select name, lane, queue, ${column} as at, attempts from punctual_${rows}`,
        );
      const starts = [
        ...(await read("started_at", "runs where state = 2")),
        ...(await read("result", "history")),
      ];
      expect(starts.filter(({ attempts, at }) => attempts !== 1 || at === null)).toEqual([]);
      const startsOf = (is: (start: Start) => boolean) => starts.filter(is).map((start) => Number(start.at));
      const ofJob = startsOf(({ name }) => name === "job");
      expect(mostInWindow(ofJob, job.per)).toBeLessThanOrEqual(job.limit);
      for (const lane of ["keyed|k0", "keyed|k1", "keyed|k2"]) {
        const ofKey = startsOf((start) => start.lane === lane);
        expect(mostInWindow(ofKey, key.per)).toBeLessThanOrEqual(key.limit);
        expect(ofKey.length).toBeGreaterThan(0);
      }
      const ofQueue = startsOf((start) => start.queue === "small");
      expect(mostInWindow(ofQueue, queue.per)).toBeLessThanOrEqual(queue.limit);
      // The rates were used.
      expect(ofJob.length).toBeGreaterThan(job.limit);
      expect(ofQueue.length).toBeGreaterThan(queue.limit);
    });
  });
}
