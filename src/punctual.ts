import { Engine } from "./engine.ts";
import { PunctualError } from "./errors.ts";
import type { Emitter, EventName, Events } from "./events/events.ts";
import { inheritedOptions, jobFileLoader, reportInstance, withInherited } from "./job-file-loader.ts";
import { Jobs } from "./jobs.ts";
import { type PunctualOptions, readArguments } from "./options.ts";
import { currentRun } from "./run/context.ts";
import type { Inspection, InstallReport } from "./store/maintenance.ts";
import type { DatabaseSource } from "./store/open.ts";
import type { Store } from "./store/store.ts";
import type { SuperviseOptions } from "./supervisor/options.ts";
import type { ChildInfo } from "./supervisor/supervisor.ts";
import type { Clock } from "./time.ts";
import { checkKeys } from "./validate/options.ts";
import type { ForeverOptions, RunOptions } from "./worker/options.ts";
import type { RepairReport } from "./worker/repair.ts";

/** The public API: a scheduler and queue on one database. Delegates to the engine. */
// biome-ignore lint/suspicious/noExplicitAny: without a catalog.
export class Punctual<Known = any> extends Jobs<Known> {
  #engine: Engine;
  /** Instances whose jobs `Job.use()` has moved to this one. */
  #predecessors: Punctual[] = [];

  /**
   * `source`: a database URL such as `sqlite:./jobs.db`, or a handle of your own. Default: `PUNCTUAL_DATABASE_URL`,
   * else the `database` of `punctual.config.ts` in the current folder, else `sqlite:./punctual.db`.
   */
  constructor(source: DatabaseSource, options?: PunctualOptions);
  constructor(options?: PunctualOptions);
  constructor(...given: unknown[]) {
    super();
    const { source, options } = readArguments(given);
    const own = source as DatabaseSource | null;
    const inherited = own === null ? inheritedOptions() : null;
    const chosen = withInherited(options, inherited);
    this.#engine = new Engine(own === null ? (inherited?.source ?? null) : own, chosen, this);
    this.#engine.registry.defineMethod = (method) => this.defineImplicitly(method);
    reportInstance({
      instance: this,
      source: own,
      prefix: chosen.prefix ?? "punctual_",
      engine: this.#engine,
      become: (engine) => {
        this.#engine = engine;
      },
    });
  }

  /** Moves jobs, limits and listeners from one instance to another, and stops the first. For `Job.use()`. */
  static handOver(from: Punctual, to: Punctual): void {
    const { logger } = to.#engine;
    const stopped = to.#engine.take(from.#engine);
    // A definition dispatches through the instance that created it: all predecessors must use the new engine.
    to.#predecessors = [...from.#predecessors, from];
    for (const one of to.#predecessors) one.#engine = to.#engine;
    stopped.catch((error) => logger.error(`stopping the instance that Job.use() replaced: ${error}`));
  }

  // -- installing and working --------------------------------------------------------------------------------------

  /**
   * Creates or migrates the tables. Several processes may call it at once; it does nothing if the tables are up to
   * date.
   */
  async install(options: { dryRun?: boolean | undefined } = {}): Promise<InstallReport> {
    checkKeys(options, { dryRun: true }, "install()");
    this.#engine.refuseStopped();
    return this.#engine.store.install({ dryRun: options.dryRun === true });
  }

  /**
   * Returns the state of the database: its version, missing tables and indexes, expired leases that no worker reaps.
   */
  inspect(): Promise<Inspection> {
    this.#engine.refuseStopped();
    return this.#engine.store.inspect();
  }

  /** Repairs the findings of `inspect()` that need no decision, as `punctual doctor --fix` does. */
  repair(): Promise<RepairReport> {
    this.#engine.refuseStopped();
    return this.#engine.repair();
  }

  /** Runs one pass: executes due runs, at most `batch`, and returns how many it executed. */
  run(options: RunOptions = {}): Promise<number> {
    this.#engine.refuseStopped();
    // The call would deadlock: it waits for the work session that waits for this handler.
    if (currentRun.getStore()?.instance === this.#engine) {
      throw new PunctualError(
        "WORKER_RUNNING",
        "run() was called in a handler. The worker of that handler also executes the runs that the handler dispatches. Call run() outside of handlers.",
      );
    }
    if (jobFileLoader()?.holds("run()") || this.#engine.ignoresInChild("run()")) return Promise.resolve(0);
    return this.#engine.sessions.run(options);
  }

  /** Works until `stop()`, SIGINT or SIGTERM. Returns how many runs it executed. */
  forever(options: ForeverOptions = {}): Promise<number> {
    this.#engine.refuseStopped();
    if (jobFileLoader()?.holds("forever()") || this.#engine.ignoresInChild("forever()"))
      return Promise.resolve(0);
    return this.#engine.sessions.forever(options);
  }

  /**
   * Works as `forever()` does, but runs handlers in child processes: each child runs the same program up to the same
   * call. Returns how many runs they executed.
   */
  async supervise(options: SuperviseOptions = {}): Promise<number> {
    this.#engine.refuseStopped();
    return jobFileLoader()?.holds("supervise()") ? 0 : this.#engine.supervise(options);
  }

  /** Whether a `run()`, `forever()` or `supervise()` of this instance is under way or draining. */
  get running(): boolean {
    return this.#engine.isWorking;
  }

  /** Returns the child processes of `supervise()`. */
  children(): ChildInfo[] {
    return this.#engine.children();
  }

  /** Sends pending dispatches, drains the worker and closes the database. Afterwards a dispatch throws. */
  stop(): Promise<void> {
    return this.#engine.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  // -- events and internals ----------------------------------------------------------------------------------------

  /** Adds a listener for an event. Returns a function that removes it. */
  on<Name extends EventName>(event: Name, listener: (event: Events[Name]) => void): () => void {
    return this.events.on(event, listener);
  }

  protected override get engine(): Engine {
    return this.#engine;
  }

  /** The clock that timers and times of this process follow. */
  override get clock(): Clock {
    return this.#engine.clock;
  }

  protected override get events(): Emitter {
    return this.#engine.events;
  }

  protected override writeCounts(): Promise<void> {
    return this.#engine.counts.flush();
  }

  protected override wakeWorker(): void {
    this.#engine.sessions.wake();
  }

  protected override cancelInWorker(ids: number[]): void {
    this.#engine.sessions.cancel(ids);
  }

  protected override openStore(): Promise<Store> {
    return this.#engine.store.get();
  }

  protected override databaseFault(): unknown {
    return this.#engine.store.pending.fault;
  }
}
