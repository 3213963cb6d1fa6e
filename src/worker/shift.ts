import type { Events } from "../events/events.ts";
import type { Store } from "../store/store.ts";
import type { Executor } from "./executor.ts";
import type { JobSync } from "./job-sync.ts";
import type { WorkerOptions } from "./options.ts";

/** What a worker works with, and where its handlers run. */
export interface Shift {
  /** Whose call it was. */
  name: string;
  options: WorkerOptions;
  showing: JobSync;
  /** Before anything is claimed. */
  open(store: Store): Executor | Promise<Executor>;
  /** Nothing more will begin. */
  stopping?(): void;
  /** The process is about to exit, whatever is under way. */
  kill?(): void;
  /** After everything is settled. */
  close?(): Promise<void>;
}

const NOTHING = { parallel: 0, queues: null, exceptQueues: [], weights: null, schedules: false };

/** What others must know of a worker; null: of a process that runs its own functions at most. */
export function shownOf(options: WorkerOptions | null): Omit<Events["worker.started"], "worker"> {
  const { parallel, queues, exceptQueues, weights, schedules } = options ?? NOTHING;
  return { parallel, queues, exceptQueues, weights, schedules };
}
