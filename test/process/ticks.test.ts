import { setTimeout as pause } from "node:timers/promises";
import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Child } from "../support/start-child.ts";
import { type Scene, test } from "./support/scene.ts";

const WORKERS = 8;

function ticker(scene: Scene, name: string, keep: string, mode = "worker") {
  return scene.start(name, "child-ticker.ts", [scene.path, scene.journal.path, name, keep, mode]);
}

/** The seconds that had a run, from the journal of all processes. */
const ticksOf = ({ journal }: Scene) =>
  journal.entries.filter(({ what }) => what === "start").map(({ text }) => Date.parse(text!) / 1000);

/** Waits until the journal has the tick of this many seconds later. */
async function tickFor(scene: Scene, seconds: number): Promise<number[]> {
  const first = await eventually("the first tick", () => ticksOf(scene)[0]);
  const isThere = () => ticksOf(scene).some((tick) => tick >= first + seconds);
  await eventually(`${seconds} seconds of ticks`, isThere, (seconds + 30) * 1000);
  return ticksOf(scene);
}

/** Not while it holds the run of a tick: the job would wait for its lease. */
async function killWithoutRuns(scene: Scene, worker: Child): Promise<void> {
  const held = () =>
    scene.rows(
      "select 1 from punctual_runs r join punctual_workers w on w.id = r.locked_by where r.state = 2 and w.pid = ?",
      worker.pid,
    );
  await eventually("a moment without runs", async () => {
    worker.signal("SIGSTOP");
    // The signal takes a moment to arrive.
    await pause(50);
    const isFree = held().length === 0;
    worker.signal(isFree ? "SIGKILL" : "SIGCONT");
    return isFree;
  });
}

/** Expects every second from the first to the last exactly once. */
function expectEachSecondOnce(ticks: number[]): void {
  const sorted = [...ticks].sort((a, b) => a - b);
  const seconds = sorted.at(-1)! - sorted[0]! + 1;
  expect(sorted).toEqual(Array.from({ length: seconds }, (_, i) => sorted[0]! + i));
}

const errorsOf = ({ journal }: Scene) => journal.entries.filter(({ what }) => what === "error");

describe("a job that ticks every second", () => {
  test("has exactly one run per second with eight workers", { timeout: 150_000 }, async ({ scene }) => {
    for (let i = 0; i < WORKERS; i++) ticker(scene, `worker ${i}`, "1 day");
    expectEachSecondOnce(await tickFor(scene, 30));
    expect(errorsOf(scene)).toEqual([]);
    expect(scene.rows("select missed from punctual_schedules")).toEqual([{ missed: 0 }]);
  });

  test("has one run per second while workers come and go and history keeps nothing", {
    timeout: 120_000,
  }, async ({ scene }) => {
    const workers = [ticker(scene, "worker 0", "0")];
    for (let i = 1; i < WORKERS; i++) {
      await tickFor(scene, i);
      workers.push(ticker(scene, `worker ${i}`, "0"));
    }
    await tickFor(scene, 12);
    for (const worker of workers.slice(0, 3)) worker.signal("SIGTERM");
    await killWithoutRuns(scene, workers[3]!);
    expectEachSecondOnce(await tickFor(scene, 20));
    expect(scene.rows("select count(*) as n from punctual_history")).toEqual([{ n: 0 }]);
    expect(errorsOf(scene)).toEqual([]);
  });

  test("has no run twice with workers beside crontabs", { timeout: 90_000 }, async ({ scene }) => {
    ticker(scene, "worker", "1 day");
    for (let i = 0; i < 3; i++) ticker(scene, `crontab ${i}`, "1 day", "crontab");
    expectEachSecondOnce(await tickFor(scene, 12));
    expect(errorsOf(scene)).toEqual([]);
  });
});

test("the check detects a second that is missing or doubled", () => {
  expect(() => expectEachSecondOnce([1, 2, 4])).toThrow();
  expect(() => expectEachSecondOnce([1, 2, 2, 3])).toThrow();
  expectEachSecondOnce([2, 1, 3]);
});
