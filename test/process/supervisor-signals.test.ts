import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Scene, test } from "./support/scene.ts";
import { isAlive, supervisor, told } from "./support/supervised.ts";

const childrenOf = (scene: Scene): number[] =>
  scene.journal.find({ what: "child.started" }).map((entry) => told<{ pid: number }>(entry).pid);

async function untilGone(pids: number[]): Promise<void> {
  await eventually(`processes ${pids} to be gone`, () => !pids.some(isAlive));
}

describe("signals to a supervisor", () => {
  test("the first one lets running runs finish and leaves the waiting ones", async ({ scene }) => {
    const running = await scene.dispatchMany("held", 2, { do: "pause", ms: 1500 });
    const parent = supervisor(scene, { workers: 2, parallel: 1 });
    for (const { id } of running) await scene.journal.until({ what: "start", run: id });
    const waiting = await scene.job.free.dispatch({ do: "return" });
    parent.signal("SIGTERM");
    expect(await parent.exit()).toEqual({ code: 0, signal: null });
    for (const { id } of running) expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1 });
    expect(scene.unfinished(waiting.id)).toMatchObject({ state: 1, attempts: 0 });
    expect(scene.journal.find({ what: "abort" })).toEqual([]);
    await untilGone(childrenOf(scene));
  });

  test("the second one aborts the handlers, and their runs are ready at once", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "obey" });
    const parent = supervisor(scene, { workers: 2 });
    await scene.journal.until({ what: "start", run: id });
    parent.signal("SIGINT");
    await eventually("the first to be heard", () =>
      scene.journal.find({ what: "log" }).some(({ text }) => text!.startsWith("SIGINT: finishing 1 run;")),
    );
    parent.signal("SIGINT");
    expect(await parent.exit()).toEqual({ code: 0, signal: null });
    expect(scene.journal.find({ what: "abort" })).toMatchObject([{ run: id, code: "SHUTDOWN" }]);
    expect(scene.unfinished(id)).toMatchObject({ state: 1, attempts: 1, uncounted: 1, locked_by: null });
    await untilGone(childrenOf(scene));
  });

  test("the third one kills the children, and the supervisor exits", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "ignore" });
    const parent = supervisor(scene, { workers: 2 });
    await scene.journal.until({ what: "start", run: id });
    await eventually("both children", () => childrenOf(scene).length === 2);
    parent.signal("SIGTERM");
    await eventually("the first to be heard", () =>
      scene.journal.find({ what: "log" }).some(({ text }) => text!.startsWith("SIGTERM: finishing")),
    );
    parent.signal("SIGTERM");
    await scene.journal.until({ what: "abort", run: id });
    parent.signal("SIGTERM");
    expect(await parent.exit()).toEqual({ code: 143, signal: null });
    await untilGone(childrenOf(scene));
    expect(scene.unfinished(id)).toMatchObject({ state: 2, attempts: 1 });
  });

  test("the second one does not wait for a child that blocks its event loop", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "block", ms: 60_000 });
    const parent = supervisor(scene, { workers: 1 });
    await scene.journal.until({ what: "start", run: id });
    parent.signal("SIGTERM");
    await eventually("the first to be heard", () =>
      scene.journal.find({ what: "log" }).some(({ text }) => text!.startsWith("SIGTERM: finishing")),
    );
    parent.signal("SIGTERM");
    expect(await parent.exit()).toEqual({ code: 0, signal: null });
    expect(scene.unfinished(id)).toMatchObject({ state: 1, attempts: 1, uncounted: 1, crashes: 0 });
    await untilGone(childrenOf(scene));
  });
});

describe("a request to a supervisor", () => {
  test("to stop lets running runs finish, and its process ends", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "pause", ms: 1500 });
    const parent = supervisor(scene, { workers: 2, parallel: 1 });
    await scene.journal.until({ what: "start", run: id });
    const [worker] = await scene.jobs.workers();
    await scene.jobs.stopWorker(worker!.id, { by: "ana" });
    expect(await parent.exit()).toEqual({ code: 0, signal: null });
    expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1 });
    expect(scene.rows("select id from punctual_workers")).toEqual([]);
    await untilGone(childrenOf(scene));
  });

  test("to pause keeps its children from getting runs until it is resumed", async ({ scene }) => {
    const parent = supervisor(scene, { workers: 1, parallel: 1 });
    await scene.journal.until({ what: "worker.started" });
    const [worker] = await scene.jobs.workers();
    await scene.jobs.pauseWorker(worker!.id);
    const { seenAt } = await eventually("the pause to be obeyed", async () => {
      const [shown] = await scene.jobs.workers();
      return shown?.facts?.activity === "paused" && shown;
    });
    const { id } = await scene.job.free.dispatch({ do: "return" });
    await eventually("another heartbeat", async () => (await scene.jobs.workers())[0]!.seenAt > seenAt);
    expect(scene.unfinished(id)).toMatchObject({ state: 1, attempts: 0 });
    await scene.jobs.resumeWorker(worker!.id);
    await scene.journal.until({ what: "start", run: id });
    parent.signal("SIGTERM");
    expect(await parent.exit()).toEqual({ code: 0, signal: null });
  });
});

describe("a supervisor that is killed", () => {
  test("gives no mark of its process: its children may outlive it", async ({ scene }) => {
    const held = await scene.job.held.dispatch({ do: "obey" });
    supervisor(scene, { workers: 1 });
    await scene.journal.until({ what: "start", run: held.id });
    const marks = scene.rows("select json_extract(facts, '$.process') as mark from punctual_workers");
    expect(marks).toEqual([{ mark: null }]);
  });

  test("ends its children: they abort their handlers and write nothing", async ({ scene }) => {
    const runs = await scene.dispatchMany("held", 2, { do: "obey" });
    const ignoring = await scene.job.held.dispatch({ do: "ignore" });
    const parent = supervisor(scene, { workers: 2, parallel: 4 });
    for (const { id } of [...runs, ignoring]) await scene.journal.until({ what: "start", run: id });
    await eventually("both children", () => childrenOf(scene).length === 2);
    parent.signal("SIGKILL");
    await untilGone(childrenOf(scene));
    for (const { id } of runs) {
      expect(scene.journal.find({ what: "abort", run: id })).toMatchObject([{ code: "LEASE_LOST" }]);
    }
    for (const { id } of [...runs, ignoring])
      expect(scene.unfinished(id)).toMatchObject({ state: 2, attempts: 1 });
  });
});
