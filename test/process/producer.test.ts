import { expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { STACK_TRACE } from "../support/start-child.ts";
import { test } from "./support/scene.ts";

for (const behaviour of ["awaits", "does not await", "dispatches a function"]) {
  test(`a script that ${behaviour}: it ends by itself, and its run is inserted`, async ({ scene }) => {
    const child = scene.start("producer", "child-producer.ts", [scene.path, behaviour]);
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(child.stderr).toBe("");
    expect(scene.rows("select * from punctual_runs")).toMatchObject([{ state: 1, attempts: 0 }]);
  });
}

test("a failed dispatch that is not awaited is reported on standard error and does not end the process", async ({
  scene,
}) => {
  const child = scene.start("producer", "child-producer.ts", [scene.path, "fails unheard"]);
  expect(await child.exit()).toEqual({ code: 0, signal: null });
  expect(child.stderr).toMatch(/^punctual: error: .*"no such job"/);
  expect(child.stderr).not.toMatch(STACK_TRACE);
  expect(child.stderr).not.toContain("unhandledRejection");
  expect(scene.rows("select * from punctual_runs")).toMatchObject([{ name: "mail" }]);
});

test("a dispatch waits for a locked database, and keeps its script alive", async ({ scene }) => {
  await scene.jobs.install();
  scene.database.exec("begin immediate");
  const child = scene.start("producer", "child-producer.ts", [scene.path, "is kept waiting"]);
  await eventually("it to live on", () => child.stdout.split("alive").length > 3);
  scene.database.exec("commit");
  expect(await child.exit()).toEqual({ code: 0, signal: null });
  expect(scene.rows("select * from punctual_runs")).toMatchObject([{ name: "mail" }]);
});
