import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { startProxy, type TestProxy } from "../servers/proxy.ts";
import { sharedServer } from "../servers/shared.ts";
import { startServer } from "../servers/start.ts";
import { eventually } from "../support/eventually.ts";
import { type Child, STACK_TRACE } from "../support/start-child.ts";
import { onEachServer, onOwnServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

const logged = (scene: Scene, child: Child) =>
  scene.journal.find({ pid: child.pid, what: "log" }).map(({ text }) => text!);

onEachServer((kind) => {
  let proxy: TestProxy;
  let scene: Scene;
  beforeEach(async () => {
    const { url } = await sharedServer(kind);
    proxy = await startProxy(Number(new URL(url).port), new URL(url).hostname);
    scene = await Scene.on(kind, url, { through: (direct) => proxy.url(direct) });
  });
  afterEach(async () => {
    await scene.clear();
    await proxy.close();
  });

  /** What the network does from now on. */
  const faults: [string, () => Promise<void>][] = [
    ["swallows everything", async () => proxy.pause()],
    ["refuses every connection", () => proxy.close()],
  ];

  describe.each(faults)("a network that %s", (_what, fail) => {
    test("SIGTERM ends a worker within its grace, and it says which outcome it could not write", async () => {
      const jobs = new Punctual(scene.direct, { logger: false });
      jobs.declare("work");
      const worker = scene.worker("first", { grace: "1s" });
      await scene.journal.until({ what: "worker.started" });
      const { id } = await jobs.dispatch("work", { held: true });
      await jobs.stop();
      await scene.journal.until({ what: "start", run: id });
      await fail();
      worker.send({});
      await scene.journal.until({ what: "end", run: id });
      worker.signal("SIGTERM");
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
      expect(logged(scene, worker).join("\n")).toMatch(
        new RegExp(`stopped without writing the outcome of 1 run.*run ${id} of "work" \\(completed\\)`),
      );
      const [row] = await scene.sql("select state, attempts from punctual_runs where id = ?", id);
      expect(row).toMatchObject({ state: 2, attempts: 1 });
    });

    test("SIGTERM ends an idle worker soon, however long its grace; the outage is logged once", async () => {
      const worker = scene.worker("first", { grace: "10m" });
      await scene.journal.until({ what: "worker.started" });
      await fail();
      const outages = () => logged(scene, worker).filter((text) => text.includes("is not available"));
      await eventually("the outage to be logged", () => outages().length > 0, 10_000);
      worker.signal("SIGTERM");
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
      expect(outages()).toHaveLength(1);
    });

    test("SIGTERM ends a worker that has not reached the database yet", async () => {
      await fail();
      const worker = scene.worker("first", { grace: "10m" });
      await scene.journal.until({ what: "clock" });
      worker.signal("SIGTERM");
      const { code } = await worker.exit();
      // Refused at once, it may have failed before the signal came.
      expect([0, 1, null]).toContain(code);
      expect(scene.journal.find({ what: "worker.started" })).toEqual([]);
    });
  });
});

onOwnServer((kind) => {
  test("SIGTERM ends a worker whose server process is stopped", async () => {
    const server = await startServer(kind);
    const scene = await Scene.on(kind, server.url);
    try {
      const worker = scene.worker("first", { grace: "1s" });
      await scene.journal.until({ what: "worker.started" });
      process.kill(server.pid, "SIGSTOP");
      worker.signal("SIGTERM");
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
    } finally {
      process.kill(server.pid, "SIGCONT");
      await scene.clear();
      await server.stop();
    }
  });
});
