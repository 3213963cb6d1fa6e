import { expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { test } from "./support/scene.ts";

test("two processes that run a pass each second beside a worker execute each run once", async ({ scene }) => {
  const crontabs = ["one", "two"];
  for (const name of crontabs) {
    scene.start(name, "child-crontab.ts", [scene.path, scene.journal.path, name]);
  }
  scene.worker("forever", { lease: 10, parallel: 2 });
  await scene.journal.until({ by: "forever", what: "worker.started" });
  const passes = (by: string) => scene.journal.find({ by, what: "passed" }).length;
  const asked: number[] = [];
  // Long enough for each to make some passes, and to find a run in one.
  await eventually("three passes of each with work in them", async () => {
    const runs = await scene.dispatchMany("free", 5, { do: "pause", ms: 20 });
    const limited = await scene.dispatchMany("pair", 1, { do: "pause", ms: 5 });
    asked.push(...[...runs, ...limited].map(({ id }) => id));
    return crontabs.every((by) => passes(by) >= 3 && scene.journal.find({ by, what: "start" }).length > 0);
  });
  await scene.untilDrained();

  const ran = scene.journal.find({ what: "start" }).map(({ run }) => run!);
  expect(ran.sort((a, b) => a - b)).toEqual(asked.sort((a, b) => a - b));
  const finished = scene.rows("select id from punctual_history where state = 3 and attempts = 1");
  expect(finished).toHaveLength(asked.length);
  expect(scene.journal.find({ what: "error" })).toEqual([]);
});
