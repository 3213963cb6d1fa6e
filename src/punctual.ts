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

/** A scheduler and queue on one database: the API. The engine does the work. */
// biome-ignore lint/suspicious/noExplicitAny: without a catalog.
export class Punctual<Known = any> extends Jobs<Known> {
  #engine: Engine;
  /** Instances that have handed over to this one, for `Job.use()`. */
  #predecessors: Punctual[] = [];

  /**
   * A database URL such as `sqlite:./jobs.db`, a handle of your own, or nothing: then `PUNCTUAL_DATABASE_URL`, the
   * `database` of `punctual.config.ts` in this folder, else `./punctual.db`.
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
    // A definition asks the instance that made it: every instance that handed over so far has to follow.
    to.#predecessors = [...from.#predecessors, from];
    for (const one of to.#predecessors) one.#engine = to.#engine;
    stopped.catch((error) => logger.error(`stopping the instance before Job.use(): ${error}`));
  }

  // -- working -----------------------------------------------------------------------------------------------------

  /** Brings the tables up to date; safe from several processes at once, and when there is nothing to do. */
  async install(options: { dryRun?: boolean | undefined } = {}): Promise<InstallReport> {
    checkKeys(options, ["dryRun"], "install()");
    this.#engine.refuseStopped();
    return this.#engine.store.install({ dryRun: options.dryRun === true });
  }

  /** Returns the state of the database: its version, missing tables and indexes, expired leases that no worker reaps. */
  inspect(): Promise<Inspection> {
    this.#engine.refuseStopped();
    return this.#engine.store.inspect();
  }

  /** Repairs the findings of `inspect()` that leave no choice, as `punctual doctor --fix` does. */
  repair(): Promise<RepairReport> {
    this.#engine.refuseStopped();
    return this.#engine.repair();
  }

  /** One pass: runs what is due, at most `batch` runs, and gives how many it ran. */
  run(options: RunOptions = {}): Promise<number> {
    this.#engine.refuseStopped();
    // It would wait for the pass it is in, and that for its handler.
    if (currentRun.getStore()?.instance === this.#engine) {
      throw new PunctualError(
        "WORKER_RUNNING",
        "This handler is part of a pass already: what it dispatches is run by that. Call run() outside of handlers.",
      );
    }
    if (jobFileLoader()?.holds("run()") || this.#engine.isHeld("run()")) return Promise.resolve(0);
    return this.#engine.sessions.run(options);
  }

  /** Works until stop(), SIGINT or SIGTERM; gives how many runs it ran. */
  forever(options: ForeverOptions = {}): Promise<number> {
    this.#engine.refuseStopped();
    if (jobFileLoader()?.holds("forever()") || this.#engine.isHeld("forever()")) return Promise.resolve(0);
    return this.#engine.sessions.forever(options);
  }

  /**
   * Works as `forever()` does, but runs handlers in child processes: each child runs the same program up to the same
   * call. Returns how many runs it ran.
   */
  async supervise(options: SuperviseOptions = {}): Promise<number> {
    this.#engine.refuseStopped();
    return jobFileLoader()?.holds("supervise()") ? 0 : this.#engine.supervise(options);
  }

  /** Whether this instance works: a `run()`, `forever()` or `supervise()` is under way, or drains. */
  get running(): boolean {
    return this.#engine.isWorking;
  }

  /** The child processes of `supervise()`. */
  children(): ChildInfo[] {
    return this.#engine.children();
  }

  /** Sends what was dispatched, drains the worker, closes the database. Nothing can be dispatched after it. */
  stop(): Promise<void> {
    return this.#engine.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  // -- looking and operating ---------------------------------------------------------------------------------------

  /** Hears an event; returns how to stop hearing it. */
  on<Name extends EventName>(event: Name, listener: (event: Events[Name]) => void): () => void {
    return this.events.on(event, listener);
  }

  protected override get engine(): Engine {
    return this.#engine;
  }

  protected override get clock(): Clock {
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

  protected override openStore(): Promise<Store> {
    return this.#engine.store.get();
  }
}
