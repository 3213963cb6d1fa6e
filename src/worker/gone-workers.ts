import { defaultRetention } from "../run/retention.ts";
import { WORKER_SILENT_AFTER } from "../store/store.ts";
import { CRASH_CAP, type CrashParts, recordReaped, workerDied } from "./crashed-runs.ts";
import type { InstanceParts, WorkerParts } from "./parts.ts";
import { isGone } from "./process-mark.ts";

export interface GoneWorkerParts
  extends CrashParts,
    Pick<WorkerParts, "id" | "store">,
    Pick<InstanceParts, "hostname"> {}

/** The result of one pass. */
interface GoneReap {
  /** Number of reaped runs. */
  reaped: number;
  /** Milliseconds until more workers whose process has ended count as silent; null: there are none. */
  again: number | null;
}

/**
 * Reaps the runs of workers whose process ran on this host and has ended, without waiting for their leases (note 50).
 */
export async function reapGone(parts: GoneWorkerParts): Promise<GoneReap> {
  const { store, id, hostname } = parts;
  const workers = await store.busyWorkersOf(hostname);
  const gone = workers.filter(
    (worker) => worker.id !== id && worker.process !== null && isGone(worker.pid, worker.process),
  );
  if (gone.length === 0) return { reaped: 0, again: null };
  const ids = gone.map((worker) => worker.id);
  const reaped = await store.reapGone(ids, CRASH_CAP, workerDied, defaultRetention.failed);
  for (const run of reaped) recordReaped(run, workerDied, parts);
  const [again = null] = gone
    .map(({ silence }) => WORKER_SILENT_AFTER - silence)
    .filter((wait) => wait > 0)
    .sort((a, b) => a - b);
  return { reaped: reaped.length, again };
}
