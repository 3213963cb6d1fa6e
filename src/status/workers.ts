import { readable } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import type { WorkerRecord, WorkerRequest, WorkerRun } from "../store/records.ts";
import { isClaiming } from "../store/worker-records.ts";

/** A run that a worker executes. */
export interface WorkerRunInfo extends Omit<WorkerRun, "worker" | "startedAt" | "progress"> {
  startedAt: Date;
  progress: JsonValue | undefined;
}

/** A live worker. */
export interface WorkerReport extends Omit<WorkerRecord, "startedAt" | "seenAt" | "request"> {
  startedAt: Date;
  seenAt: Date;
  /** The request of an operator; null: none. The worker obeys at its next heartbeat: see `facts.activity`. */
  request: WorkerRequestInfo | null;
}

/** A request to pause or to stop: by whom, why and since when. */
export interface WorkerRequestInfo extends Omit<WorkerRequest, "since"> {
  since: Date;
}

/** A live worker, and the runs that it executes. */
export interface WorkerInfo extends WorkerReport {
  /** Number of runs that it executes now, of `parallel` at most. */
  used: number;
  /** The runs that it has executed longest, at most 20. */
  running: WorkerRunInfo[];
}

/** Most runs to list for each worker, and to read for all workers together. */
const MOST_LISTED = 20;
export const MOST_RUNNING = 10_000;

export function toWorkerReport(worker: WorkerRecord): WorkerReport {
  const { startedAt, seenAt, request = null } = worker;
  return {
    ...worker,
    startedAt: new Date(startedAt),
    seenAt: new Date(seenAt),
    request: request && { ...request, since: new Date(request.since) },
  };
}

/** Whether a worker does what an operator has asked of it. */
export function obeys({ request, facts }: Pick<WorkerReport, "request" | "facts">): boolean {
  if (facts?.activity === "stopping") return true;
  return facts?.activity === (request?.action === "pause" ? "paused" : request === null ? "working" : null);
}

/**
 * Returns why none of the workers does a part of the work. `fits`: whether the work is one of a worker's; `none`: what
 * to say if it is of none.
 */
export function whyUndone(
  workers: readonly WorkerReport[],
  fits: (worker: WorkerReport) => boolean,
  none: string,
): string {
  const alive = workers.filter(({ parallel }) => parallel > 0);
  if (alive.length === 0) return "no worker is alive";
  const idle = alive.filter((worker) => fits(worker) && !isClaiming(worker));
  if (idle.length === 0) return none;
  const words = [...new Set(idle.map(({ facts }) => facts!.activity!))].sort();
  const who = idle.length === 1 ? "the only worker for it is" : `all ${idle.length} workers for it are`;
  return `${who} ${words.join(" or ")}`;
}

export function toWorkers(workers: WorkerRecord[], runs: WorkerRun[]): WorkerInfo[] {
  const byWorker = Map.groupBy(runs, ({ worker }) => worker);
  return workers.map((worker) => {
    const own = byWorker.get(worker.id) ?? [];
    return {
      ...toWorkerReport(worker),
      facts: worker.facts ?? null,
      used: own.length,
      running: own.slice(0, MOST_LISTED).map(({ worker: _, startedAt, progress, ...run }) => ({
        ...run,
        startedAt: new Date(startedAt),
        progress: readable(progress),
      })),
    };
  });
}
