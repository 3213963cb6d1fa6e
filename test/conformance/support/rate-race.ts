import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import { sleepReal } from "../../../src/time.ts";
import { eventually } from "../../support/eventually.ts";
import { mostInWindow } from "../../support/rate-journal.ts";
import { scriptPath } from "./processes.ts";
import { define, insert, times } from "./requests.ts";

const RACERS = 5;

/** How often a process is killed and replaced, and between two kills: milliseconds, and starts at least. */
const KILLS = 8;
const BETWEEN = 600;
const STARTS = 10;

const JOB = { limit: 12, per: 400, burst: null };
const KEY = { limit: 4, per: 300, burst: 2 };
const QUEUE = { limit: 30, per: 700, burst: null };
/** Two jobs share it. The key of a run is what its start costs. */
const NAMED = { limit: 20, per: 500, burst: null };

interface Start {
  name: string;
  lane: string;
  queue: string;
  at: number;
}

interface RacedDatabase {
  store: Store;
  sql<Row>(text: string): Promise<Row[]>;
}

/**
 * Lets processes race for runs under the rates of a job, of keys, of a queue and of a named limit, kills one after the
 * other, and expects that no window has more starts than its rate. The processes connect to the URLs in turn.
 */
export async function raceForStarts(at: RacedDatabase, urls: string[]): Promise<void> {
  await define(
    at.store,
    [
      { name: "job", rates: { job: JOB, key: null } },
      { name: "keyed", limit: 50, rates: { job: null, key: KEY } },
      { name: "free" },
      { name: "dear", rates: { job: null, key: null, under: { limit: "api", hasCost: true } } },
      { name: "cheap", rates: { job: null, key: null, under: { limit: "api", hasCost: false } } },
    ],
    {
      queues: [{ name: "small", limit: 0, rate: QUEUE }],
      limits: [{ name: "api", limit: 0, rate: NAMED }],
    },
  );
  // Mixed, so that every claim sees runs of each job.
  await insert(
    at.store,
    ...times(1500, (n) => [
      { name: "job", queue: n % 3 ? "small" : "default" },
      { name: "keyed", key: `k${n % 3}`, queue: n % 2 ? "small" : "default" },
      { name: "free", queue: "small" },
      { name: "dear", key: String(2 + (n % 4)), cost: 2 + (n % 4) },
      { name: "cheap", key: "1", queue: "api" },
    ]).flat(),
  );
  await race(at, urls);
  expectRates(await readStarts(at));
}

async function race(at: RacedDatabase, urls: string[]): Promise<void> {
  const starter = (n: number) => {
    const args = [scriptPath("rate-racer.ts"), urls[n % urls.length]!, `racer-${n}`];
    return spawn(process.execPath, args, { stdio: "inherit" });
  };
  const racers = times(RACERS, starter);
  for (const n of times(KILLS, (n) => n)) {
    await sleepReal(BETWEEN);
    await eventually("more starts", async () => (await readStarts(at)).length >= STARTS * (n + 1), 60_000);
    await kill(racers[n % RACERS]!);
    racers[n % RACERS] = starter(RACERS + n);
  }
  for (const racer of racers) await kill(racer);
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error("a racer has ended by itself");
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** Each run has started once, and the database has the time: also if its process died before it knew. */
async function readStarts({ sql }: RacedDatabase): Promise<Start[]> {
  const read = (column: string, rows: string) =>
    sql<Start & { attempts: number }>(
      `select name, lane, queue, ${column} as at, attempts from punctual_${rows}`,
    );
  const starts = [
    ...(await read("started_at", "runs where state = 2")),
    ...(await read("result", "history")),
  ];
  expect(starts.filter(({ attempts, at }) => attempts !== 1 || at === null)).toEqual([]);
  return starts;
}

function expectRates(starts: Start[]): void {
  const startsOf = (is: (start: Start) => boolean) => starts.filter(is).map((start) => Number(start.at));
  const ofJob = startsOf(({ name }) => name === "job");
  expect(mostInWindow(ofJob, JOB.per)).toBeLessThanOrEqual(JOB.limit);
  for (const lane of ["keyed|k0", "keyed|k1", "keyed|k2"]) {
    const ofKey = startsOf((start) => start.lane === lane);
    expect(mostInWindow(ofKey, KEY.per)).toBeLessThanOrEqual(KEY.limit);
    expect(ofKey.length).toBeGreaterThan(0);
  }
  const ofNamed = starts
    .filter(({ name }) => name === "dear" || name === "cheap")
    .flatMap(({ lane, at }) => Array<number>(Number(lane.split("|")[1])).fill(Number(at)));
  expect(mostInWindow(ofNamed, NAMED.per)).toBeLessThanOrEqual(NAMED.limit);
  expect(ofNamed.length).toBeGreaterThan(NAMED.limit);
  const ofQueue = startsOf((start) => start.queue === "small");
  expect(mostInWindow(ofQueue, QUEUE.per)).toBeLessThanOrEqual(QUEUE.limit);
  // The rates were used.
  expect(ofJob.length).toBeGreaterThan(JOB.limit);
  expect(ofQueue.length).toBeGreaterThan(QUEUE.limit);
}
