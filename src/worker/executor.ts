import type { PunctualError } from "../errors.ts";
import type { Handler } from "../job/handlers.ts";
import type { StandardSchema } from "../job/schema.ts";
import type { Settings } from "../job/settings.ts";
import type { Failure } from "../run/failure.ts";
import type { ClaimedRun } from "../store/store.ts";

/** The parts of a job that an executor needs. */
export interface RunnableJob {
  handler: Handler<unknown>;
  schema: StandardSchema | null;
  settings: Settings;
}

/** The result of one attempt. */
export type Result =
  /** `written`: the handler's own transaction has completed the run. */
  | { outcome: "completed"; result: string | null; readonly value: unknown; written: boolean }
  /** `failure`: the error as a child process has described it. */
  | { outcome: "retried"; error: unknown; delay: number; failure?: Failure }
  | { outcome: "failed"; error: unknown; failure?: Failure }
  | { outcome: "skipped" | "cancelled"; reason: string | null }
  /** `slowDown`: how long to close the rate of the run, which waits for it in its place. */
  | { outcome: "snoozed"; delay: number; slowDown?: number }
  /**
   * `lane`, `cost`: of a run that was claimed only to compute its key and its cost. `interrupted`: what ended the
   * handler; absent: it was not called.
   */
  | { outcome: "released"; lane?: string; cost?: number; interrupted?: Failure }
  /** The run was lost with its child process. */
  | { outcome: "crashed"; error: PunctualError }
  /** The lease is lost: nothing more may be written. */
  | { outcome: null };

/** A result that a settlement writes. */
export type SettleableResult = Exclude<Result, { outcome: null } | { outcome: "crashed" }>;

/** One attempt at one run, in this process or in a child. */
export interface Execution {
  readonly run: ClaimedRun;
  readonly job: RunnableJob;
  /** In milliseconds, once the result is known. */
  readonly duration: number;
  /** Whether its handler has not begun, because it waits for a slot of a child process. */
  readonly isQueued: boolean;
  /** Aborts the handler's signal. If the handler has not returned within `ABORT_GRACE`, the attempt ends without it. */
  abort(reason: PunctualError): void;
}

/** Follows attempts. All of them may be called before `execute()` returns. */
export interface ExecutionObserver {
  /** Called when the executor has taken the run. It may wait for a slot of a child process. */
  began(execution: Execution): void;
  /** Called when the handler is about to be called. */
  started(execution: Execution): void;
  /** Called when the result of the attempt is known. */
  ended(execution: Execution, result: Result): void;
  /** Called after `ended`, when the handler has returned. Until then it uses its slot, even if the run is settled. */
  returned(execution: Execution): void;
}

/** A process that starts no other runs, so that one run can be alone in it. */
export interface Cell {
  /** Whether no run is left in it. */
  isEmpty(): boolean;
  /** Replaces the process by an empty one instead of waiting for runs that do not end. Returns false if it cannot. */
  vacate(): boolean;
  execute(run: ClaimedRun, job: RunnableJob, observer: ExecutionObserver): void;
  /** Lets the process start other runs again. */
  open(): void;
}

/** Executes handlers: in this process, or in child processes. */
export interface Executor {
  /** Number of live processes that start new runs: none of them is closed. */
  readonly processes: number;
  /** Number of runs that may be under way at once in these processes. Changes as child processes start and end. */
  readonly slots: number;
  /** Number of free slots. */
  readonly free: number;
  /** Whether it takes this run now: a slot is free, or one will be free within milliseconds. */
  hasRoomFor(run: ClaimedRun): boolean;
  /** Called when a handler's transaction has extended the leases in the database. The worker sets it. */
  leasesExtended: (ms: number) => void;
  /** Makes an attempt. */
  execute(run: ClaimedRun, job: RunnableJob, observer: ExecutionObserver): void;
  /** Closes a process for one run. */
  close(run: ClaimedRun): Cell;
  /** Starts to call the hooks of a run that its crashes have ended. Its outcome is written already. */
  callCrashHooks(run: ClaimedRun, job: RunnableJob, error: PunctualError): void;
  /** Resolves when no such call is under way in this process. */
  crashHooksCalled(): Promise<void>;
}
