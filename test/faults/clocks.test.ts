import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Definition } from "../../src/index.ts";
import { sleepReal } from "../../src/time.ts";
import { fakeClock, findFaketime } from "../servers/faketime.ts";
import { sharedServer } from "../servers/shared.ts";
import { eventually } from "../support/eventually.ts";
import { connect } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";
import type { Act, WorkerConfig } from "./support/server-worker.ts";

const HOUR = 3_600_000;

/** Without libfaketime only JavaScript sees the other time. */
function wrongBy(skew: number): NodeJS.ProcessEnv {
  const library = findFaketime();
  if (!library) {
    const module = fileURLToPath(new URL("./support/skewed.ts", import.meta.url));
    return { SKEW: String(skew), NODE_OPTIONS: `--import ${module}` };
  }
  const seconds = skew / 1000;
  return fakeClock(library, { FAKETIME: `${seconds < 0 ? "" : "+"}${seconds}s` });
}

/** How long a table is locked, in milliseconds. */
const LOCKED = 1500;

/** In seconds. Longer than a busy machine can delay a renewal. */
const LEASE = 8;

onEachServer((kind) => {
  let scene: Scene;
  let job: Definition<Act>;
  beforeEach(async () => {
    scene = await Scene.on(kind, (await sharedServer(kind)).url);
    job = scene
      .punctual()
      .schedule<Act>("work", () => {})
      .concurrency(0);
  });
  afterEach(() => scene.clear());

  test("inspect() compares the clocks before it waits for a lock", async () => {
    const other = await connect(kind, scene.direct);
    onTestFinished(() => other.end());
    if (kind === "postgres") await other.sql("begin");
    const mode = kind === "postgres" ? "lock table punctual_workers" : "lock tables punctual_workers write";
    await other.sql(mode);
    const inspecting = scene.punctual().inspect();
    await sleepReal(LOCKED);
    await other.sql(kind === "postgres" ? "rollback" : "unlock tables");
    const { skew, deadWorkers } = await inspecting;
    // It has waited for the lock.
    expect(deadWorkers).toBe(0);
    expect(Math.abs(skew)).toBeLessThan(LOCKED / 2);
  });

  describe.each([
    { skew: HOUR, how: "ahead" },
    { skew: -HOUR, how: "behind" },
  ])("a worker whose clock is an hour $how", ({ skew }) => {
    const start = async (name: string, by: number, config: Partial<WorkerConfig> = {}) => {
      const worker = scene.worker(name, { tellsTime: true, ...config }, by === 0 ? {} : wrongBy(by));
      await scene.journal.until({ what: "worker.started", by: name });
      // Otherwise the test would show nothing.
      const { wall } = JSON.parse((await scene.journal.until({ what: "clock", by: name })).text!);
      expect(Math.abs(wall - Date.now() - by)).toBeLessThan(HOUR / 2);
      return worker;
    };

    test("starts no run before it is due and every due run, and ticks neither early nor an hour late", async () => {
      await start("wrong", skew, { ticks: true });
      const runs = await Promise.all([1, 2, 3].map(async (delay) => job.dispatch({}).delay(delay)));
      for (const { id } of runs) await scene.journal.until({ what: "run.completed", run: id });
      const ticks = () => scene.journal.find({ what: "start", job: "beat" });
      await eventually("ticks", () => ticks().length >= 3);
      const started = scene.journal.find({ what: "start" });
      const [first] = started;
      for (const { key: due, text: serverTime, job: name } of started) {
        expect(Number(due), name).toBeLessThanOrEqual(Number(serverTime));
        // No tick of an hour ago was made up for.
        expect(Number(due), name).toBeGreaterThan(Number(first!.text) - HOUR / 2);
      }
      const rows = await scene.sql("select id from punctual_history where started_at < run_at");
      expect(rows).toEqual([]);
      expect(scene.errors()).toEqual([]);
    });

    test("takes no run from a worker that holds its lease, and loses none to it", async () => {
      await start("right", 0, { lease: LEASE, parallel: 2 });
      const held = await job.dispatch({ held: true });
      await scene.journal.until({ what: "start", by: "right", run: held.id });
      // It reaps before it reports that it has started.
      const other = await start("wrong", skew, { lease: LEASE });
      const runs = await job.dispatchMany([1, 2, 3, 4].map(() => ({ held: true })));
      for (const { id } of runs) await scene.journal.until({ what: "start", run: id });
      // Renewed more than once, and looked for by both; the time of the server tells.
      const seen = async () =>
        (await scene.sql<{ until: number }>("select max(locked_until) as until from punctual_runs"))[0]!
          .until;
      const before = await seen();
      await eventually("leases to be renewed", async () => (await seen()) > before + 3000);
      expect(scene.journal.find({ what: "run.reaped" })).toEqual([]);
      expect(scene.journal.find({ what: "run.lost" })).toEqual([]);
      expect(scene.journal.find({ what: "start" }).map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
      expect(other.isAlive).toBe(true);
      expect(scene.errors()).toEqual([]);
    });
  });
});
