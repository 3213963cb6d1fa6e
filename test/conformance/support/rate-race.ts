import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import { sleepReal } from "../../../src/time.ts";
import { eventually } from "../../support/eventually.ts";
import { type Entry, Journal, noteIn } from "../../support/journal.ts";
import { mostInWindow } from "../../support/rate-journal.ts";
import { scriptPath } from "./processes.ts";
import { define, insert, times } from "./requests.ts";

/** Processes that race. `RATE_RACERS=12 RATE_KILLS=100` is a longer proof. */
const RACERS = Number(process.env.RATE_RACERS ?? 5);

/** How often a process is killed and replaced, and between two kills: milliseconds, and starts at least. */
const KILLS = Number(process.env.RATE_KILLS ?? 8);
const BETWEEN = 600;
const STARTS = 10;

const JOB = { limit: 12, per: 400, burst: null };
const KEY = { limit: 4, per: 300, burst: 2 };
const KEYS = ["k0", "k1", "k2"];
const QUEUE = { limit: 30, per: 700, burst: null };
/** Two jobs share it. The key of a run is what its start costs. */
const NAMED = { limit: 20, per: 500, burst: null };
/** Most runs at once of two other jobs together. */
const PLACES = 6;

/** Lease of the runs, in milliseconds. The places of a killed process are free afterwards. */
const LEASE = 2000;

/** Runs of each job, more than can start. */
const RUNS = Math.max(1500, 200 * KILLS);
const INSERTED_AT_ONCE = 500;

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
 * Lets processes race for runs under the rates of a job, of keys, of a queue and of a named limit, and for the places
 * of another named limit. Kills one after the other, and expects that no window has more starts than its rate, and that
 * never more runs had a place than the limit. The processes connect to the URLs in turn.
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
      { name: "place a", rates: { job: null, key: null, under: { limit: "places", hasCost: false } } },
      { name: "place b", rates: { job: null, key: null, under: { limit: "places", hasCost: false } } },
    ],
    {
      queues: [{ name: "small", limit: 0, rate: QUEUE }],
      limits: [
        { name: "api", limit: 0, rate: NAMED },
        { name: "places", limit: PLACES, rate: null },
      ],
    },
  );
  for (let left = RUNS; left > 0; left -= INSERTED_AT_ONCE) {
    // Mixed, so that every claim sees runs of each job.
    await insert(
      at.store,
      ...times(INSERTED_AT_ONCE, (n) => [
        { name: "job", queue: n % 3 ? "small" : "default" },
        { name: "keyed", key: KEYS[n % 3]!, queue: n % 2 ? "small" : "default" },
        { name: "free", queue: "small" },
        { name: "dear", key: String(2 + (n % 4)), cost: 2 + (n % 4) },
        { name: "cheap", key: "1", queue: "api" },
        { name: "place a" },
        { name: "place b", queue: "api" },
      ]).flat(),
    );
  }
  const folder = mkdtempSync(join(tmpdir(), "punctual-rate-race-"));
  const journal = new Journal(join(folder, "journal.jsonl"));
  try {
    await race(at, urls, journal.path);
    expectRates(await readStarts(at));
    expectPlaces(journal.entries);
  } finally {
    journal.close();
    rmSync(folder, { recursive: true });
  }
}

interface Racer {
  name: string;
  child: ChildProcess;
}

async function race(at: RacedDatabase, urls: string[], journal: string): Promise<void> {
  const starter = (n: number): Racer => {
    const name = `racer-${n}`;
    const args = [scriptPath("rate-racer.ts"), urls[n % urls.length]!, name, journal, String(LEASE)];
    return { name, child: spawn(process.execPath, args, { stdio: "inherit" }) };
  };
  const kill = async ({ name, child }: Racer) => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("a racer has ended by itself");
    const ended = once(child, "exit");
    noteIn(journal, name)("killed");
    child.kill("SIGKILL");
    await ended;
  };
  const racers = times(RACERS, starter);
  for (const n of times(KILLS, (n) => n)) {
    await sleepReal(BETWEEN);
    await eventually("more starts", async () => (await readStarts(at)).length >= STARTS * (n + 1), 60_000);
    await kill(racers[n % RACERS]!);
    racers[n % RACERS] = starter(RACERS + n);
  }
  await eventually("more starts than fit into a window", async () => areUsed(await readStarts(at)), 60_000);
  for (const racer of racers) await kill(racer);
}

const hasPlace = ({ name }: { name: string }) => name.startsWith("place");

/** Each run has started once, and the database has the time: also if its process died before it knew. */
async function readStarts({ sql }: RacedDatabase): Promise<Start[]> {
  const read = (column: string, rows: string) =>
    sql<Start & { attempts: number }>(
      `select name, lane, queue, ${column} as at, attempts from punctual_${rows}`,
    );
  const running = await read("started_at", "runs where state = 2");
  expect(running.filter(hasPlace).length).toBeLessThanOrEqual(PLACES);
  // A run that crashed has no result.
  const ended = await read("coalesce(result, cast(started_at as char(20)))", "history");
  const starts = [...running, ...ended];
  expect(starts.filter(({ attempts, at }) => attempts !== 1 || at === null)).toEqual([]);
  return starts;
}

const startsOf = (starts: Start[], is: (start: Start) => boolean) =>
  starts.filter(is).map((start) => Number(start.at));
const ofJob = (starts: Start[]) => startsOf(starts, ({ name }) => name === "job");
const ofQueue = (starts: Start[]) => startsOf(starts, ({ queue }) => queue === "small");
const ofKey = (starts: Start[], key: string) => startsOf(starts, ({ lane }) => lane === `keyed|${key}`);
/** A start as often as it costs. */
const ofNamed = (starts: Start[]) =>
  starts
    .filter(({ name }) => name === "dear" || name === "cheap")
    .flatMap(({ lane, at }) => Array<number>(Number(lane.split("|")[1])).fill(Number(at)));

/** Whether each rate had to hold back runs. */
function areUsed(starts: Start[]): boolean {
  return (
    ofJob(starts).length > JOB.limit &&
    ofQueue(starts).length > QUEUE.limit &&
    ofNamed(starts).length > NAMED.limit &&
    KEYS.every((key) => ofKey(starts, key).length > KEY.limit) &&
    starts.filter(hasPlace).length > PLACES
  );
}

function expectRates(starts: Start[]): void {
  expect(mostInWindow(ofJob(starts), JOB.per)).toBeLessThanOrEqual(JOB.limit);
  expect(mostInWindow(ofQueue(starts), QUEUE.per)).toBeLessThanOrEqual(QUEUE.limit);
  expect(mostInWindow(ofNamed(starts), NAMED.per)).toBeLessThanOrEqual(NAMED.limit);
  for (const key of KEYS) {
    expect(mostInWindow(ofKey(starts, key), KEY.per)).toBeLessThanOrEqual(KEY.limit);
  }
}

/**
 * Expects that at no moment more runs had a place than the limit. A run surely has its place from the answer to the
 * claim until its process settles it or is killed, unless its lease ends, which counts from the claim.
 */
function expectPlaces(entries: readonly Entry[]): void {
  const places: { by: string; run: number; from: number; to: number }[] = [];
  for (const [by, ofRacer] of Map.groupBy(entries, (entry) => entry.by)) {
    let claimedAt = 0;
    const open = new Map<number, { from: number; to: number }>();
    const end = (run: number, at: number) => {
      const { from, to } = open.get(run)!;
      places.push({ by, run, from, to: Math.min(to, at) });
      open.delete(run);
    };
    for (const { what, at, run } of ofRacer) {
      if (what === "claim") claimedAt = at;
      if (what === "start") open.set(run!, { from: at, to: claimedAt + LEASE });
      if (what === "end") end(run!, at);
      if (what === "killed") for (const left of [...open.keys()]) end(left, at);
    }
  }
  const most = Math.max(
    ...places.map(({ from }) => places.filter((one) => one.from <= from && from < one.to).length),
  );
  expect(most, JSON.stringify(places)).toBeLessThanOrEqual(PLACES);
  // Processes waited for places that others had.
  expect(most).toBeGreaterThan(PLACES / 2);
}
