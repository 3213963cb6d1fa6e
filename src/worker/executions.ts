import type { PunctualError } from "../errors.ts";
import type { ClaimedRun } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { abortReasons } from "./attempt-ends.ts";
import type { Cell, Execution, ExecutionObserver, Executor, Result, RunnableJob } from "./executor.ts";
import type { Logbook } from "./logbook.ts";
import type { Pace } from "./pace.ts";

export interface ExecutionsParts {
  clock: Clock;
  logbook: Pick<Logbook, "holds" | "flush">;
  pace: Pick<Pace, "started" | "done">;
  /** Called when the handler is about to be called. */
  started(run: ClaimedRun): void;
  /** Called when the result may be written. */
  settle(execution: Execution, result: Result): void;
  /** Called when the result is known. It may be settled later. */
  ended(execution: Execution, result: Result): void;
  /** Called when the handler has returned and its slot is free. */
  freed(run: ClaimedRun): void;
}

/**
 * The executions of one worker whose outcome is not known, by claim: a run that this process lost and claimed again has
 * two.
 */
export class Executions implements ExecutionObserver {
  readonly #parts: ExecutionsParts;
  readonly #executions = new Map<ClaimedRun, Execution>();
  /** Whether a run is being started. A synchronous handler returns before its start is over. */
  isStarting = false;
  readonly #announced = new WeakSet<ClaimedRun>();

  constructor(parts: ExecutionsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#executions.size;
  }

  get runs(): ClaimedRun[] {
    return [...this.#executions.keys()];
  }

  began(execution: Execution): void {
    const { pace, clock } = this.#parts;
    this.#executions.set(execution.run, execution);
    pace.started(clock.monotonic());
  }

  started({ run }: Execution): void {
    this.#parts.started(run);
  }

  ended(execution: Execution, result: Result): void {
    const { logbook } = this.#parts;
    this.#parts.ended(execution, result);
    // Log lines are written before the outcome: readers of a finished run see all of its lines, and a run that is not
    // kept is deleted together with them.
    if (logbook.holds(execution.run)) void logbook.flush().then(() => this.#settle(execution, result));
    else this.#settle(execution, result);
  }

  returned({ run }: Execution): void {
    this.#parts.freed(run);
  }

  #settle(execution: Execution, result: Result): void {
    const { pace, clock, settle } = this.#parts;
    this.#executions.delete(execution.run);
    pace.done(clock.monotonic());
    settle(execution, result);
  }

  start(executor: Pick<Executor, "execute">, run: ClaimedRun, job: RunnableJob): void {
    this.isStarting = true;
    try {
      executor.execute(run, job, this);
    } finally {
      this.isStarting = false;
    }
  }

  /** Makes an attempt in a cell. Resolves when the handler has returned. */
  runIn(cell: Cell, run: ClaimedRun, job: RunnableJob): Promise<void> {
    return new Promise((resolve) => {
      const returned = (execution: Execution) => {
        this.returned(execution);
        resolve();
      };
      cell.execute(run, job, {
        began: (execution) => this.began(execution),
        started: (execution) => this.started(execution),
        ended: (...of) => this.ended(...of),
        returned,
      });
    });
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
   * Returns the running runs of a stream whose start, or whose child process, has not been written yet, and marks them
   * as written. Most were prefetched. Runs that have ended meanwhile are left out: their settlement records the start.
   */
  newStarts(stream: number): ClaimedRun[] {
    const started: ClaimedRun[] = [];
    for (const { run, isQueued } of this.#executions.values()) {
      if (isQueued || (run.stream ?? 0) !== stream) continue;
      if (run.started && (run.child === undefined || this.#announced.has(run))) continue;
      run.started = true;
      if (run.child !== undefined) this.#announced.add(run);
      started.push(run);
    }
    return started;
  }
}
