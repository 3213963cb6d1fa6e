import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { test } from "./support/scene.ts";

describe("a worker that is killed", () => {
  test("during a run: another worker executes it after its lease, as attempt 2", async ({ scene }) => {
    const held = await scene.job.held.dispatch({ do: "return" });
    const behind = await scene.dispatchMany("free", 20);
    const first = scene.worker("first", { parallel: 1, holds: ["held"] });
    await scene.journal.until({ by: "first", what: "start", run: held.id });
    first.signal("SIGKILL");
    expect(await first.exit()).toEqual({ code: null, signal: "SIGKILL" });

    scene.worker("second");
    await scene.untilDrained();

    const row = scene.finished(held.id)!;
    expect(row).toMatchObject({ state: 3, attempts: 2, crashes: 1, error: null });
    expect(JSON.parse(row.result!)).toEqual({ by: "second", attempt: 2 });
    const attempts = await scene.jobs.attempts(held.id);
    expect(attempts).toMatchObject([{ attempt: 1, outcome: "crashed", error: { code: "RUN_CRASHED" } }]);
    for (const { id } of behind) {
      expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1, crashes: 0 });
      expect(scene.journal.find({ what: "start", run: id })).toHaveLength(1);
    }
    expect(scene.journal.find({ what: "start", run: held.id })).toMatchObject([
      { by: "first", attempt: 1, crashes: 0 },
      { by: "second", attempt: 2, crashes: 1 },
    ]);
  });

  test.runIf(process.platform === "linux")(
    "on the host of another: its runs are taken back before their leases end",
    async ({ scene }) => {
      const lease = 600;
      const held = await scene.job.held.dispatch({ do: "return" });
      const first = scene.worker("first", { lease, holds: ["held"] });
      await scene.journal.until({ by: "first", what: "start", run: held.id });
      const { locked_until: until } = scene.unfinished(held.id)!;
      first.signal("SIGKILL");
      await first.exit();
      scene.worker("second", { lease });
      await scene.untilDrained();
      expect(scene.finished(held.id)).toMatchObject({ state: 3, attempts: 2, crashes: 1 });
      expect(scene.finished(held.id)!.started_at).toBeLessThan(Number(until));
    },
  );

  test.runIf(process.platform === "linux")(
    "that only stands still keeps its runs, also if its host has another worker",
    async ({ scene }) => {
      const lease = 600;
      const held = await scene.job.held.dispatch({ do: "return" });
      const first = scene.worker("first", { lease, holds: ["held"] });
      await scene.journal.until({ by: "first", what: "start", run: held.id });
      first.signal("SIGSTOP");
      const silent = () =>
        scene.rows(
          "select 1 from punctual_workers where seen_at < (select max(seen_at) from punctual_workers) - 8000",
        );
      const second = scene.worker("second", { lease });
      await eventually("a silent worker", () => silent().length > 0);
      // At its start a worker reaps.
      const third = scene.worker("third", { lease });
      const free = await scene.job.free.dispatch({ do: "return" });
      await scene.untilFinished(free.id);
      expect(scene.unfinished(held.id)).toMatchObject({ state: 2, attempts: 1 });
      for (const worker of [second, third]) worker.signal("SIGKILL");
      first.signal("SIGCONT");
      scene.letGo(first, "held");
      expect(await scene.untilFinished(held.id)).toMatchObject({ state: 3, attempts: 1, crashes: 0 });
    },
  );

  test("leaves its log lines, and the next attempt adds its own", async ({ scene }) => {
    const run = await scene.job.held.dispatch({ do: "log" });
    const first = scene.worker("first", { acts: { held: { do: "log and stay" } } });
    await eventually("the line", async () => (await scene.jobs.countLogs(run.id)) === 1);
    first.signal("SIGKILL");
    await first.exit();
    const second = scene.worker("second");
    await scene.untilFinished(run.id);
    expect(await scene.jobs.logs(run.id)).toMatchObject([
      { attempt: 1, message: "1: begun", data: { pid: first.pid } },
      { attempt: 2, message: "2: begun", data: { pid: second.pid } },
    ]);
  });

  test("between a claim and the start of its runs: they are released without a charge", async ({ scene }) => {
    await scene.dispatchMany("free", 1000);
    const first = scene.worker("first", { parallel: 1, whenAhead: "kill" });
    expect(await first.exit()).toEqual({ code: null, signal: "SIGKILL" });
    const [ahead] = scene.journal.find({ by: "first", what: "ahead" });
    expect(ahead!.ids!.length).toBeGreaterThan(0);
    for (const id of ahead!.ids!) {
      expect(scene.unfinished(id)).toMatchObject({ state: 2, attempts: 1, started_at: null });
    }

    scene.worker("second");
    await scene.untilDrained();

    for (const id of ahead!.ids!) {
      expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 2, uncounted: 1, crashes: 0 });
      expect(await scene.jobs.attempts(id)).toMatchObject([{ attempt: 1, outcome: "lost", startedAt: null }]);
      expect(scene.journal.find({ what: "start", run: id })).toMatchObject([{ by: "second", attempt: 2 }]);
    }
  });
});
