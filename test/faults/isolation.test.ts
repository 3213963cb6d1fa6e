import { afterEach, beforeEach, expect, test } from "vitest";
import { sharedServer } from "../servers/shared.ts";
import { eventually } from "../support/eventually.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";
import type { Act } from "./support/server-worker.ts";

onEachServer((kind) => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.on(kind, (await sharedServer(kind)).url);
  });
  afterEach(() => scene.clear());

  test("idle workers share the runs of a killed worker, and delay other runs by seconds only", async () => {
    const job = scene
      .punctual()
      .schedule<Act>("work", () => {})
      .concurrency(0);
    const runs = await job.dispatchMany(Array.from({ length: 5 }, () => ({ held: true })));
    const first = scene.worker("first", { lease: 1, parallel: 5 });
    for (const { id } of runs) await scene.journal.until({ by: "first", what: "start", run: id });
    const others = ["second", "third", "fourth"];
    for (const name of others) scene.worker(name, { lease: 5 });
    for (const by of others) await scene.journal.until({ by, what: "worker.started" });
    first.signal("SIGKILL");
    for (const by of others) await scene.journal.until({ by, what: "start" });
    const claimed = "select count(*) as n from punctual_runs where state = 2 group by locked_by";
    expect((await scene.sql(claimed)).map(({ n }) => Number(n))).toEqual([1, 1, 1]);
    const quick = await job.dispatch({});
    await eventually("the other run", async () => (await quick.state()) === "completed");
    const left = await scene.sql("select id from punctual_runs where state = 2");
    expect(left.length).toBeGreaterThanOrEqual(3);
  });
});
