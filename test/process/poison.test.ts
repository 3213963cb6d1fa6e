import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Act } from "./support/process-jobs.ts";
import { type Scene, test } from "./support/scene.ts";
import { neighbours, tries } from "./support/sweep.ts";

/** Starts a new worker for each that dies, as a process manager would, until the run is finished. */
async function restartUntilFinished(scene: Scene, id: number): Promise<void> {
  for (let restart = 1; !scene.finished(id); restart++) {
    const child = scene.worker(`restart ${restart}`, { parallel: 4 });
    await eventually("the worker to die or the run to finish", () => !child.isAlive || scene.finished(id));
  }
}

const deaths: [what: string, act: Act, exit: object][] = [
  ["calls process.exit(0)", { do: "exit" }, { code: 0, signal: null }],
  ["aborts its process", { do: "abort" }, { code: null, signal: "SIGABRT" }],
  ["throws where nobody catches it", { do: "throw in a timer" }, { code: 1, signal: null }],
];

describe.concurrent("a handler that ends its process", () => {
  for (const [what, act, exit] of deaths) {
    test(`${what}: its run fails as crashed the third time, and all other runs complete`, async ({
      scene,
    }) => {
      const poison = await scene.job.held.dispatch(act);
      const beside = await scene.dispatchMany("free", 3, { do: "pause", ms: 20 });
      const first = scene.worker("first", { parallel: 4, holds: ["held", "free"] });
      for (const { id } of [poison, ...beside]) await scene.journal.until({ what: "start", run: id });
      // Enough to keep every worker busy until the runs that died are ready again.
      const waiting = await scene.dispatchMany("free", 120, { do: "pause", ms: 100 });
      scene.letGo(first, "held");
      expect(await first.exit()).toEqual(exit);

      await restartUntilFinished(scene, poison.id);
      await scene.untilDrained();

      expect(scene.finished(poison.id)).toMatchObject({ state: 4, attempts: 3, crashes: 3 });
      expect(await scene.jobs.find(poison.id)).toMatchObject({ error: { code: "RUN_CRASHED" } });
      const attempt = { outcome: "crashed", error: { code: "RUN_CRASHED" } };
      expect(await scene.jobs.attempts(poison.id)).toMatchObject([1, 2, 3].map(() => attempt));
      await eventually("the crash in the state of its job", async () => {
        const { jobs } = await scene.jobs.status();
        return jobs.some(({ name, fails, lastError }) => name === "held" && fails > 0 && lastError !== null);
      });
      for (const { id } of beside) {
        expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 2, crashes: 1 });
      }
      // These never ran beside a run that died, however often it ended their worker before they started.
      for (const { id } of waiting) expect(scene.finished(id)).toMatchObject({ state: 3, crashes: 0 });

      const all = tries(scene.journal.entries);
      const crashed = all.filter((one) => one.crashes > 0);
      expect(crashed).toHaveLength(2 + beside.length);
      for (const one of crashed) expect(neighbours(all, one)).toEqual([]);
      // Other runs did share a process: the crashed one was alone by isolation, not by chance.
      expect(all.some((one) => one.crashes === 0 && neighbours(all, one).length > 0)).toBe(true);
    });
  }
});

test("runs that were claimed with a crashed run and have not started are not charged with its crash", async ({
  scene,
}) => {
  const poison = await scene.job.held.dispatch({ do: "exit" });
  const first = scene.worker("first");
  expect(await first.exit()).toEqual({ code: 0, signal: null });
  const fresh = await scene.dispatchMany("free", 3);
  // A worker that starts after the lease finds all of them ready, and the crashed run first.
  await eventually("its lease to end", () => Number(scene.unfinished(poison.id)!.locked_until) < Date.now());
  expect(await scene.worker("second").exit()).toEqual({ code: 0, signal: null });
  expect(scene.journal.find({ by: "second", what: "start" })).toMatchObject([{ run: poison.id, attempt: 2 }]);

  await restartUntilFinished(scene, poison.id);
  await scene.untilDrained();
  expect(scene.finished(poison.id)).toMatchObject({ state: 4, crashes: 3 });
  for (const { id } of fresh) expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1, crashes: 0 });
});

test("a crashed run that is cancelled while it waits to be alone does not block its worker", async ({
  scene,
}) => {
  const crashed = await scene.job.held.dispatch({ do: "return" });
  const first = scene.worker("first", { holds: ["held"], parallel: 1 });
  await scene.journal.until({ by: "first", what: "start", run: crashed.id });
  const [neighbour] = await scene.dispatchMany("pair", 1);
  const second = scene.worker("second", { holds: ["pair"], sleep: "50ms" });
  await scene.journal.until({ by: "second", what: "start", run: neighbour!.id });
  first.signal("SIGKILL");
  await scene.journal.until({ by: "second", what: "run.reaped", run: crashed.id });
  await eventually("the second worker to hold it", () => scene.unfinished(crashed.id)?.locked_by);
  await scene.jobs.cancel(crashed.id);
  expect(await scene.untilFinished(crashed.id)).toMatchObject({ state: 5 });
  const [after] = await scene.dispatchMany("free", 1);
  expect(await scene.untilFinished(after!.id)).toMatchObject({ state: 3 });
  scene.letGo(second, "pair");
  await scene.untilDrained();
});
