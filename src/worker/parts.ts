import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import type { Registry } from "../job/registry.ts";
import type { JobCounts } from "../run/job-counts.ts";
import type { Pending } from "../store/pending.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Deadline } from "./deadline.ts";
import type { Executor } from "./executor.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { Logbook } from "./logbook.ts";

export interface WorkerParts {
  id: string;
  store: Store;
  clock: Clock;
  events: Emitter;
  registry: Registry;
  counts: JobCounts;
  logbook: Logbook;
  logger: Logger;
  instance: object;
  random(): number;
  nextSeq(): number;
  known: KnownJobs;
  /** Null: it does not tick. */
  ticker: { readonly wait: number; readonly isDue: boolean; tick(): Promise<number> } | null;
  executor: Executor;
  deadline: Deadline;
}

export interface HostParts
  extends Omit<WorkerParts, "store" | "nextSeq" | "ticker" | "known" | "executor" | "deadline"> {
  store(): Promise<Store>;
  pending: Pending;
  queueLimits: ReadonlyMap<string, number>;
  host: string;
}
