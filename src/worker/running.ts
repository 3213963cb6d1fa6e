import type { PunctualError } from "../errors.ts";
import type { ClaimedRun } from "../store/store.ts";
import { abortReasons } from "./attempt-ends.ts";
import type { Execution } from "./executor.ts";

/**
 * The executions of one worker whose outcome is not known yet, each by its own claim: a run that was lost and claimed
 * again by this same process has two.
 */
export class Running {
  readonly #executions = new Map<ClaimedRun, Execution>();
  readonly #toldOf = new WeakSet<ClaimedRun>();

  get size(): number {
    return this.#executions.size;
  }

  get runs(): ClaimedRun[] {
    return [...this.#executions.keys()];
  }

  add(execution: Execution): void {
    this.#executions.set(execution.run, execution);
  }

  remove(execution: Execution): void {
    this.#executions.delete(execution.run);
  }

  abortAll(reason: PunctualError): void {
    for (const execution of this.#executions.values()) execution.abort(reason);
  }

  cancel(ids: number[]): void {
    if (ids.length === 0) return;
    const asked = new Set(ids);
    for (const [{ id }, execution] of this.#executions) {
      if (asked.has(id)) execution.abort(abortReasons.cancelled());
    }
  }

  /** False: it is not running. */
  lose(run: ClaimedRun): boolean {
    const execution = this.#executions.get(run);
    execution?.abort(abortReasons.leaseLost());
    return execution !== undefined;
  }

  /**
   * Runs of which the database does not know yet that they began, or in which child: claimed ahead or given to one since.
   * Those that are still running, for short ones are done before anybody has to be told.
   */
  startedSince(): ClaimedRun[] {
    const started: ClaimedRun[] = [];
    for (const { run } of this.#executions.values()) {
      if (run.started && (run.child === undefined || this.#toldOf.has(run))) continue;
      run.started = true;
      if (run.child !== undefined) this.#toldOf.add(run);
      started.push(run);
    }
    return started;
  }
}
