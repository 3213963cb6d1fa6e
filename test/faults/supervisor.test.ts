import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sharedServer } from "../servers/shared.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";
import type { SupervisedConfig } from "./support/server-supervisor.ts";
import { spawnNode } from "./support/spawn-node.ts";

onEachServer((kind) => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.on(kind, (await sharedServer(kind)).url);
  });
  afterEach(() => scene.clear());

  test("a supervisor's children execute runs, and runs that a crash interrupts run again", async () => {
    const producer = scene.punctual();
    const work = producer.declare<{ ms?: number }>("work");
    const runs = await work.dispatchMany(Array.from({ length: 200 }, () => ({ ms: 10 })));
    const held = await work.dispatch({ ms: 2000 });
    const atomic = await producer.declare("atomic").dispatch();
    const config: SupervisedConfig = { url: scene.url, journal: scene.journal.path };
    const script = fileURLToPath(new URL("./support/server-supervisor.ts", import.meta.url));
    const parent = spawnNode("supervisor", [script, JSON.stringify(config)]);
    try {
      const { pid } = await scene.journal.until({ what: "start", run: held.id });
      process.kill(pid, "SIGKILL");
      await scene.untilDrained();
      expect(await producer.find(held.id)).toMatchObject({ state: "completed", attempts: 2, crashes: 1 });
      expect(await producer.find(atomic.id)).toMatchObject({ state: "completed", child: expect.any(String) });
      expect((await producer.runs({ parent: atomic.id })).runs).toMatchObject([{ state: "completed" }]);
      for (const { id } of runs) expect(await producer.find(id)).toMatchObject({ state: "completed" });
      expect(scene.journal.find({ what: "run.reaped", run: held.id, by: "supervisor" })).toHaveLength(1);
      parent.signal("SIGTERM");
      expect(await parent.exit()).toEqual({ code: 0, signal: null });
      expect(scene.journal.find({ what: "run.lost" })).toEqual([]);
      expect(scene.journal.find({ what: "error" })).toEqual([]);
    } finally {
      parent.signal("SIGKILL");
    }
  });
});
