import { readable } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import type { WorkerRecord, WorkerRun } from "../store/records.ts";

/** A run that a worker executes. */
export interface WorkerRunInfo extends Omit<WorkerRun, "worker" | "startedAt" | "progress"> {
  startedAt: Date;
  progress: JsonValue | undefined;
}

/** A live worker, and the runs that it executes. */
export interface WorkerInfo extends Omit<WorkerRecord, "startedAt" | "seenAt"> {
  startedAt: Date;
  seenAt: Date;
  /** Number of runs that it executes now, of `parallel` at most. */
  used: number;
  /** The runs that it has executed longest, at most 20. */
  running: WorkerRunInfo[];
}

/** Most runs to list for each worker, and to read for all workers together. */
const MOST_LISTED = 20;
export const MOST_RUNNING = 10_000;

export function toWorkers(workers: WorkerRecord[], runs: WorkerRun[]): WorkerInfo[] {
  const byWorker = Map.groupBy(runs, ({ worker }) => worker);
  return workers.map((worker) => {
    const own = byWorker.get(worker.id) ?? [];
    return {
      ...worker,
      facts: worker.facts ?? null,
      startedAt: new Date(worker.startedAt),
      seenAt: new Date(worker.seenAt),
      used: own.length,
      running: own.slice(0, MOST_LISTED).map(({ worker: _, startedAt, progress, ...run }) => ({
        ...run,
        startedAt: new Date(startedAt),
        progress: readable(progress),
      })),
    };
  });
}
