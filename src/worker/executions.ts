import type { PunctualError } from "../errors.ts";
import type { ClaimedRun } from "../store/store.ts";
import { abortReasons } from "./attempt-ends.ts";
import type { Execution } from "./executor.ts";

/**
 * The executions of one worker whose outcome is not known, by claim: a run that this process lost and claimed again has
 * two.
 */
export class Executions {
  readonly #executions = new Map<ClaimedRun, Execution>();
  readonly #announced = new WeakSet<ClaimedRun>();

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

  /** Aborts the execution of a run whose lease is lost. Returns false if the run is not running. */
  lose(run: ClaimedRun): boolean {
    const execution = this.#executions.get(run);
    execution?.abort(abortReasons.leaseLost());
    return execution !== undefined;
  }

  /**
   * Returns the running runs whose start, or whose child process, has not been written yet, and marks them as written.
   * Most were prefetched. Runs that have ended meanwhile are left out: their settlement says enough.
   */
  newStarts(): ClaimedRun[] {
    const started: ClaimedRun[] = [];
    for (const { run } of this.#executions.values()) {
      if (run.started && (run.child === undefined || this.#announced.has(run))) continue;
      run.started = true;
      if (run.child !== undefined) this.#announced.add(run);
      started.push(run);
    }
    return started;
  }
}
