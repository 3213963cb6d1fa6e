import type { PunctualError } from "../errors.ts";
import type { ClaimedRun } from "../store/store.ts";
import { abortReasons } from "./ends.ts";
import type { Execution } from "./execute.ts";

/** The executions of one worker whose outcome is not known yet. */
export class Running {
  readonly #executions = new Map<number, Execution>();

  get size(): number {
    return this.#executions.size;
  }

  add(execution: Execution): void {
    this.#executions.set(execution.run.id, execution);
  }

  remove({ run }: Execution): void {
    this.#executions.delete(run.id);
  }

  abortAll(reason: PunctualError): void {
    for (const execution of this.#executions.values()) execution.abort(reason);
  }

  cancel(ids: number[]): void {
    for (const id of ids) this.#executions.get(id)?.abort(abortReasons.cancelled());
  }

  /** False: it is not running. A run that was lost and claimed again by this same process is another one. */
  lose(run: ClaimedRun): boolean {
    const execution = this.#executions.get(run.id);
    if (execution?.run !== run) return false;
    execution.abort(abortReasons.leaseLost());
    return true;
  }

  /** Runs that were claimed ahead and are still running: short ones are done before anybody has to be told. */
  startedSince(): ClaimedRun[] {
    const started: ClaimedRun[] = [];
    for (const { run } of this.#executions.values()) {
      if (run.started) continue;
      run.started = true;
      started.push(run);
    }
    return started;
  }
}
