import type { InstallReport } from "../store/maintenance.ts";
import type { Store } from "../store/store.ts";
import { reap } from "./janitor.ts";
import { LocalExecutor } from "./local-executor.ts";
import type { InstanceParts } from "./parts.ts";

/** Result of `repair()`. */
export interface RepairReport extends Repairs {
  /** The schema version before and after, and the statements that were run; none if nothing was missing. */
  installed: InstallReport;
}

export interface Repairs {
  /** Indexes and views that were created. */
  made: string[];
  /** Indexes and views that could not be created, with the reason. */
  failed: { name: string; message: string }[];
  /** Number of runs that were reaped from dead workers. */
  reaped: number;
  /** Number of rows of dead workers that were deleted. */
  workers: number;
}

/**
 * Creates missing indexes and views, reaps the runs of dead workers and deletes these workers. The tables are up to
 * date when it is called. A dropped table is not created: its data are lost, and an empty table would hide that.
 */
export async function repair(store: Store, parts: InstanceParts): Promise<Repairs> {
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
  const executor = new LocalExecutor(1, store, parts);
  const reaped = await reap({ ...parts, store, executor });
  await Promise.all([executor.crashHooksCalled(), parts.counts.flush()]);
  return { made, failed, reaped, workers: await store.forgetWorkers() };
}
