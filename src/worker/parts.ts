import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import type { QueueLimit, QueueOrders } from "../job/queue-orders.ts";
import type { Registry } from "../job/registry.ts";
import type { BatchAddition, BatchControl } from "../run/batch.ts";
import type { JobCounts } from "../run/job-counts.ts";
import type { Retention } from "../run/retention.ts";
import type { Ticker } from "../schedule/ticker.ts";
import type { PendingCalls } from "../store/pending-calls.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Deadline } from "./deadline.ts";
import type { Executor } from "./executor.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { Logbook } from "./logbook.ts";

/** Parts that one instance shares. `engine.ts` makes them. */
export interface InstanceParts {
  /** Identifies the instance in the database: the id of its worker, and the owner of its ad hoc runs. */
  id: string;
  hostname: string;
  clock: Clock;
  random(): number;
  events: Emitter;
  logger: Logger;
  registry: Registry;
  queueLimits: ReadonlyMap<string, QueueLimit>;
  namedLimits: ReadonlyMap<string, QueueLimit>;
  queueOrders: QueueOrders;
  counts: JobCounts;
  logbook: Logbook;
  /** Opens the database on first use. */
  openStore(): Promise<Store>;
  /** Statements without an answer. */
  pending: PendingCalls;
  /** The engine that handlers dispatch through: a run that they dispatch gets the handler's run as its parent. */
  engine: object;
  batches: HandlerBatches;
  /** Most bytes of the JSON text of a result. */
  maxResult: number;
}

/** The methods that `run.batch` calls. */
export interface HandlerBatches {
  control: BatchControl;
  /** Adds members for a running member: also to a sealed batch. */
  addAsMember(id: number, additions: BatchAddition[]): Promise<number>;
}

type WorkerKeys =
  | "id"
  | "clock"
  | "random"
  | "events"
  | "logger"
  | "registry"
  | "queueOrders"
  | "counts"
  | "logbook"
  | "engine";

/** Parts of one worker. */
export interface WorkerParts extends Pick<InstanceParts, WorkerKeys> {
  store: Store;
  executor: Executor;
  known: KnownJobs;
  /** Null: this worker ticks no schedules. */
  ticker: Pick<Ticker, "wait" | "isDue" | "tick"> | null;
  deadline: Deadline;
  /** Numbers the exchanges of this instance. */
  nextSeq(): number;
}

/** Parts of the attempts in one process. */
export interface ExecutionParts {
  store: Pick<Store, "progress" | "slowHook">;
  clock: Clock;
  events: Pick<Emitter, "report">;
  /** Emits and keeps a line that the handler logged. */
  log(run: ClaimedRun, message: string, data: unknown): void;
  random(): number;
  /** The engine: a run that the handler dispatches through it gets this run as its parent. */
  engine: object;
  batches: HandlerBatches;
  /** Most bytes of the JSON text of a result. */
  maxResult: number;
  /** Runs `work` and completes the run in one transaction. Returns false if the lease is lost. */
  completeWith(run: ClaimedRun, work: (tx: unknown) => unknown, keep: Retention): Promise<boolean>;
  /** Called when the handler has returned, before the observer knows. */
  freed?(): void;
}
