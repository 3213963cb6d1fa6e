import { AsyncLocalStorage } from "node:async_hooks";
import type { Duration } from "../time.ts";
import type { Batch } from "./batch.ts";
import type { JsonValue } from "./payload.ts";

/** Second argument of a handler: the run it executes. */
export interface RunContext {
  readonly id: number;
  readonly name: string;
  readonly queue: string;
  readonly key: string | null;
  readonly tags: readonly string[];
  /** 1 for the first attempt. Together with `id` it can serve as a fencing token for your own writes. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly isLastAttempt: boolean;
  /** Number of attempts that ended with a crash of their process. */
  readonly crashes: number;
  /** The tick that the run belongs to; for a dispatched run, when it was due. */
  readonly scheduledFor: Date;
  readonly createdAt: Date;
  readonly parentId: number | null;
  readonly traceparent: string | null;
  /**
   * The batch that the run is a member or a callback of; null: none. A member may add to it until it has ended: await
   * each `add()`.
   */
  readonly batch: Batch | null;
  /** Aborts on timeout, cancel, shutdown or a lost lease; the code of its `reason`, a PunctualError, says which. */
  readonly signal: AbortSignal;
  /**
   * Stores the progress of the run: any JSON value, or how much is done `of` how much, which lists show as a bar. Calls
   * in quick succession are written as one.
   */
  progress(value: JsonValue): void;
  progress(done: number, of: number): void;
  /**
   * Logs a line: emits `run.logged` and stores the line with the run, for `logs()`. Returns at once and never throws.
   * Stores the first 1,000 lines of an attempt, up to 4 KB of each message and data up to 16 KB of JSON.
   */
  log(message: string, data?: unknown): void;
  /** Ends this attempt and runs the handler again later; the attempt does not count. */
  snooze(delay: Duration): never;
  /**
   * Ends this attempt and closes the rate of this run for everybody, for at least this time: for a service that answers
   * "too many requests". The attempt does not count; the run waits in its place until the rate opens. Of several rates
   * it closes the most specific one that the run is under: that of its key, else that of its job, else that of its
   * queue. Throws INVALID_OPTION if the run is under none.
   */
  slowDown(delay: Duration): never;
  /** Ends the run as cancelled, which is not a failure. */
  discard(reason?: string): never;
  /**
   * Runs `work` in a transaction that also completes the run: both are committed, or neither. On SQLite `work` must be
   * synchronous.
   */
  transaction<Tx = import("node:sqlite").DatabaseSync>(work: (tx: Tx) => unknown): Promise<void>;
}

/** `instance` is the engine that executes the run. Other versions of the package read the field by this name. */
type CurrentRun = AsyncLocalStorage<{ id: number; instance: object }>;

/** On the global object, because a handler may be run by one copy of the package and dispatch with another. */
const KEY: unique symbol = Symbol.for("punctual.currentRun") as never;

const global = globalThis as { [KEY]?: CurrentRun };

global[KEY] ??= new AsyncLocalStorage();

/** The run whose handler is executing: its id becomes the `parentId` of runs that the handler dispatches. */
export const currentRun: CurrentRun = global[KEY];
