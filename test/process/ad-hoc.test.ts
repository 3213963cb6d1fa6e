import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Child } from "../support/start-child.ts";
import { type Scene, test } from "./support/scene.ts";

async function owner(scene: Scene, behaviour: string, name = "owner"): Promise<{ child: Child; id: number }> {
  const args = [scene.path, scene.journal.path, behaviour, name];
  const child = scene.start(name, "child-owner.ts", args, { ipc: true });
  const { run } = await scene.journal.until({ by: name, what: "dispatched" });
  return { child, id: run! };
}

/** Simulates a minute since the last heartbeat of the dead process. */
function forget(scene: Scene, pid: number): void {
  scene.database.prepare("update punctual_workers set seen_at = seen_at - 61000 where pid = ?").run(pid);
}

describe("an ad hoc run whose process was killed", () => {
  test("fails with HANDLER_GONE if it was waiting", async ({ scene }) => {
    const { child, id } = await owner(scene, "waits");
    child.signal("SIGKILL");
    await child.exit();
    const second = scene.worker("second");
    // It waits as long as its owner may be alive.
    await scene.journal.until({ by: "second", what: "worker.started" });
    expect(scene.unfinished(id)).toMatchObject({ state: 0 });

    forget(scene, child.pid);
    const row = await scene.untilFinished(id);
    expect(row).toMatchObject({ state: 4, attempts: 0 });
    expect(await scene.jobs.find(id)).toMatchObject({ error: { code: "HANDLER_GONE" } });
    expect(second.isAlive).toBe(true);
  });

  test("fails with HANDLER_GONE if it was running", async ({ scene }) => {
    const { child, id } = await owner(scene, "runs");
    await scene.journal.until({ by: "owner", what: "start" });
    child.signal("SIGKILL");
    await child.exit();
    // Simulates the end of its lease.
    scene.database
      .prepare("update punctual_runs set locked_until = locked_until - 60000 where id = ?")
      .run(id);
    scene.worker("second");
    await eventually("it to be taken back", () => scene.unfinished(id)?.state === 1);
    expect(scene.unfinished(id)).toMatchObject({ attempts: 1, crashes: 1 });

    forget(scene, child.pid);
    expect(await scene.untilFinished(id)).toMatchObject({ state: 4, crashes: 1 });
    expect(await scene.jobs.find(id)).toMatchObject({ error: { code: "HANDLER_GONE" } });
    expect(scene.journal.find({ what: "start" })).toHaveLength(1);
  });
});

test("a process that was frozen for more than a minute does not fail its own waiting functions", async ({
  scene,
}) => {
  const frozen = await owner(scene, "waits and works", "frozen");
  await scene.journal.until({ by: "frozen", what: "worker.started" });
  const dead = await owner(scene, "waits", "dead");
  dead.child.signal("SIGKILL");
  await dead.child.exit();

  frozen.child.signal("SIGSTOP");
  forget(scene, frozen.child.pid);
  forget(scene, dead.child.pid);
  frozen.child.signal("SIGCONT");

  // No other process can fail the run of the dead one.
  expect(await scene.untilFinished(dead.id)).toMatchObject({ state: 4 });
  expect(scene.unfinished(frozen.id)).toMatchObject({ state: 0 });
});

test("an ad hoc run whose process lives between two passes does not fail", async ({ scene }) => {
  const { child, id } = await owner(scene, "dispatches again");
  scene.worker("second");
  await scene.journal.until({ by: "second", what: "worker.started" });
  expect(scene.unfinished(id)).toMatchObject({ state: 1 });
  child.send({});
  await scene.journal.until({ what: "ran" });
  expect(scene.finished(id)).toMatchObject({ state: 3 });
});
