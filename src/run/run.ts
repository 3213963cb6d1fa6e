import { PunctualError } from "../errors.ts";
import type { Duration, Instant } from "../time.ts";
import type { JsonValue } from "./payload.ts";
import type { RunState } from "./states.ts";

/** Methods of an instance that a run handle calls. */
export interface RunControl {
  move(id: number, at: Instant): Promise<void>;
  cancel(id: number): Promise<"cancelled" | "requested">;
  retry(id: number): Promise<void>;
  wait(id: number, options?: { timeout?: Duration | undefined }): Promise<JsonValue | undefined>;
  state(id: number): Promise<RunState | null>;
}

/** Handle of a dispatched run. */
export class Run<Result = unknown> {
  readonly id: number;
  readonly name: string;
  /** False if a run with the same unique key existed already; this is then the handle of that run. */
  readonly inserted: boolean;
  readonly #control: RunControl;

  constructor(id: number, name: string, inserted: boolean, control: RunControl) {
    this.id = id;
    this.name = name;
    this.inserted = inserted;
    this.#control = control;
  }

  /** Changes when the run is due, if no worker has claimed it yet. */
  at(instant: Instant): Promise<void> {
    return this.#control.move(this.id, instant);
  }

  /** Cancels the run. If it is running, aborts its handler's signal and returns `requested`. */
  cancel(): Promise<"cancelled" | "requested"> {
    return this.#control.cancel(this.id);
  }

  /** Runs a finished run once more, under the same id. */
  retry(): Promise<void> {
    return this.#control.retry(this.id);
  }

  /** Returns the result of the handler once the run has completed; rejects if it failed, was cancelled or skipped. */
  wait(options?: { timeout?: Duration | undefined }): Promise<Result> {
    return this.#control.wait(this.id, options) as Promise<Result>;
  }

  /** Returns the state; null if the run does not exist any more: deleted, pruned or not kept. */
  state(): Promise<RunState | null> {
    return this.#control.state(this.id);
  }
}

/** Returns the error for an operation that is not possible in the run's state; `state` null: there is no such run. */
export function wrongState(operation: string, id: number, state: RunState | null): PunctualError {
  if (state === null) {
    return new PunctualError(
      "RUN_NOT_FOUND",
      `Cannot ${operation} run ${id}: it does not exist. It was deleted, or has finished and is no longer kept.`,
    );
  }
  if (state === "running") {
    return new PunctualError(
      "RUN_CLAIMED",
      `Cannot ${operation} run ${id}: a worker has claimed it, so it is running or about to start.`,
    );
  }
  if (state === "ready" || state === "scheduled") {
    return new PunctualError("RUN_CLAIMED", `Cannot ${operation} run ${id}: it is still waiting (${state}).`);
  }
  return new PunctualError("RUN_FINISHED", `Cannot ${operation} run ${id}: it has finished (${state}).`);
}
