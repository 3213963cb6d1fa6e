import type { RunInfo } from "../../run/info.ts";
import type { StatusReport } from "../../status/report.ts";

/** The lease of a job's runs that ends first. */
export interface JobLease {
  worker: string;
  until: Date | null;
  startedAt: Date | null;
  /** Number of other running runs of the job. */
  others: number;
}

/** Returns, for each job, the lease that ends first. */
export function leasesOf(running: RunInfo[], report: StatusReport): Map<string, JobLease> {
  const leases = new Map<string, JobLease>();
  for (const run of running) {
    const known = leases.get(run.name);
    if (known && Number(known.until) <= Number(run.lockedUntil)) {
      known.others++;
      continue;
    }
    leases.set(run.name, {
      worker: workerName(run.worker, report) ?? "a dead worker",
      until: run.lockedUntil,
      startedAt: run.startedAt,
      others: known ? known.others + 1 : 0,
    });
  }
  return leases;
}

/** `web-2:4411`, also for a silent worker that still holds runs; null: the worker has no row any more. */
export function workerName(
  id: string | null,
  { workers, silent }: Pick<StatusReport, "workers" | "silent">,
): string | null {
  const worker = workers.find((one) => one.id === id) ?? silent.find((one) => one.id === id)?.trace;
  return worker ? `${worker.host}:${worker.pid}` : null;
}
