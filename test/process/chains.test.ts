import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { SINGLE } from "./support/process-jobs.ts";
import { type Scene, test } from "./support/scene.ts";

/** Runs of a job limited to 1 that the first process has claimed behind the one that it executes. */
async function claimedBehind(scene: Scene): Promise<number[]> {
  await scene.journal.until({ by: "first", what: "ahead" });
  const [ahead] = scene.journal.find({ by: "first", what: "ahead" });
  return ahead!.ids!;
}

/** The number of crashes that runs were charged with, by id. */
function charged(scene: Scene): Map<number, number> {
  const rows = scene.rows("select id, crashes from punctual_history where crashes > 0");
  return new Map(rows.map(({ id, crashes }) => [id as number, crashes as number]));
}

describe("a worker that holds a chain", () => {
  test("is killed: another takes the lane, and no run is charged", async ({ scene }) => {
    expect(SINGLE).toBe(1);
    const runs = await scene.dispatchMany("single", 200);
    const first = scene.worker("first", { whenAhead: "kill" });
    expect(await first.exit()).toEqual({ code: null, signal: "SIGKILL" });
    const behind = await claimedBehind(scene);
    expect(behind.length).toBeGreaterThan(0);

    scene.worker("second");
    await scene.untilDrained();

    expect([...charged(scene).values()]).toEqual([]);
    for (const id of behind) {
      expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 2, crashes: 0 });
      expect(scene.journal.find({ what: "start", run: id })).toMatchObject([{ by: "second" }]);
    }
    for (const { id } of runs) expect(scene.finished(id)).toMatchObject({ state: 3 });
    const byFirst = scene.journal.find({ by: "first", what: "start" }).map(({ run }) => run);
    expect(byFirst).toEqual(runs.slice(0, byFirst.length).map(({ id }) => id));
  });

  test("is frozen past its lease: it starts none of the runs that another worker has taken", async ({
    scene,
  }) => {
    await scene.dispatchMany("single", 200);
    scene.worker("first", { whenAhead: "block" });
    const behind = await claimedBehind(scene);
    expect(behind.length).toBeGreaterThan(0);
    scene.worker("second");
    await scene.untilDrained();
    for (const id of behind) expect(scene.journal.find({ what: "start", run: id })).toHaveLength(1);
  });
});

/** A new worker for each that dies, as a process manager would, until everything has finished. */
async function restartUntilDrained(scene: Scene): Promise<void> {
  const isDrained = () => scene.rows("select 1 from punctual_runs").length === 0;
  for (let restart = 1; !isDrained(); restart++) {
    const child = scene.worker(`restart ${restart}`, { parallel: 4 });
    await eventually("the worker to die or the runs to finish", () => !child.isAlive || isDrained());
  }
}

describe.concurrent("a run that kills its process among others whose start is not written", () => {
  for (const job of ["single", "free"] as const) {
    test(`of the job "${job}" fails at its fourth death, and no number is given twice`, async ({ scene }) => {
      const before = await scene.dispatchMany(job, 60);
      const [poison] = await scene.dispatchMany(job, 1, { do: "exit" });
      const behind = await scene.dispatchMany(job, 60);
      await restartUntilDrained(scene);

      expect(scene.finished(poison!.id)).toMatchObject({ state: 4, crashes: 3 });
      const deaths = scene.journal.find({ what: "start", run: poison!.id });
      expect(deaths.length).toBeLessThanOrEqual(4);
      for (const { id } of [...before, ...behind]) expect(scene.finished(id)).toMatchObject({ state: 3 });
      const executions = scene.journal.find({ what: "start" }).map(({ run, attempt }) => `${run} ${attempt}`);
      expect(new Set(executions).size).toBe(executions.length);
      // Of a chain the innocent are never charged.
      if (job === "single") expect([...charged(scene).keys()]).toEqual([poison!.id]);
    });
  }
});
