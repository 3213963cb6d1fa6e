import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { STACK_TRACE } from "../support/start-child.ts";
import { type Scene, test } from "./support/scene.ts";
import { supervisor, told, writeEdition } from "./support/supervised.ts";

const reasons = (scene: Scene) =>
  scene.journal.find({ what: "child.retired" }).map((entry) => told<{ reason: string }>(entry).reason);

const version = (result: unknown) => (JSON.parse(String(result)) as { version: string }).version;

describe("a child is replaced", () => {
  test("after maxJobs runs, without losing one", async ({ scene }) => {
    const runs = await scene.dispatchMany("free", 50, { do: "pause", ms: 5 });
    const parent = supervisor(scene, { workers: 2, parallel: 2, maxJobs: 10 });
    await scene.untilDrained();
    for (const { id } of runs)
      expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1, crashes: 0 });
    const starts = scene.journal.find({ what: "start" });
    for (const runsOf of Map.groupBy(starts, ({ pid }) => pid).values()) {
      expect(runsOf.length).toBeLessThanOrEqual(10);
    }
    expect(reasons(scene)).toContain("it had 10 runs");
    const first = starts[0]!.pid;
    await eventually("the first child to be gone", () =>
      scene.journal
        .find({ what: "child.exited" })
        .some((entry) => told<{ pid: number }>(entry).pid === first),
    );
    await scene.stop(parent);
    const exits = scene.journal.find({ what: "child.exited" }).map((entry) => told<{ pid: number }>(entry));
    expect(exits.find(({ pid }) => pid === first)).toMatchObject({ code: 0, signal: null, runs: 0 });
  });

  test("beyond maxMemory", async ({ scene }) => {
    const { id } = await scene.jobs.declare("memory").dispatch();
    supervisor(scene, { workers: 1, maxMemory: "250MB" });
    expect(await scene.untilFinished(id)).toMatchObject({ state: 3, crashes: 0 });
    const retired = await scene.journal.until({ what: "child.retired" });
    expect(told(retired)).toMatchObject({ reason: expect.stringMatching(/^it uses \d+ MB$/) });
    const after = await scene.job.free.dispatch({ do: "return" });
    const { child } = await scene.untilFinished(after.id);
    expect(child).not.toBe(scene.finished(id)!.child);
  });

  test("after SIGTERM, once its runs have finished", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "pause", ms: 1500 });
    supervisor(scene, { workers: 1 });
    const { pid } = await scene.journal.until({ what: "start", run: id });
    process.kill(pid, "SIGTERM");
    process.kill(pid, "SIGINT");
    expect(await scene.untilFinished(id)).toMatchObject({
      state: 3,
      attempts: 1,
      crashes: 0,
      child: `1:${pid}`,
    });
    expect(reasons(scene)).toEqual(["it got SIGTERM"]);
    const after = await scene.job.free.dispatch({ do: "return" });
    expect((await scene.untilFinished(after.id)).child).not.toBe(`1:${pid}`);
  });
});

describe("SIGHUP", () => {
  test("reloads the definitions, child by child, and the old children finish their runs", async ({
    scene,
  }) => {
    const edition = writeEdition(scene, { version: "1", jobs: ["old"] });
    const parent = supervisor(scene, { workers: 2 }, edition);
    await eventually("both children", () => scene.journal.find({ what: "child.started" }).length === 2);
    const long = await scene.job.held.dispatch({ do: "pause", ms: 3000 });
    const { pid } = await scene.journal.until({ what: "start", run: long.id });
    writeEdition(scene, { version: "2", jobs: ["new"], ticks: "* * * * * *" });
    parent.signal("SIGHUP");
    const late = await scene.jobs.declare("new").dispatch({ do: "return" });
    expect(version((await scene.untilFinished(late.id)).result)).toBe("2");
    await eventually("a tick of the new schedule", () =>
      scene.rows("select id from punctual_history where name = 'ticking'").at(0),
    );
    await eventually("both to be replaced", () => reasons(scene).length === 2);
    expect(new Set(reasons(scene))).toEqual(new Set(["newer definitions were loaded"]));
    const finished = await scene.untilFinished(long.id);
    expect(finished).toMatchObject({ state: 3, attempts: 1 });
    expect(finished.child).toMatch(new RegExp(`:${pid}$`));
    expect(version(finished.result)).toBe("1");
    // Runs of a job that is no longer defined are left to others.
    const gone = await scene.jobs.declare("old").dispatch({ do: "return" });
    const after = await scene.job.free.dispatch({ do: "return" });
    expect(version((await scene.untilFinished(after.id)).result)).toBe("2");
    expect(scene.unfinished(gone.id)).toMatchObject({ state: 1, attempts: 0 });
  });

  test("keeps the old children if the definitions cannot be loaded, and reports the error", async ({
    scene,
  }) => {
    const edition = writeEdition(scene, { version: "1", jobs: [] });
    const parent = supervisor(scene, { workers: 2 }, edition);
    await eventually("both children", () => scene.journal.find({ what: "child.started" }).length === 2);
    writeEdition(scene, { version: "2", jobs: [], boot: "throw" });
    parent.signal("SIGHUP");
    const { text } = await scene.journal.until({ what: "error" });
    expect(text).toContain("the children keep the definitions they have");
    expect(text).toContain("the edition is broken");
    const { id } = await scene.job.free.dispatch({ do: "return" });
    expect(version((await scene.untilFinished(id)).result)).toBe("1");
    expect(reasons(scene)).toEqual([]);
    // With the fault fixed, it can be tried again.
    writeEdition(scene, { version: "3", jobs: [] });
    parent.signal("SIGHUP");
    await eventually("both to be replaced", () => reasons(scene).length === 2);
    const after = await scene.job.free.dispatch({ do: "return" });
    expect(version((await scene.untilFinished(after.id)).result)).toBe("3");
  });
});

describe("children that cannot boot", () => {
  test.for([
    ["throw", "ended with code 1 before it did", "the edition is broken"],
    ["exit", "ended with code 7 before it did", "must reach the same call of supervise()"],
    ["return", "ended with code 0 before it did", "must reach the same call of supervise()"],
  ] as const)(
    "because they %s: the supervisor ends with the reason",
    async ([boot, how, hint], { scene }) => {
      const { id } = await scene.job.free.dispatch({ do: "return" });
      const parent = supervisor(scene, { workers: 2 }, writeEdition(scene, { version: "1", jobs: [], boot }));
      // The waits between the tries add up.
      const gaveUp = () => scene.journal.find({ what: "rejected" }).at(0);
      const rejected = await eventually("the supervisor to give up", gaveUp, 50_000);
      expect(await parent.exit()).toEqual({ code: 1, signal: null });
      expect(rejected).toMatchObject({ code: "CHILDREN_CANNOT_BOOT", by: "supervisor" });
      expect(rejected.text).toContain(how);
      expect(rejected.text).toContain(hint);
      if (boot === "throw") expect(parent.stderr).toMatch(STACK_TRACE);
      expect(scene.unfinished(id)).toMatchObject({ state: 1, attempts: 0 });
      expect(scene.journal.find({ what: "child.exited" }).length).toBeGreaterThanOrEqual(5);
    },
  );
});
