import { spawnSync } from "node:child_process";
import { describe, expect } from "vitest";
import { cameAbout } from "../support/came-about.ts";
import { eventually } from "../support/eventually.ts";
import { test } from "./support/scene.ts";
import { supervisor, told, writeEdition } from "./support/supervised.ts";
import { mostAtOnce, tries } from "./support/sweep.ts";

describe("no more runs at once than slots", () => {
  test("when children are replaced while they have long ones", async ({ scene }) => {
    await scene.dispatchMany("free", 4, { do: "pause", ms: 1500 });
    supervisor(scene, { workers: 1, parallel: 1, maxJobs: 1 });
    await scene.untilDrained();
    const all = tries(scene.journal.entries);
    expect(all).toHaveLength(4);
    expect(mostAtOnce(all, () => "all")).toEqual(new Map([["all", 1]]));
  });

  test("when the parent runs functions itself", async ({ scene }) => {
    supervisor(scene, { workers: 1, parallel: 2 }, undefined, { functions: 8 });
    await eventually(
      "all functions",
      () => scene.journal.find({ what: "end", job: "function" }).length === 8,
    );
    const most = mostAtOnce(tries(scene.journal.entries), ({ job }) => job);
    cameAbout("two functions at once", most.get("function") !== 1);
    expect(most).toEqual(new Map([["function", 2]]));
  });
});

test("a child that dies while broken definitions are loaded in its place is replaced", async ({ scene }) => {
  const edition = writeEdition(scene, { version: "1", jobs: [] });
  const parent = supervisor(scene, { workers: 1 }, edition);
  const { pid } = told<{ pid: number }>(await scene.journal.until({ what: "child.started" }));
  writeEdition(scene, { version: "2", jobs: [], boot: "throw" });
  parent.signal("SIGHUP");
  await eventually("the reload", () =>
    scene.journal.find({ what: "log" }).some(({ text }) => text === "reloading the definitions"),
  );
  process.kill(pid, "SIGKILL");
  await scene.journal.until({ what: "error" });
  writeEdition(scene, { version: "3", jobs: [] });
  const { id } = await scene.job.free.dispatch({ do: "return" });
  expect(await scene.untilFinished(id)).toMatchObject({ state: 3 });
});

test.runIf(process.platform === "linux")(
  "a child that cannot start because the system has no free file descriptors starts later",
  async ({ scene }) => {
    const parent = supervisor(scene, { workers: 1 });
    const { pid } = told<{ pid: number }>(await scene.journal.until({ what: "child.started" }));
    const allow = (files: number) =>
      expect(spawnSync("prlimit", ["--pid", String(parent.pid), `--nofile=${files}:`]).status).toBe(0);
    allow(5);
    process.kill(pid, "SIGKILL");
    const { text } = await scene.journal.until({ what: "error" });
    expect(text).toContain("EMFILE");
    allow(500);
    const { id } = await scene.job.free.dispatch({ do: "return" });
    expect(await scene.untilFinished(id)).toMatchObject({ state: 3 });
  },
);

test("a child that boots while newer definitions are loaded does not prevent the supervisor from ending", async ({
  scene,
}) => {
  const edition = writeEdition(scene, { version: "1", jobs: [], boot: "wait" });
  const parent = supervisor(scene, { workers: 1 }, edition);
  await scene.journal.until({ what: "waiting" });
  writeEdition(scene, { version: "2", jobs: [] });
  parent.signal("SIGHUP");
  await scene.journal.until({ what: "child.started" });
  expect(await scene.stop(parent)).toEqual({ code: 0, signal: null });
});

test("children whose supervisor was killed end before their leases do, whatever their handlers do", async ({
  scene,
}) => {
  const lease = 3;
  const { id } = await scene.job.held.dispatch({ do: "pause", ms: 4500 });
  const parent = supervisor(scene, { workers: 1 }, undefined, { lease });
  const { pid } = await scene.journal.until({ what: "start", run: id });
  parent.signal("SIGKILL");
  supervisor(scene, { workers: 1 }, undefined, { lease });
  expect(await scene.untilFinished(id)).toMatchObject({ state: 3, attempts: 2, crashes: 1 });
  // The second attempt has taken as long as the first would have.
  expect(scene.journal.find({ what: "end", pid })).toEqual([]);
});

test("log data that the channel cannot carry is logged as it is stored", async ({ scene }) => {
  const { id } = await scene.jobs.declare("sharing").dispatch();
  supervisor(scene, { workers: 1 });
  expect(await scene.untilFinished(id)).toMatchObject({ state: 3, attempts: 1, crashes: 0 });
  const logged = await scene.journal.until({ what: "run.logged", run: id });
  expect(told(logged)).toMatchObject({
    message: "shared memory",
    data: { memory: "[8 bytes]" },
  });
  expect(await scene.jobs.logs(id)).toMatchObject([
    { message: "shared memory", data: { memory: "[8 bytes]" } },
  ]);
});
