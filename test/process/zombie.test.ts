import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Child } from "../support/start-child.ts";
import { type Scene, test } from "./support/scene.ts";

/** The first process has started the run and is stopped past its lease; the second has started attempt 2. */
async function takenOver(scene: Scene, first: Child, id: number): Promise<void> {
  await scene.journal.until({ by: "first", what: "start", run: id });
  first.signal("SIGSTOP");
  await scene.journal.until({ by: "second", what: "start", run: id, attempt: 2 });
}

/** Waits until the first process has ended its attempt and noticed the lost lease. */
async function noticed(scene: Scene, id: number): Promise<void> {
  await scene.journal.until({ by: "first", what: "run.lost", run: id, attempt: 1 });
  for (const what of ["run.completed", "run.failed", "run.retried", "run.released"]) {
    expect(scene.journal.find({ by: "first", what, run: id })).toEqual([]);
  }
}

/** The stored row of a run, without the lease that its holder keeps renewing. */
function stored(scene: Scene, id: number): string {
  const runs = scene.rows("select * from punctual_runs where id = ?", id);
  for (const run of runs) delete run.locked_until;
  const history = scene.rows("select * from punctual_history where id = ?", id);
  const attempts = scene.rows("select * from punctual_attempts where run_id = ?", id);
  return JSON.stringify({ runs, history, attempts });
}

describe("a worker that is stopped past its lease and continues", () => {
  test("after attempt 2 has completed leaves the row in history unchanged", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "return" });
    const first = scene.worker("first", { holds: ["held"] });
    await scene.journal.until({ by: "first", what: "worker.started" });
    await scene.journal.until({ by: "first", what: "start", run: id });
    scene.worker("second");
    await takenOver(scene, first, id);
    await scene.untilFinished(id);
    const before = stored(scene, id);

    first.signal("SIGCONT");
    scene.letGo(first, "held");
    await noticed(scene, id);

    expect(stored(scene, id)).toBe(before);
    expect(JSON.parse(scene.finished(id)!.result!)).toEqual({ by: "second", attempt: 2 });
    expect(await scene.stop(first)).toEqual({ code: 0, signal: null });
    expect(stored(scene, id)).toBe(before);
  });

  test("while attempt 2 is running has its signal aborted, and attempt 2 keeps its lease", async ({
    scene,
  }) => {
    const { id } = await scene.job.held.dispatch({ do: "return" });
    const first = scene.worker("first", { holds: ["held"] });
    await scene.journal.until({ by: "first", what: "start", run: id });
    const second = scene.worker("second", { holds: ["held"] });
    await takenOver(scene, first, id);
    const before = stored(scene, id);

    first.signal("SIGCONT");
    await scene.journal.until({ by: "first", what: "abort", run: id, code: "LEASE_LOST" });
    scene.letGo(first, "held");
    await noticed(scene, id);

    expect(stored(scene, id)).toBe(before);
    scene.letGo(second, "held");
    const row = await scene.untilFinished(id);
    expect(row).toMatchObject({ state: 3, attempts: 2, crashes: 1 });
    expect(JSON.parse(row.result!)).toEqual({ by: "second", attempt: 2 });
  });

  test("and whose handler fails records no error and schedules no retry", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "return" });
    const first = scene.worker("first", { holds: ["held"], acts: { held: { do: "fail" } } });
    await scene.journal.until({ by: "first", what: "start", run: id });
    const second = scene.worker("second", { holds: ["held"] });
    await takenOver(scene, first, id);
    const before = stored(scene, id);

    scene.letGo(first, "held");
    first.signal("SIGCONT");
    await noticed(scene, id);

    expect(stored(scene, id)).toBe(before);
    scene.letGo(second, "held");
    expect(await scene.untilFinished(id)).toMatchObject({ state: 3, attempts: 2, error: null });
    expect(await scene.jobs.attempts(id)).toMatchObject([{ attempt: 1, outcome: "crashed" }]);
  });

  test("under a limit does not free its slot a second time", async ({ scene }) => {
    const { id } = await scene.job.single.dispatch({ do: "return" });
    const next = await scene.job.single.dispatch({ do: "return" });
    const first = scene.worker("first", { holds: ["single"] });
    await scene.journal.until({ by: "first", what: "start", run: id });
    const second = scene.worker("second", { holds: ["single"] });
    const third = scene.worker("third", { holds: ["single"] });
    await scene.journal.until({ by: "first", what: "start", run: id });
    first.signal("SIGSTOP");
    const { by } = await eventually("attempt 2", () =>
      scene.journal.find({ what: "start", run: id, attempt: 2 }).at(0),
    );

    scene.letGo(first, "single");
    first.signal("SIGCONT");
    await noticed(scene, id);
    // One more round of every worker: an unlimited run runs, and the limited one still waits.
    const [passing] = await scene.dispatchMany("free", 1);
    await scene.untilFinished(passing!.id);
    expect(scene.unfinished(next.id)).toMatchObject({ state: 1, attempts: 0 });
    expect(scene.journal.find({ what: "start", run: next.id })).toEqual([]);

    for (const child of [second, third]) scene.letGo(child, "single");
    await scene.untilDrained();
    const [end] = scene.journal.find({ what: "end", run: id, by });
    const [start] = scene.journal.find({ what: "start", run: next.id });
    expect(start!.at).toBeGreaterThan(end!.at);
  });
});

test("a worker that was stopped past its lease aborts its runs before it reaps them itself", async ({
  scene,
}) => {
  const { id } = await scene.job.held.dispatch({ do: "return" });
  const only = scene.worker("only", { holds: ["held"], parallel: 5 });
  await scene.journal.until({ by: "only", what: "start", run: id, attempt: 1 });
  only.signal("SIGSTOP");
  const locked = scene.unfinished(id)!.locked_until as number;
  await eventually("the lease to end", () => Date.now() > locked + 1000);
  only.signal("SIGCONT");

  const second = await scene.journal.until({ by: "only", what: "start", run: id, attempt: 2 });
  const [reaped] = scene.journal.find({ what: "run.reaped", run: id });
  const [aborted] = scene.journal.find({ what: "abort", run: id, attempt: 1, code: "LEASE_LOST" });
  expect(aborted!.at).toBeLessThanOrEqual(reaped!.at);
  expect(reaped!.at).toBeLessThanOrEqual(second.at);
  expect(scene.journal.find({ what: "abort", run: id, attempt: 2 })).toEqual([]);

  scene.letGo(only, "held");
  const row = await scene.untilFinished(id);
  expect(row).toMatchObject({ state: 3, attempts: 2, crashes: 1 });
  expect(JSON.parse(row.result!)).toEqual({ by: "only", attempt: 2 });
  await scene.journal.until({ by: "only", what: "run.lost", run: id, attempt: 1 });
});

describe("a handler that blocks the event loop for three leases", () => {
  // The handler ends in the turn in which the process continues, before a renewal could report the loss.
  for (const act of ["block", "block and fail"] as const) {
    test(`and ends while attempt 2 is running (${act}) writes nothing`, async ({ scene }) => {
      const { id } = await scene.job.held.dispatch({ do: "return" });
      scene.worker("first", { acts: { held: { do: act } } });
      await scene.journal.until({ by: "first", what: "start", run: id });
      const second = scene.worker("second", { holds: ["held"] });
      await scene.journal.until({ by: "second", what: "start", run: id, attempt: 2 });
      const before = stored(scene, id);

      await noticed(scene, id);

      expect(stored(scene, id)).toBe(before);
      scene.letGo(second, "held");
      const row = await scene.untilFinished(id);
      expect(row).toMatchObject({ state: 3, attempts: 2, crashes: 1, error: null });
      expect(JSON.parse(row.result!)).toEqual({ by: "second", attempt: 2 });
      expect(await scene.jobs.attempts(id)).toMatchObject([{ attempt: 1, outcome: "crashed" }]);
    });
  }

  test("has its run executed elsewhere once, and writes nothing stale", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "return" });
    const first = scene.worker("first", { acts: { held: { do: "block", ms: 3000 * scene.lease } } });
    await scene.journal.until({ by: "first", what: "start", run: id });
    scene.worker("second");
    await scene.untilFinished(id);
    const before = stored(scene, id);

    await noticed(scene, id);

    expect(stored(scene, id)).toBe(before);
    expect(JSON.parse(scene.finished(id)!.result!)).toEqual({ by: "second", attempt: 2 });
    expect(scene.journal.find({ what: "start", run: id })).toHaveLength(2);
    // The worker continues.
    expect(first.isAlive).toBe(true);
    expect(await scene.stop(first)).toEqual({ code: 0, signal: null });
    expect(first.stderr).toBe("");
  });

  test("has its prefetched runs executed elsewhere, and not here again", async ({ scene }) => {
    const runs = await scene.dispatchMany("free", 1000);
    const first = scene.worker("first", { parallel: 1, whenAhead: "block" });
    const ahead = await scene.journal.until({ by: "first", what: "ahead" });
    scene.worker("second");
    await scene.untilDrained();
    await scene.journal.until({ by: "first", what: "run.lost", run: ahead.run! });
    expect(await scene.stop(first)).toEqual({ code: 0, signal: null });

    for (const id of ahead.ids!) {
      expect(scene.journal.find({ what: "start", run: id })).toMatchObject([{ by: "second" }]);
      expect(scene.finished(id)).toMatchObject({ attempts: 2, uncounted: 1, crashes: 0 });
    }
    // The first process does not start a run that the second has executed.
    const taken = new Set<number>();
    for (const { by, run } of scene.journal.find({ what: "start" })) {
      if (by === "second") taken.add(run!);
      else expect(taken).not.toContain(run);
    }
    expect(new Set(scene.journal.find({ what: "start" }).map(({ run }) => run)).size).toBe(runs.length);
  });
});
