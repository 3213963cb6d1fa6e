import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Definition } from "../../src/index.ts";
import { sharedServer } from "../servers/shared.ts";
import { STACK_TRACE } from "../support/start-child.ts";
import { connect, type Direct } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";
import type { Act } from "./support/server-worker.ts";

onEachServer((kind) => {
  let scene: Scene;
  let admin: Direct;
  let job: Definition<Act>;
  beforeEach(async () => {
    const { url } = await sharedServer(kind);
    scene = await Scene.on(kind, url);
    admin = await connect(kind, url);
    job = scene
      .punctual()
      .schedule<Act>("work", () => {})
      .concurrency(0);
  });
  afterEach(async () => {
    await scene.clear();
    await admin.end();
  });

  /** Ends every connection to the test's database, as an administrator or a time limit does; returns their number. */
  async function killAll(): Promise<number> {
    if (kind === "postgres") {
      const text = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ?";
      return (await admin.sql(text, scene.database)).length;
    }
    const text = "select id from information_schema.processlist where db = ?";
    const found = await admin.sql<{ id: number }>(text, scene.database);
    // The connection may have ended by itself meanwhile.
    for (const { id } of found) await admin.sql(`kill ${id}`).catch(() => {});
    return found.length;
  }

  describe.each([
    { whose: "its own connections", pool: false },
    { whose: "a pool of the caller's", pool: true },
  ])("a sleeping worker, on $whose", ({ pool }) => {
    // An hour: only a notification wakes the worker, and its listener must have connected again.
    test.each(["200ms", "1 hour"])("looks for runs again after %s", async (sleep) => {
      const worker = scene.worker("worker", { sleep, pool });
      await scene.journal.until({ what: "worker.started" });
      for (let round = 0; round < 4; round++) {
        expect(await killAll()).toBeGreaterThan(0);
        const { id } = await job.dispatch({});
        await scene.journal.until({ what: "run.completed", run: id });
      }
      expect(worker.isAlive, worker.stderr).toBe(true);
      worker.signal("SIGTERM");
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
      expect([...scene.starts().values()]).toEqual([1, 1, 1, 1]);
      expect(scene.errors()).toEqual([]);
    });
  });
});
