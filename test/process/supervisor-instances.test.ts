import { expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Child } from "../support/start-child.ts";
import type { Way } from "./support/child-instances.ts";
import { type Scene, test } from "./support/scene.ts";
import { isAlive } from "./support/supervised.ts";

function start(scene: Scene, way: Way): Child {
  return scene.start(way, "child-instances.ts", [way, scene.folder, scene.journal.path]);
}

test("two instances of one program have their own children, whichever database answers first", async ({
  scene,
}) => {
  const program = start(scene, "two");
  expect(await program.exit()).toEqual({ code: 0, signal: null });
  const completed = scene.journal.find({ what: "run.completed" });
  expect(completed.map(({ job, text }) => [job, text]).sort()).toEqual([
    ["first", "first"],
    ["second", "second"],
  ]);
  expect(scene.journal.find({ what: "start" })).toHaveLength(2);
});

test("a second supervise() of one instance is refused, in the parent and in its children", async ({
  scene,
}) => {
  const program = start(scene, "twice");
  expect(await program.exit()).toEqual({ code: 0, signal: null });
  const rejected = scene.journal.find({ what: "rejected" });
  expect(rejected.map(({ by, code }) => [by, code])).toEqual([
    ["parent", "WORKER_RUNNING"],
    ["child", "WORKER_RUNNING"],
  ]);
  expect(rejected[0]!.text).toContain("supervise() is under way");
  expect(scene.journal.find({ what: "children" })).toMatchObject([{ ids: [1] }]);
  expect(scene.journal.find({ what: "start" })).toHaveLength(1);
});

test("stop() right after supervise() ends it before it has begun", async ({ scene }) => {
  const program = start(scene, "stopped");
  expect(await program.exit()).toEqual({ code: 0, signal: null });
  expect(scene.journal.find({ what: "ended" })).toMatchObject([{ ids: [0] }]);
});

test("stop() while children boot does not wait for them", async ({ scene }) => {
  const program = start(scene, "booting");
  const { pid } = await scene.journal.until({ what: "booting" });
  program.signal("SIGUSR2");
  expect(await program.exit()).toEqual({ code: 0, signal: null });
  expect(scene.journal.find({ what: "ended" })).toMatchObject([{ ids: [0], pid: program.pid }]);
  await eventually("the end of the child", () => !isAlive(pid));
});

test("the default instance can be supervised", async ({ scene }) => {
  const program = start(scene, "default");
  expect(await program.exit()).toEqual({ code: 0, signal: null });
  expect(scene.journal.find({ what: "run.completed" })).toMatchObject([{ text: "default" }]);
});

test("a child that was silent for a while gets runs as soon as it answers, whatever the sleep", async ({
  scene,
}) => {
  const program = start(scene, "silent");
  expect(await program.exit()).toEqual({ code: 0, signal: null });
  expect(scene.journal.find({ what: "run.completed" })).toMatchObject([{ job: "first" }]);
});
