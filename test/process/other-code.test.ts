import { expect } from "vitest";
import type { OtherCode } from "./support/child-other-code.ts";
import { type Act, type JobName, NARROW, PAIR, PER_KEY } from "./support/process-jobs.ts";
import { type Scene, test } from "./support/scene.ts";
import { supervisor } from "./support/supervised.ts";
import { mostAtOnce, type Try, tries } from "./support/sweep.ts";

const COUNT = 16;
const KEYS = ["a", "b"];

/** For each job: which of its attempts share a limit, and how many may run at once. */
const LIMITS: Partial<Record<JobName, { gate: (one: Try) => string; most: number; queue: string }>> = {
  pair: { gate: ({ job }) => job, most: PAIR, queue: "default" },
  keyed: { gate: ({ key }) => `key ${key}`, most: PER_KEY, queue: "default" },
  narrow: { gate: ({ job }) => job, most: NARROW, queue: "narrow" },
};

async function dispatchFrom(scene: Scene, code: OtherCode, job: JobName): Promise<void> {
  const acts: Act[] = Array.from({ length: COUNT }, (_, n) => ({
    do: "pause",
    ms: 10 + (n % 3) * 5,
    ...(job === "keyed" && { key: KEYS[n % KEYS.length]! }),
  }));
  const { queue } = LIMITS[job]!;
  const producer = scene.start("producer", "child-other-code.ts", [
    scene.path,
    code,
    job,
    queue,
    JSON.stringify(acts),
  ]);
  expect(await producer.exit()).toEqual({ code: 0, signal: null });
}

async function expectLimit(scene: Scene, job: JobName): Promise<void> {
  await scene.untilDrained();
  const all = tries(scene.journal.entries);
  expect(all).toHaveLength(COUNT);
  const { gate, most } = LIMITS[job]!;
  const gates = job === "keyed" ? KEYS.map((key) => `key ${key}`) : [job];
  expect(mostAtOnce(all, gate)).toEqual(new Map(gates.map((one) => [one, most])));
  expect(scene.rows("select * from punctual_history where state <> 3 or attempts <> 1")).toEqual([]);
}

const CODES: OtherCode[] = ["without limits", "with older limits", "declared", "by name"];

for (const job of ["pair", "keyed", "narrow"] as const) {
  for (const code of CODES) {
    test(`runs of "${job}" dispatched by code ${code} are held by the worker's limit, which is used`, async ({
      scene,
    }) => {
      for (const name of ["first", "second"]) scene.worker(name, { lease: 30, parallel: 8 });
      for (const by of ["first", "second"]) await scene.journal.until({ by, what: "worker.started" });
      await dispatchFrom(scene, code, job);
      await expectLimit(scene, job);
    });
  }

  test(`runs of "${job}" that were dispatched before any worker had synced a limit are held by it`, async ({
    scene,
  }) => {
    await dispatchFrom(scene, "without limits", job);
    scene.worker("first", { lease: 30, parallel: 8 });
    await expectLimit(scene, job);
  });
}

test("under a supervisor a child computes the keys that a producer could not compute", async ({ scene }) => {
  await dispatchFrom(scene, "declared", "keyed");
  supervisor(scene, { workers: 2, parallel: 4 });
  await expectLimit(scene, "keyed");
});
