import type { PunctualError } from "../errors.ts";
import type { Retention } from "../run/retention.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import type { Cell, ExecutionObserver, Executor, RunnableJob } from "./executor.ts";
import { LocalExecution } from "./local-execution.ts";
import type { Logbook } from "./logbook.ts";
import { toOutboxEntry } from "./outbox-entry.ts";
import type { ExecutionParts } from "./parts.ts";

interface LocalExecutorParts extends Omit<ExecutionParts, "completeWith" | "log" | "store" | "freed"> {
  logbook: Logbook;
}

/** Runs handlers in this process, which is its only cell. */
export class LocalExecutor implements Executor {
  readonly #parallel: number;
  readonly #parts: ExecutionParts;
  /** Number of handlers that have not returned, whether their runs are settled or not. */
  #busy = 0;
  readonly #cells = new Set<Cell>();
  leasesExtended: (ms: number) => void = () => {};
  readonly #crashHooks = new Set<Promise<unknown>>();

  constructor(
    parallel: number,
    store: Store,
    { clock, events, random, engine, batches, logbook, maxResult }: LocalExecutorParts,
  ) {
    this.#parallel = parallel;
    this.#parts = {
      store,
      clock,
      events,
      random,
      engine,
      batches,
      maxResult,
      log: (...of) => logbook.add(...of),
      completeWith: async (run, work, keep) => {
        if (logbook.holds(run)) await logbook.flush();
        return completeWith(store, run, { work, keep, extended: (ms) => this.leasesExtended(ms) });
      },
      freed: () => this.#busy--,
    };
  }

  get processes(): number {
    return this.#cells.size === 0 ? 1 : 0;
  }

  get slots(): number {
    return this.#parallel * this.processes;
  }

  get free(): number {
    return this.processes === 0 ? 0 : this.#parallel - this.#busy;
  }

  hasRoomFor(): boolean {
    return this.free > 0;
  }

  execute(run: ClaimedRun, job: RunnableJob, observer: ExecutionObserver): void {
    this.#busy++;
    const execution = new LocalExecution(run, job, this.#parts, observer);
    observer.began(execution);
    observer.started(execution);
    execution.start();
  }

  close(): Cell {
    const cell: Cell = {
      isEmpty: () => this.#busy === 0,
      vacate: () => false,
      execute: (...of) => this.execute(...of),
      open: () => this.#cells.delete(cell),
    };
    this.#cells.add(cell);
    return cell;
  }

  callCrashHooks(run: ClaimedRun, job: RunnableJob, error: PunctualError): void {
    const called = new LocalExecution(run, job, this.#parts, null).callCrashHooks(error);
    this.#crashHooks.add(called);
    void called.then(() => this.#crashHooks.delete(called));
  }

  async crashHooksCalled(): Promise<void> {
    while (this.#crashHooks.size > 0) await Promise.all(this.#crashHooks);
  }
}

interface Completion {
  /** The handler's own part of the transaction. */
  work: (tx: unknown) => unknown;
  keep: Retention;
  /** See `Store.transaction`. */
  extended?: (ms: number) => void;
}

/** Runs `work` and completes the run in one transaction. Returns false if the lease is lost. */
export async function completeWith(
  store: Store,
  run: ClaimedRun,
  { work, keep, extended }: Completion,
): Promise<boolean> {
  const result = { outcome: "completed", result: null, value: undefined, written: true } as const;
  const duration = (await store.now()) - run.claimedAt;
  return store.transaction(toOutboxEntry(run, result, duration, keep).settlement, work, extended);
}
