import { describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { project, start, write } from "../cli/support/punctual.ts";
import { startServer } from "../servers/start.ts";
import { eventually } from "../support/eventually.ts";
import { type Child, STACK_TRACE } from "../support/start-child.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { onEachServer, onOwnServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

/** A handler that waits for a file. */
const HELD_JOB = `
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Job } from "punctual";
Job.schedule("work", async () => {
  console.error("the handler began");
  while (!existsSync("let-go")) await pause(10);
  console.error("the handler ended");
});
`;

const logged = (scene: Scene, child: Child) =>
  scene.journal.find({ pid: child.pid, what: "log" }).map(({ text }) => text!);

onEachServer((kind) => {
  const at = behindProxy(kind);

  async function dispatchHeld(): Promise<number> {
    const jobs = new Punctual(at.scene.direct, { logger: false });
    const { id } = await jobs.declare("work").dispatch({ held: true });
    await jobs.stop();
    return id;
  }

  async function expectRunning(id: number): Promise<void> {
    const [row] = await at.scene.sql("select state, attempts from punctual_runs where id = ?", id);
    expect(row).toMatchObject({ state: 2, attempts: 1 });
  }

  async function expectOutcomeNamed(
    way: "forever" | "supervise" | "run",
    fail: () => Promise<void>,
  ): Promise<void> {
    const id = await dispatchHeld();
    const worker = at.scene.worker("first", { grace: "1s", way });
    await at.scene.journal.until({ what: "start", run: id });
    await fail();
    worker.send({});
    await at.scene.journal.until({ what: "end", run: id });
    worker.signal("SIGTERM");
    expect(await worker.exit()).toEqual({ code: 0, signal: null });
    expect(worker.stderr).not.toMatch(STACK_TRACE);
    expect(logged(at.scene, worker).join("\n")).toMatch(
      new RegExp(`stopped without writing the outcome of 1 run.*run ${id} of "work" \\(completed\\)`),
    );
    await expectRunning(id);
  }

  /** The network's behaviour from now on. */
  const faults: [string, () => Promise<void>][] = [
    ["swallows everything", async () => at.proxy.pause()],
    ["refuses every connection", () => at.proxy.close()],
  ];

  describe.each(faults)("a network that %s", (_what, fail) => {
    test.each(["forever", "supervise"] as const)(
      "a %s() that is stopped ends within its grace, and reports the outcome that it could not write",
      (way) => expectOutcomeNamed(way, fail),
    );

    test("SIGTERM ends an idle worker soon, whatever its grace, and the outage is logged once", async () => {
      const worker = at.scene.worker("first", { grace: "10m" });
      await at.scene.journal.until({ what: "worker.started" });
      await fail();
      const outages = () => logged(at.scene, worker).filter((text) => text.includes("is not available"));
      await eventually("the outage to be logged", () => outages().length > 0, 10_000);
      worker.signal("SIGTERM");
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
      expect(outages()).toHaveLength(1);
    });

    test("SIGTERM ends a worker that has not reached the database yet", async () => {
      await fail();
      const worker = at.scene.worker("first", { grace: "10m" });
      await at.scene.journal.until({ what: "clock" });
      worker.signal("SIGTERM");
      const { code } = await worker.exit();
      // If it was refused at once, it may have failed before the signal came.
      expect([0, 1, null]).toContain(code);
      expect(at.scene.journal.find({ what: "worker.started" })).toEqual([]);
    });
  });

  test("a run() that is stopped ends within its grace, and reports the outcome that it could not write", () =>
    expectOutcomeNamed("run", async () => at.proxy.pause()));

  test.each(["supervise", "run"] as const)(
    "a %s() that is stopped while a handler runs aborts it after its grace, and ends",
    async (way) => {
      const id = await dispatchHeld();
      const worker = at.scene.worker("first", { grace: "1s", way });
      await at.scene.journal.until({ what: "start", run: id });
      at.proxy.pause();
      worker.signal("SIGTERM");
      expect(await at.scene.journal.until({ what: "abort", run: id })).toMatchObject({ code: "SHUTDOWN" });
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
      expect(logged(at.scene, worker).join("\n")).toContain(
        `stopped without releasing 1 run, because the database did not answer: run ${id} of "work"`,
      );
      await expectRunning(id);
    },
  );

  test("collect ends soon after a second SIGTERM, and reports the outcome that it could not write", async () => {
    const id = await dispatchHeld();
    const cwd = project({ "jobs/work.ts": HELD_JOB });
    const env = { PUNCTUAL_DATABASE_URL: at.scene.url };
    const collecting = start(["collect"], { cwd, env });
    await collecting.shows("the handler began");
    at.proxy.pause();
    write(cwd, { "let-go": "" });
    await collecting.shows("the handler ended");
    for (let signals = 0; signals < 2; signals++) {
      collecting.child.kill("SIGTERM");
      await collecting.shows(signals === 0 ? /SIGTERM: / : "not written");
    }
    const { code, stderr } = await collecting.ended;
    expect(stderr).toContain(`run ${id} of "work"`);
    expect(stderr).not.toMatch(STACK_TRACE);
    expect(code).toBe(5);
    await expectRunning(id);
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
