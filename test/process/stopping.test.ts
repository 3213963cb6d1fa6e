import { describe, expect } from "vitest";
import { Punctual } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { type Child, STACK_TRACE } from "../support/start-child.ts";
import { type Scene, test } from "./support/scene.ts";

const logged = (scene: Scene, child: Child) =>
  scene.journal.find({ pid: child.pid, what: "log" }).map(({ text }) => text!);

/** The test's process keeps the file locked until the scene is cleared. */
function lock(scene: Scene): void {
  scene.database.exec("begin immediate");
}

describe("a worker whose database is locked by another process", () => {
  test("ends within its grace, and reports the outcome that it could not write", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "return" });
    const child = scene.worker("first", { holds: ["held"], grace: "1s", lease: 60 });
    await scene.journal.until({ what: "start", run: id });
    lock(scene);
    scene.letGo(child, "held");
    await scene.journal.until({ what: "end", run: id });
    expect(await scene.stop(child)).toEqual({ code: 0, signal: null });
    expect(child.stderr).not.toMatch(STACK_TRACE);
    expect(logged(scene, child)).toContainEqual(
      expect.stringMatching(
        new RegExp(`stopped without writing the outcome of 1 run.*run ${id} of "held" \\(completed\\)`),
      ),
    );
    expect(scene.journal.find({ what: "run.lost", run: id })).toHaveLength(1);
    expect(scene.journal.find({ by: "first", what: "ended" })).toHaveLength(1);
    scene.database.exec("commit");
    expect(scene.unfinished(id)).toMatchObject({ state: 2, attempts: 1 });
  });

  test("ends soon without running runs, whatever its grace", async ({ scene }) => {
    const child = scene.worker("first", { grace: "10m" });
    await scene.journal.until({ what: "worker.started" });
    lock(scene);
    expect(await scene.stop(child)).toEqual({ code: 0, signal: null });
    expect(child.stderr).not.toMatch(STACK_TRACE);
    scene.database.exec("commit");
  });

  test("ends soon if it has not started yet", async ({ scene }) => {
    await scene.jobs.install();
    lock(scene);
    const child = scene.worker("first", { grace: "10m" });
    await scene.journal.until({ by: "first", what: "starting" });
    expect(await scene.stop(child)).toEqual({ code: 0, signal: null });
    expect(child.stderr).not.toMatch(STACK_TRACE);
    scene.database.exec("commit");
  });

  test("ends with the second signal, with an outcome that it cannot write", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "return" });
    const child = scene.worker("first", { holds: ["held"], grace: "10m", lease: 60 });
    await scene.journal.until({ what: "start", run: id });
    lock(scene);
    scene.letGo(child, "held");
    await scene.journal.until({ what: "end", run: id });
    child.signal("SIGTERM");
    await eventually("the first signal", () =>
      logged(scene, child).some((text) => text.startsWith("SIGTERM")),
    );
    child.signal("SIGTERM");
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(logged(scene, child).join()).toContain(`run ${id} of "held" (completed)`);
    scene.database.exec("commit");
  });

  test("writes all its outcomes when the lock ends within its grace", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "return" });
    const child = scene.worker("first", { holds: ["held"], lease: 60 });
    await scene.journal.until({ what: "start", run: id });
    lock(scene);
    scene.letGo(child, "held");
    await scene.journal.until({ what: "end", run: id });
    child.signal("SIGTERM");
    await eventually("the outage to be logged", () =>
      logged(scene, child).some((text) => text.startsWith("the database is not available")),
    );
    scene.database.exec("commit");
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1, crashes: 0 });
    expect(logged(scene, child).filter((text) => text.includes("available"))).toEqual([
      expect.stringMatching(/^the database is not available/),
      expect.stringMatching(/^the database is available again, after \d+\.\d s$/),
    ]);
  });
});

test("stop() of an instance whose database is locked ends within the grace of its worker", async ({
  scene,
}) => {
  await scene.jobs.install();
  const jobs = new Punctual(`sqlite:${scene.path}`, { logger: false });
  jobs.schedule("task", () => {});
  const working = jobs.forever({ signals: false, grace: "1s" });
  await new Promise<void>((resolve) => void jobs.on("worker.started", () => resolve()));
  lock(scene);
  const dispatched = Promise.resolve(jobs.dispatch("task")).then(
    () => "sent",
    (error) => error.code,
  );
  const stopped = jobs.stop().then(() => "stopped");
  let ended: unknown;
  void stopped.then((value) => (ended = value));
  await eventually("stop() to end", () => ended);
  expect(await working).toBe(0);
  expect(await dispatched).toBe("DATABASE_UNAVAILABLE");
  scene.database.exec("commit");
});
