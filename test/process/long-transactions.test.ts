import { expect } from "vitest";
import type { Act } from "./support/process-jobs.ts";
import { type Scene, test } from "./support/scene.ts";

const LEASE = 1;
/** Longer than the lease, with time for every reaper to wait for the file. */
const TAKES = 2500;

/** One worker has the runs; the others reap twice a second. */
async function work(scene: Scene, act: Act["do"]): Promise<{ id: number; neighbour: number }> {
  const holds = { lease: LEASE, holds: ["pair" as const] };
  const holder = scene.worker("holder", holds);
  await scene.journal.until({ by: "holder", what: "worker.started" });
  const neighbour = await scene.job.pair.dispatch({ do: "return" });
  const { id } = await scene.job.held.dispatch({ do: act, ms: TAKES });
  await scene.journal.until({ what: "start", run: neighbour.id });
  await scene.journal.until({ what: "start", run: id });
  for (const name of ["second", "third"]) scene.worker(name, { lease: LEASE });
  for (const by of ["second", "third"]) await scene.journal.until({ by, what: "worker.started" });
  await scene.untilFinished(id);
  scene.letGo(holder, "pair");
  await scene.untilFinished(neighbour.id);
  return { id, neighbour: neighbour.id };
}

function expectNothingLost(scene: Scene, ids: number[]): void {
  for (const what of ["run.reaped", "run.lost", "abort"]) expect(scene.journal.find({ what })).toEqual([]);
  for (const id of ids) expect(scene.finished(id)).toMatchObject({ state: 3, crashes: 0 });
}

const hasWritten = (scene: Scene) =>
  scene.rows("select name from sqlite_schema where name = 'written'").length > 0;

test("a transaction longer than the lease loses no lease when it rolls back", async ({ scene }) => {
  const { id, neighbour } = await work(scene, "roll back and return");
  expectNothingLost(scene, [id, neighbour]);
  expect(scene.finished(id)).toMatchObject({ attempts: 1 });
  expect(hasWritten(scene)).toBe(false);
});

test("a transaction longer than the lease loses no lease of other runs when it commits", async ({
  scene,
}) => {
  const { id, neighbour } = await work(scene, "commit");
  expectNothingLost(scene, [id, neighbour]);
  expect(scene.finished(id)).toMatchObject({ attempts: 1 });
  expect(hasWritten(scene)).toBe(true);
});
