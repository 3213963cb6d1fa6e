import type { InstallReport } from "../store/maintenance.ts";
import type { Store } from "../store/store.ts";

/** What `repair()` did. */
export interface RepairReport extends Repairs {
  /** The schema before and after, and the statements that led there; none where nothing was missing. */
  installed: InstallReport;
}

export interface Repairs {
  /** Indexes and views that were made again. */
  made: string[];
  /** Those that could not be made, and why. */
  failed: { name: string; message: string }[];
  /** Runs of dead workers that were taken back. */
  reaped: number;
  /** Rows of dead workers that were deleted. */
  workers: number;
}

/**
 * Tables are up to date by now. Makes indexes and views that are missing, takes back what dead workers held, and forgets
 * them. A table that was dropped is not made again: nobody knows what was in it.
 */
export async function repair(store: Store, reap: () => Promise<number>): Promise<Repairs> {
  const { missing } = await store.inspect();
  const made: string[] = [];
  const failed: Repairs["failed"] = [];
  if (missing.some(({ kind }) => kind === "table" || kind === "sequence")) {
    return { made, failed, reaped: 0, workers: 0 };
  }
  for (const object of missing) {
    try {
      await store.restore(object);
      made.push(object.name);
    } catch (error) {
      failed.push({ name: object.name, message: error instanceof Error ? error.message : String(error) });
    }
  }
  const reaped = await reap();
  return { made, failed, reaped, workers: await store.forgetWorkers() };
}
