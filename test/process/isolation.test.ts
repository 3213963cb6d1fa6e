import { describe, expect } from "vitest";
import type { Run } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import type { Act, JobName } from "./support/process-jobs.ts";
import { type Scene, test } from "./support/scene.ts";
import { supervisor, told } from "./support/supervised.ts";
import { neighbours, tries } from "./support/sweep.ts";

/** A run that has crashed once. */
async function crashed(scene: Scene, job: JobName, act: Act): Promise<Run> {
  const run = await scene.job[job].dispatch(act).delay(3600);
  scene.rows("update punctual_runs set crashes = 1 where id = ? returning id", run.id);
  return run;
}

function makeDue(scene: Scene, runs: Run[]): void {
  for (const { id } of runs) scene.rows("update punctual_runs set run_at = 0 where id = ? returning id", id);
}

describe("without a supervisor", () => {
  test("a long run that was killed with its worker delays others by seconds, and why() says so", async ({
    scene,
  }) => {
    const long = await scene.job.held.dispatch({ do: "obey" });
    const first = scene.worker("first");
    await scene.journal.until({ by: "first", what: "start", run: long.id });
    first.signal("SIGKILL");
    await first.exit();
    scene.worker("second");
    await scene.journal.until({ by: "second", what: "start", run: long.id });
    const quick = await scene.job.free.dispatch({ do: "return" });
    expect(await scene.jobs.why(quick.id)).toContain(`isolates run ${long.id} of "held"`);
    expect(await scene.jobs.why(long.id)).toContain("alone in its process");
    const health = await scene.jobs.health();
    expect(health.level).toBe("degraded");
    // The crash itself is counted within a second, and may have its own sentence and hint by now.
    expect(health.hints).toContain(`punctual show ${long.id}`);
    expect(health.sentences.join()).toContain(`isolates run ${long.id} of held`);
    await scene.untilFinished(quick.id);
    expect(scene.unfinished(long.id)).toMatchObject({ state: 2, crashes: 1, isolated: 0 });
    expect((await scene.jobs.health()).sentences.join()).not.toContain("isolates");
  });

  test("idle workers share the runs of a killed worker, one for each", async ({ scene }) => {
    const runs = await scene.dispatchMany("held", 5, { do: "obey" });
    const first = scene.worker("first", { parallel: 5 });
    for (const { id } of runs) await scene.journal.until({ by: "first", what: "start", run: id });
    const others = ["second", "third", "fourth"];
    const children = others.map((name) => scene.worker(name, { holds: ["held"] }));
    for (const by of others) await scene.journal.until({ by, what: "worker.started" });
    first.signal("SIGKILL");
    for (const by of others) await scene.journal.until({ by, what: "start" });
    const held = scene.rows("select locked_by, count(*) as n from punctual_runs where state = 2 group by 1");
    expect(held.map(({ n }) => n)).toEqual([1, 1, 1]);
    for (const child of children) child.signal("SIGTERM");
  });
});

describe("under a supervisor", () => {
  test("a crashed run gets an empty child and harms no other run, even if all children are busy", async ({
    scene,
  }) => {
    const poison = await crashed(scene, "held", { do: "exit" });
    supervisor(scene, { workers: 2, parallel: 4 });
    await eventually("the children", () => scene.journal.find({ what: "child.started" }).length === 2);
    const innocent = await scene.dispatchMany("free", 4, { do: "obey" });
    for (const { id } of innocent) await scene.journal.until({ what: "start", run: id });
    expect(new Set(scene.journal.find({ what: "start" }).map(({ pid }) => pid)).size).toBe(2);
    makeDue(scene, [poison]);
    // No child is empty for ten seconds; then one boots, dies, and boots again.
    const ended = await eventually("the run to end", () => scene.finished(poison.id), 50_000);
    expect(ended).toMatchObject({ state: 4, attempts: 2, crashes: 3 });
    for (const { id } of innocent) {
      expect(scene.unfinished(id)).toMatchObject({ state: 2, attempts: 1, crashes: 0 });
    }
    const all = tries(scene.journal.entries);
    for (const one of all.filter(({ run }) => run === poison.id)) expect(neighbours(all, one)).toEqual([]);
    const retired = scene.journal.find({ what: "child.retired" });
    expect(retired.map((entry) => told(entry).reason)).toEqual([
      `run ${poison.id} of "held" crashed before and gets a process of its own`,
    ]);
  });

  test("two crashed runs run in two idle children at once, while a third child executes all others", async ({
    scene,
  }) => {
    const two = [await crashed(scene, "held", { do: "obey" }), await crashed(scene, "held", { do: "obey" })];
    supervisor(scene, { workers: 3, parallel: 4 });
    await eventually("the children", () => scene.journal.find({ what: "child.started" }).length === 3);
    makeDue(scene, two);
    const starts = [];
    for (const { id } of two) starts.push(await scene.journal.until({ what: "start", run: id }));
    expect(starts[0]!.pid).not.toBe(starts[1]!.pid);
    const runs = await scene.dispatchMany("free", 30, { do: "pause", ms: 10 });
    for (const { id } of runs) await scene.untilFinished(id);
    for (const { id } of two) {
      expect(scene.unfinished(id)).toMatchObject({ state: 2, crashes: 1, isolated: 1 });
    }
    const all = tries(scene.journal.entries);
    for (const one of all.filter(({ crashes }) => crashes > 0)) expect(neighbours(all, one)).toEqual([]);
    expect(await scene.jobs.why(two[0]!.id)).toContain("has its child process to itself");
    expect((await scene.jobs.health()).level).toBe("healthy");
  });

  test("crashed runs in all children delay others by some seconds only", async ({ scene }) => {
    const two = [await crashed(scene, "held", { do: "obey" }), await crashed(scene, "held", { do: "obey" })];
    supervisor(scene, { workers: 2, parallel: 4 });
    await eventually("the children", () => scene.journal.find({ what: "child.started" }).length === 2);
    makeDue(scene, two);
    for (const { id } of two) await scene.journal.until({ what: "start", run: id });
    const other = await scene.job.free.dispatch({ do: "return" });
    await scene.untilFinished(other.id);
    expect(two.map(({ id }) => scene.unfinished(id)!.isolated).sort()).toEqual([0, 1]);
  });
});
