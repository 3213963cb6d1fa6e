import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Scene, test } from "./support/scene.ts";

type Version = "old" | "new";

const noted = ({ journal }: Scene, what: string) => journal.entries.filter((entry) => entry.what === what);

/** The seconds that had a run, with the version of the code that ran it. */
const ticksOf = (scene: Scene) =>
  noted(scene, "start").map(({ text }) => {
    const [at, version] = text!.split(" ") as [string, Version];
    return { second: Date.parse(at) / 1000, version };
  });

/** Starts a process with this version of the code, and waits for three more ticks. */
async function startVersion(scene: Scene, name: string, version: Version) {
  const child = scene.start(name, "child-renamed.ts", [scene.path, scene.journal.path, name, version]);
  await eventually(`${name} to work`, () => noted(scene, "working").some(({ by }) => by === name));
  const before = ticksOf(scene).length;
  const since = () => ticksOf(scene).slice(before);
  const isRun = () => since().filter((tick) => tick.version === version).length >= 3;
  await eventually(`three ticks of ${name}`, isRun, 30_000);
  return child;
}

describe("a job that is renamed while workers with the old code are alive", () => {
  test("runs each tick and each dispatch once, also after a rollback", { timeout: 120_000 }, async ({
    scene,
  }) => {
    await startVersion(scene, "old 1", "old");
    await startVersion(scene, "new 1", "new");
    await startVersion(scene, "rolled back", "old");
    const last = await startVersion(scene, "new 2", "new");
    const children = ["old 1", "new 1", "rolled back"];
    expect(noted(scene, "gone").filter(({ by }) => children.includes(by))).toEqual([]);
    const asked = () => noted(scene, "dispatched").map(({ run }) => run);
    const ran = () => noted(scene, "ran").map(({ run }) => run);
    const before = asked();
    await eventually("what was dispatched to run", () => before.every((run) => ran().includes(run)), 30_000);
    last.signal("SIGTERM");
    const seconds = ticksOf(scene).map(({ second }) => second);
    const first = Math.min(...seconds);
    expect(seconds.sort((a, b) => a - b)).toEqual(seconds.map((_, index) => first + index));
    const runs = ran();
    expect(runs.filter((run, index) => runs.indexOf(run) !== index)).toEqual([]);
    expect(noted(scene, "error")).toEqual([]);
  });
});
