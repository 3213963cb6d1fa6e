import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Act } from "./support/process-jobs.ts";
import { test } from "./support/scene.ts";
import { supervisor, told, writeEdition } from "./support/supervised.ts";
import { mostAtOnce, neighbours, tries } from "./support/sweep.ts";

/** Files below a folder that a process has open. */
function openFiles(pid: number, folder: string): string[] {
  const links = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  return links.filter((link) => link.startsWith(folder) && link.includes("jobs.db"));
}

describe("under a supervisor", () => {
  test("handlers run in the children, `parallel` at once in each, and the parent settles", async ({
    scene,
  }) => {
    const runs = await scene.dispatchMany("free", 60, { do: "pause", ms: 30 });
    const parent = supervisor(scene, { workers: 2, parallel: 3 });
    await scene.untilDrained();
    const all = tries(scene.journal.entries);
    expect(all).toHaveLength(runs.length);
    const children = new Set(all.map(({ pid }) => pid));
    expect(children.size).toBe(2);
    expect(children).not.toContain(parent.pid);
    for (const most of mostAtOnce(all, ({ pid }) => String(pid)).values()) expect(most).toBe(3);
    for (const { id } of runs) {
      const [completed, ...more] = scene.journal.find({ what: "run.completed", run: id });
      expect(more).toEqual([]);
      expect(completed!.pid).toBe(parent.pid);
      const { child, result } = scene.finished(id)!;
      const { pid } = JSON.parse(result!) as { pid: number };
      expect(String(child).split(":")[1]).toBe(String(pid));
      expect(told(completed!)).toMatchObject({ result: { pid, version: "1" } });
    }
    if (existsSync("/proc/self/fd")) {
      expect(openFiles(parent.pid, scene.folder)).not.toEqual([]);
      for (const pid of children) expect(openFiles(pid, scene.folder)).toEqual([]);
    }
    expect(await scene.stop(parent)).toEqual({ code: 0, signal: null });
    expect(scene.journal.find({ what: "ended", by: "supervisor" })).toMatchObject([{ ids: [60] }]);
  });

  test("a running run names its child, and so does why()", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "obey" });
    supervisor(scene, { workers: 2 });
    const { pid, by } = await scene.journal.until({ what: "start", run: id });
    const label = `${by.split(" ")[1]}:${pid}`;
    await eventually("the child in the row", () => scene.unfinished(id)?.child === label);
    expect(await scene.jobs.find(id)).toMatchObject({ state: "running", child: label });
    expect(await scene.jobs.why(id)).toContain(`${by} (pid ${pid})`);
    await scene.jobs.cancel(id);
    expect(await scene.untilFinished(id)).toMatchObject({ state: 5, child: label });
    expect(scene.journal.find({ what: "abort", run: id })).toMatchObject([{ code: "RUN_CANCELLED", pid }]);
  });

  test("progress and log lines go through the parent, also values that cannot be sent", async ({ scene }) => {
    const { id } = await scene.jobs.declare("talking").dispatch();
    const parent = supervisor(scene, { workers: 1 });
    await eventually("the progress", () => scene.unfinished(id)?.progress === '{"step":1}');
    const logged = await scene.journal.until({ what: "run.logged", run: id });
    expect(logged.pid).toBe(parent.pid);
    const line = { message: "hello", attempt: 1, data: { at: { a: "[function ]" } } };
    expect(told(logged)).toMatchObject(line);
    await eventually("the line", async () => (await scene.jobs.countLogs(id)) > 0);
    await scene.jobs.cancel(id);
    expect(await scene.untilFinished(id)).toMatchObject({ state: 3, progress: '{"step":2}' });
    expect(await scene.jobs.logs(id)).toMatchObject([line]);
  });

  test("methods that another process dispatches are found in classes that the children know", async ({
    scene,
  }) => {
    class Reports {
      daily(_: Act): void {}
      static yearly(_: Act): void {}
    }
    const before = await scene.jobs.register([Reports, "daily"], { do: "return" });
    const unknown = await scene.jobs.declare("Reports.hourly").dispatch();
    supervisor(scene, { workers: 2 });
    const { child } = await scene.untilFinished(before.id);
    expect(child).toMatch(/^[12]:/);
    const during = await scene.jobs.register([Reports, "yearly"], { do: "return" });
    expect(await scene.untilFinished(during.id)).toMatchObject({ state: 3, name: "Reports.yearly" });
    expect(scene.unfinished(unknown.id)).toMatchObject({ state: 1, attempts: 0 });
    await eventually("the limit of a method that says nothing of it", () => {
      const [row] = scene.rows("select lim, defined_by from punctual_jobs where name = 'Reports.yearly'");
      return row?.lim === 1 && row.defined_by !== null;
    });
  });

  test("a hook that does not settle in a child is named by why()", async ({ scene }) => {
    const { id } = await scene.jobs.declare("unsettled").dispatch();
    supervisor(scene, { workers: 1 });
    await eventually("the hook", async () => /the hook onSuccess has been/.test(await scene.jobs.why(id)));
  });

  test("hooks that never settle delay the outcome and the slot of a child by hookTimeout at most", async ({
    scene,
  }) => {
    const bounded = scene.jobs.declare("bounded");
    const runs = await bounded.dispatchMany([{}, {}, {}]);
    const parent = supervisor(scene, { workers: 1, parallel: 1 });
    const rows = await Promise.all(runs.map(({ id }) => scene.untilFinished(id)));
    expect(rows.map(({ state }) => state)).toEqual([3, 3, 3]);
    expect(new Set(rows.map(({ result }) => result)).size).toBe(1);
    const errors = scene.journal.find({ what: "error" }).map(({ text }) => text!);
    for (const { id } of runs) {
      for (const hook of ["onSuccess", "onAfter"]) {
        const of = errors.filter((text) => text.startsWith(`${hook} of "bounded", run ${id}: `));
        expect(of).toEqual([expect.stringContaining(`${hook} did not settle within 0.2 s`)]);
      }
    }
    expect(await scene.stop(parent)).toEqual({ code: 0, signal: null });
    expect(scene.journal.find({ what: "child.exited" })).toHaveLength(1);
  });

  test("a handler dispatches from its child, and its run is the parent of the new run", async ({ scene }) => {
    const { id } = await scene.jobs.declare("parent").dispatch();
    supervisor(scene, { workers: 1 });
    const { run } = await scene.journal.until({ what: "dispatched" });
    expect(await scene.untilFinished(run!)).toMatchObject({ state: 3, parent_id: id });
    expect(await scene.untilFinished(id)).toMatchObject({ state: 3 });
  });

  test("a handler completes its run in a transaction of its child, and the parent learns of it", async ({
    scene,
  }) => {
    const { id } = await scene.jobs.declare("atomic").dispatch();
    const parent = supervisor(scene, { workers: 1 });
    const { child } = await scene.untilFinished(id);
    expect(String(child)).toMatch(/^1:\d+$/);
    expect(scene.rows("select * from mine")).toEqual([]);
    const [completed] = [await scene.journal.until({ what: "run.completed", run: id })];
    expect(completed!.pid).toBe(parent.pid);
    await scene.stop(parent);
    expect(scene.journal.find({ what: "run.lost" })).toEqual([]);
    expect(scene.journal.find({ what: "run.completed", run: id })).toHaveLength(1);
  });

  test("a function cannot be dispatched in a child, and forever() does nothing there", async ({ scene }) => {
    const { id } = await scene.jobs.declare("ad hoc").dispatch();
    supervisor(scene, { workers: 1 });
    expect(await scene.untilFinished(id)).toMatchObject({ state: 4 });
    expect(await scene.jobs.find(id)).toMatchObject({ error: { code: "FUNCTION_IN_CHILD" } });
    expect(scene.journal.find({ what: "forever" })).toMatchObject([{ by: "child 1", ids: [0] }]);
    const warned = scene.journal.find({ what: "log", by: "child 1" });
    expect(warned.map(({ text }) => text)).toContainEqual(expect.stringContaining("forever() does nothing"));
  });

  test("a job that one child has defined later is executed by that child", async ({ scene }) => {
    await scene.jobs.declare("late").dispatch();
    supervisor(scene, { workers: 2 });
    const { run, pid } = await scene.journal.until({ what: "dispatched" });
    const { child } = await scene.untilFinished(run!);
    expect(String(child)).toMatch(new RegExp(`:${pid}$`));
  });

  test("schedules tick as the children define them, each tick once", async ({ scene }) => {
    await scene.jobs.install();
    const edition = writeEdition(scene, { version: "1", jobs: [], ticks: "* * * * * *" });
    const parent = supervisor(scene, { workers: 2 }, edition);
    await eventually(
      "two ticks",
      () => scene.rows("select id from punctual_history where name = 'ticking'").length >= 2,
    );
    await scene.stop(parent);
    const ticks = scene.rows("select tick_at from punctual_history where name = 'ticking'");
    expect(new Set(ticks.map(({ tick_at }) => tick_at)).size).toBe(ticks.length);
  });

  test("limits hold across the children", async ({ scene }) => {
    await scene.dispatchMany("single", 6, { do: "pause", ms: 20 });
    await scene.dispatchMany("pair", 12, { do: "pause", ms: 20 });
    supervisor(scene, { workers: 3, parallel: 4 });
    await scene.untilDrained();
    const all = tries(scene.journal.entries);
    expect(all).toHaveLength(18);
    for (const one of all.filter(({ job }) => job === "single")) {
      expect(neighbours(all, one).filter(({ job }) => job === "single")).toEqual([]);
    }
  });
});
