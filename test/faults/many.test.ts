import { afterEach, beforeEach, expect, test } from "vitest";
import { sharedServer } from "../servers/shared.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";
import type { Act } from "./support/server-worker.ts";

const RUNS = 8000;
const WORKERS = 8;

onEachServer((kind) => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.on(kind, (await sharedServer(kind)).url);
  });
  afterEach(() => scene.clear());

  test(`${WORKERS} processes execute ${RUNS} runs, each exactly once`, { timeout: 150_000 }, async () => {
    const job = scene
      .punctual()
      .schedule<Act>("work", () => {})
      .concurrency(0);
    const runs = await job.dispatchMany(Array.from({ length: RUNS }, () => ({})));
    const ids = runs.map(({ id }) => id).sort((a, b) => a - b);
    const names = Array.from({ length: WORKERS }, (_, n) => `worker ${n}`);
    const workers = names.map((name) => scene.worker(name, { brief: true }));
    await scene.untilDrained(120_000);

    const started = scene.journal.find({ what: "start" }).map(({ run }) => run!);
    expect(started.sort((a, b) => a - b)).toEqual(ids);
    const once =
      "select id from punctual_history where state = 3 and attempts = 1 and crashes = 0 order by id";
    expect((await scene.sql(once)).map(({ id }) => id)).toEqual(ids);
    expect(await scene.sql("select * from punctual_attempts")).toEqual([]);
    for (const worker of workers) worker.signal("SIGTERM");
    for (const worker of workers) expect(await worker.exit()).toEqual({ code: 0, signal: null });
    expect(scene.errors()).toEqual([]);
    expect(scene.journal.find({ what: "run.lost" })).toEqual([]);
    const counted = "select sum(dispatched) as dispatched, sum(completed) as completed from punctual_minutes";
    await scene.stopInstances();
    expect(await scene.sql(counted)).toEqual([{ dispatched: RUNS, completed: RUNS }]);
  });
});
