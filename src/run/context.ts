import { AsyncLocalStorage } from "node:async_hooks";
import type { Duration } from "../time.ts";
import type { JsonValue } from "./payload.ts";

/** What a handler gets beside its arguments: the run it is in. */
export interface RunContext {
  readonly id: number;
  readonly name: string;
  readonly queue: string;
  readonly key: string | null;
  readonly tags: readonly string[];
  /** 1 for the first try. Together with `id` it fences what you write elsewhere. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly isLastAttempt: boolean;
  /** How often a process died while it ran this. */
  readonly crashes: number;
  /** The tick it was made for; for a dispatched run, when it was due. */
  readonly scheduledFor: Date;
  readonly createdAt: Date;
  readonly parentId: number | null;
  readonly traceparent: string | null;
  /** Aborts on timeout, cancel, shutdown or a lost lease; `reason` is a PunctualError whose code says which. */
  readonly signal: AbortSignal;
  /** Shows how far it is. Calls in quick succession are written as one. */
  progress(value: JsonValue): void;
  /**
   * Says something about this try: told as `run.logged`, and kept with the run for `logs()`. It returns at once and
   * never throws. Kept are the first 1,000 lines of an attempt, 4 KB of a message, and data up to 16 KB of JSON.
   */
  log(message: string, data?: unknown): void;
  /** Ends this try and runs again later; the try does not count. */
  snooze(delay: Duration): never;
  /** Ends the run as cancelled: nothing left to do, and no failure. */
  discard(reason?: string): never;
  /** Your writes and the run's completion in one commit, or nothing of both. On SQLite `work` must be synchronous. */
  transaction<Tx = import("node:sqlite").DatabaseSync>(work: (tx: Tx) => unknown): Promise<void>;
}

type Current = AsyncLocalStorage<{ id: number; instance: object }>;

/** Through the global object: the copy of the package that runs a handler may not be the one it dispatches with. */
const KEY: unique symbol = Symbol.for("punctual.currentRun") as never;

const global = globalThis as { [KEY]?: Current };

global[KEY] ??= new AsyncLocalStorage();

/** The run in whose handler we are, so that what it dispatches knows its parent. */
export const currentRun: Current = global[KEY];
