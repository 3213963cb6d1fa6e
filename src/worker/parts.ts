import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import type { Registry } from "../job/registry.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Deadline } from "./deadline.ts";
import type { Executor } from "./executor.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { Logbook } from "./logbook.ts";
import type { Serving } from "./serving.ts";
import type { Tallies } from "./tallies.ts";

export interface WorkerOptions extends Serving {
  /** Runs at once, in all places together. */
  parallel: number;
  /** Whether it ticks. */
  schedules: boolean;
  /** The most that is claimed at once; null: as many as will start soon. */
  batch: number | null;
  sleep: number;
  /** Ends after so many runs; null: never for their number. */
  budget: number | null;
  /** Ends when nothing is due. */
  untilEmpty: boolean;
  /** How long stop() waits for handlers before it aborts them. */
  grace: number;
}

export interface WorkerParts {
  id: string;
  store: Store;
  clock: Clock;
  events: Emitter;
  registry: Registry;
  tallies: Tallies;
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
