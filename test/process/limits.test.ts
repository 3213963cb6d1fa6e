import { expect } from "vitest";
import { cameAbout } from "../support/came-about.ts";
import { type Act, type JobName, NARROW, PAIR, PER_KEY } from "./support/process-jobs.ts";
import { type Scene, test } from "./support/scene.ts";
import { mostAtOnce, type Try, tries } from "./support/sweep.ts";

const KEYS = ["a", "b", "c", "d"];
const PROCESSES = ["first", "second", "third", "fourth"];

/** Handlers of different lengths, so that slots become free at any moment. */
function acts(job: JobName, count: number): Act[] {
  return Array.from({ length: count }, (_, index) => ({
    do: "pause" as const,
    ms: 2 + (index % 7) * 4,
    ...(job === "keyed" && { key: KEYS[index % KEYS.length]! }),
  }));
}

async function runOnFour(scene: Scene, jobs: JobName[], parallel: number): Promise<readonly Try[]> {
  const count = 40;
  const dispatch = () => Promise.all(jobs.map((job) => scene.job[job].dispatchMany(acts(job, count))));
  await dispatch();
  for (const name of PROCESSES) scene.worker(name, { lease: 30, parallel });
  for (const by of PROCESSES) await scene.journal.until({ by, what: "worker.started" });
  // Again when all four have started, so that all four take part.
  await dispatch();
  await scene.untilDrained();
  const all = tries(scene.journal.entries);
  expect(all).toHaveLength(2 * count * jobs.length);
  return all;
}

const processesOf = (all: readonly Try[]) => new Set(all.map(({ pid }) => pid)).size;

// With one run at a time in each process, a limit of two or more can only be used by several processes.
test("the limit of a job holds across processes, and is used", async ({ scene }) => {
  const all = await runOnFour(scene, ["pair"], 1);
  expect(mostAtOnce(all, ({ job }) => job)).toEqual(new Map([["pair", PAIR]]));
  expect(processesOf(all)).toBeGreaterThanOrEqual(PAIR);
});

test("the limit of a key holds across processes, and is used", async ({ scene }) => {
  const all = await runOnFour(scene, ["keyed"], 1);
  expect(mostAtOnce(all, ({ key }) => key!)).toEqual(new Map(KEYS.map((key) => [key, PER_KEY])));
  // Keys do not wait for each other.
  const most = mostAtOnce(all, ({ job }) => job).get("keyed");
  cameAbout("every process ran one of the keys at once", most === KEYS.length * PER_KEY);
});

test("the limit of a queue holds across processes, and is used", async ({ scene }) => {
  const all = await runOnFour(scene, ["narrow"], 1);
  expect(mostAtOnce(all, ({ job }) => job)).toEqual(new Map([["narrow", NARROW]]));
  expect(processesOf(all)).toBeGreaterThanOrEqual(NARROW);
});

test("limits of different kinds hold together, whichever worker uses the slots", async ({ scene }) => {
  const all = await runOnFour(scene, ["pair", "keyed", "narrow", "single", "free"], 3);
  const gate = ({ job, key }: Try) => (key === null ? job : `${job} ${key}`);
  const most = mostAtOnce(all, gate);
  most.delete("free");
  expect(Object.fromEntries(most)).toEqual({
    pair: PAIR,
    narrow: NARROW,
    single: 1,
    ...Object.fromEntries(KEYS.map((key) => [`keyed ${key}`, PER_KEY])),
  });
  cameAbout("every process took part", processesOf(all) === PROCESSES.length);
});

test("all slots of a killed worker are free again after the lease", async ({ scene }) => {
  const stuck = await scene.dispatchMany("pair", PAIR);
  const first = scene.worker("first", { holds: ["pair"] });
  for (const { id } of stuck) await scene.journal.until({ what: "start", run: id });
  first.signal("SIGKILL");
  await scene.job.pair.dispatchMany(acts("pair", 40));
  for (const name of ["second", "third"]) scene.worker(name, { parallel: 1 });
  await scene.untilDrained();
  const after = tries(scene.journal.entries).filter((one) => one.pid !== first.pid);
  expect(mostAtOnce(after, ({ job }) => job)).toEqual(new Map([["pair", PAIR]]));
});
