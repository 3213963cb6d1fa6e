import type { PunctualError } from "../errors.ts";
import type { Handler } from "../job/handlers.ts";
import type { StandardSchema } from "../job/schema.ts";
import type { Settings } from "../job/settings.ts";
import type { Failure } from "../run/failure.ts";
import type { ClaimedRun } from "../store/store.ts";

/** What a worker needs of a job to run it. */
export interface Runnable {
  handler: Handler<unknown>;
  schema: StandardSchema | null;
  settings: Settings;
}

/** What one try came to. */
export type Result =
  /** `written`: in the handler's own transaction already. */
  | { outcome: "completed"; result: string | null; readonly value: unknown; written: boolean }
  /** `failure`: the error as another process has described it. */
  | { outcome: "retried"; error: unknown; delay: number; failure?: Failure }
  | { outcome: "failed"; error: unknown; failure?: Failure }
  | { outcome: "skipped" | "cancelled"; reason: string | null }
  | { outcome: "snoozed"; delay: number }
  /** `lane`: of a run that was claimed for its key to be computed. */
  | { outcome: "released"; lane?: string }
  /** It was lost with its child process. */
  | { outcome: "crashed"; error: PunctualError }
  /** The lease is lost: nothing may be written any more. */
  | { outcome: null };

/** A result that is written by a settlement. */
export type Settleable = Exclude<Result, { outcome: null } | { outcome: "crashed" }>;

/** One try at one run, wherever it happens. */
export interface Execution {
  readonly run: ClaimedRun;
  /** Settles when it is known what the try came to. Never rejects. */
  readonly result: Promise<Result>;
  /** Settles when the handler has really returned: until then it uses its place, whatever was written. */
  readonly returned: Promise<void>;
  /** Milliseconds, once the result is known. */
  readonly duration: number;
  /** Tells the handler why; if it has not returned some seconds later, the try ends without it. */
  abort(reason: PunctualError): void;
}

/** A process that starts no other runs, so that one run can be alone in it. */
export interface Cell {
  /** Whether no run is left in it. */
  isEmpty(): boolean;
  /** Asks for an empty process instead of waiting for runs that do not end. False: there is no other. */
  vacate(): boolean;
  execute(run: ClaimedRun, job: Runnable): Execution;
  /** Lets the process start other runs again. */
  open(): void;
}

/** Where handlers run: in this process, or in child processes. */
export interface Executor {
  /** How many processes start new runs: those that live and are not closed. */
  readonly processes: number;
  /** How many runs may be under way at once in these. Changes as child processes come and go. */
  readonly places: number;
  /** How many of these are free. */
  readonly free: number;
  /** Begins a try. */
  execute(run: ClaimedRun, job: Runnable): Execution;
  /** Closes a process for one run. */
  close(run: ClaimedRun): Cell;
  /** Begins to call the hooks of a run that its crashes have ended; the outcome is written. */
  callCrashHooks(run: ClaimedRun, job: Runnable, error: PunctualError): void;
  /** Settles when no such call is under way in this process. */
  crashHooksCalled(): Promise<void>;
}
