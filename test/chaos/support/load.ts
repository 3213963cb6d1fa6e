import type { Definition, Handler, Punctual, Run } from "../../../src/index.ts";
import type { Limits } from "./checker.ts";

export interface Task {
  /** How long its handler takes. */
  ms: number;
  key?: string;
}

export const LIMITS: Limits = { job: { single: 1, pair: 2 }, perKey: { keyed: 1 }, queue: { narrow: 3 } };

/** The jobs that have their own queue. */
export const QUEUES: Record<string, string> = { narrow: "narrow" };

const KEYS = 4;

export type LoadName = "free" | "single" | "pair" | "keyed" | "narrow" | "poison";

/** The jobs of the kill tests, for the test that dispatches and for the processes that run them. */
export function defineLoad(
  jobs: Punctual,
  handler: Handler<Task>,
  poison: Handler<Task>,
): Record<LoadName, Definition<Task>> {
  jobs.queue("narrow", { concurrency: LIMITS.queue.narrow! });
  jobs.schedule("ticking", handler).everySecond().misfire("all").concurrency(0).args({ ms: 5 });
  return {
    free: jobs.schedule("free", handler).concurrency(0),
    single: jobs.schedule("single", handler).concurrency(LIMITS.job.single!),
    pair: jobs.schedule("pair", handler).concurrency(LIMITS.job.pair!),
    keyed: jobs
      .schedule("keyed", handler)
      .concurrency(0, { perKey: LIMITS.perKey.keyed!, by: (task) => task.key }),
    narrow: jobs.schedule("narrow", handler).concurrency(0).queue("narrow"),
    poison: jobs.schedule("poison", poison).concurrency(0),
  };
}

/** Dispatches some runs of each job, so that there is work for a while. */
export async function dispatchWave(
  job: Record<LoadName, Definition<Task>>,
  random: () => number,
  size: number,
): Promise<Run[]> {
  const tasks = (count: number, longest: number): Task[] =>
    Array.from({ length: count }, () => ({
      ms: Math.round(2 + random() * longest),
      key: `key ${Math.floor(random() * KEYS)}`,
    }));
  const runs = [
    await job.free.dispatchMany(tasks(size, 60)),
    await job.single.dispatchMany(tasks(size / 8, 15)),
    await job.pair.dispatchMany(tasks(size / 4, 30)),
    await job.keyed.dispatchMany(tasks(size / 4, 30)),
    await job.narrow.dispatchMany(tasks(size / 4, 30)),
  ];
  return runs.flat();
}
