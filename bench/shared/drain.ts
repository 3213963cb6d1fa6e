import type { Punctual } from "../../src/index.ts";
import { type Measured, perSecond } from "./rounds.ts";

const payload = { text: "x".repeat(88) };

function payloads(count: number): (typeof payload)[] {
  return Array.from({ length: count }, () => payload);
}

/** Inserts `count` runs and drains them through a worker, which ends the instance; `limit` is the job's concurrency. */
export async function drain(jobs: Punctual, runs: number, limit: number, keep: boolean): Promise<Measured> {
  const finished = Promise.withResolvers<void>();
  let ran = 0;
  const job = jobs.schedule("bench", async (_: typeof payload) => {
    if (++ran === runs) finished.resolve();
  });
  job.concurrency(limit);
  if (!keep) job.keep(0);
  let since = performance.now();
  await job.dispatchMany(payloads(runs));
  const bulk = perSecond(runs, since);
  since = performance.now();
  const working = jobs.forever({ parallel: 50, signals: false });
  await finished.promise;
  const drained = perSecond(runs, since);
  await jobs.stop();
  await working;
  return { bulk, drain: drained };
}

export async function dispatchOneByOne(jobs: Punctual, count: number): Promise<Measured> {
  const job = jobs.schedule("bench", async (_: typeof payload) => {});
  await job.dispatch(payload);
  const since = performance.now();
  for (let sent = 0; sent < count; sent++) await job.dispatch(payload);
  const dispatch = perSecond(count, since);
  await jobs.stop();
  return { dispatch };
}

/** Puts in the runs that a bare loop drains, and ends the instance. */
export async function fill(jobs: Punctual, runs: number): Promise<void> {
  const job = jobs.schedule("bench", async (_: typeof payload) => {}).concurrency(0);
  await job.dispatchMany(payloads(runs));
  await jobs.stop();
}
