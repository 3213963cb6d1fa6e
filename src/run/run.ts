import { PunctualError } from "../errors.ts";
import type { Duration, Instant } from "../time.ts";
import type { JsonValue } from "./payload.ts";
import type { RunState } from "./states.ts";

/** What a run handle can ask of its instance. */
export interface RunControl {
  move(id: number, at: Instant): Promise<void>;
  cancel(id: number): Promise<"cancelled" | "requested">;
  retry(id: number): Promise<void>;
  wait(id: number, options?: { timeout?: Duration | undefined }): Promise<JsonValue | undefined>;
  state(id: number): Promise<RunState | null>;
}

/** A run that was dispatched: what you can do with it from outside. */
export class Run {
  readonly id: number;
  readonly name: string;
  /** False: a run with the same unique key was there already, and this is that run. */
  readonly inserted: boolean;
  readonly #control: RunControl;

  constructor(id: number, name: string, inserted: boolean, control: RunControl) {
    this.id = id;
    this.name = name;
    this.inserted = inserted;
    this.#control = control;
  }

  /** Moves it to another time, if nobody has claimed it yet. */
  at(instant: Instant): Promise<void> {
    return this.#control.move(this.id, instant);
  }

  /** Withdraws it; if it is running, its handler's signal aborts and the answer is `requested`. */
  cancel(): Promise<"cancelled" | "requested"> {
    return this.#control.cancel(this.id);
  }

  /** Runs it once more after it has finished, under the same id. */
  retry(): Promise<void> {
    return this.#control.retry(this.id);
  }

  /** What its handler returned, once it has completed; rejects if it failed, was cancelled or skipped. */
  wait(options?: { timeout?: Duration | undefined }): Promise<JsonValue | undefined> {
    return this.#control.wait(this.id, options);
  }

  /** Null when the run is gone: deleted, pruned or not kept. */
  state(): Promise<RunState | null> {
    return this.#control.state(this.id);
  }
}

/** The error for a run that is not where the caller thought it was. */
export function notPossible(what: string, id: number, state: RunState | null): PunctualError {
  if (state === null) {
    return new PunctualError(
      "RUN_NOT_FOUND",
      `Cannot ${what} run ${id}: there is no such run. It was deleted, or has finished and is no longer kept.`,
    );
  }
  if (state === "running") {
    return new PunctualError(
      "RUN_CLAIMED",
      `Cannot ${what} run ${id}: a worker has claimed it and it is running.`,
    );
  }
  if (state === "ready" || state === "scheduled") {
    return new PunctualError("RUN_CLAIMED", `Cannot ${what} run ${id}: it is still waiting (${state}).`);
  }
  return new PunctualError("RUN_FINISHED", `Cannot ${what} run ${id}: it has finished (${state}).`);
}
