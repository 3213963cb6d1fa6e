import { describe, expect } from "vitest";
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
  test("is killed: another worker takes the lane, and one run is charged", async ({ scene }) => {
    expect(SINGLE).toBe(1);
    const runs = await scene.dispatchMany("single", 200);
    const first = scene.worker("first", { whenAhead: "kill" });
    expect(await first.exit()).toEqual({ code: null, signal: "SIGKILL" });
    const behind = await claimedBehind(scene);
    expect(behind.length).toBeGreaterThan(0);

    scene.worker("second");
    await scene.untilDrained();

    expect([...charged(scene).values()]).toEqual([1]);
    for (const id of behind) {
      expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1, crashes: 0 });
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
