import type { Dispatch } from "./dispatch/dispatch.ts";
import type { DispatchOptions } from "./dispatch/shape.ts";
import { Engine } from "./engine.ts";
import { PunctualError, show } from "./errors.ts";
import type { Emitter, EventName, Events } from "./events/events.ts";
import type { AdHocDispatch } from "./job/adhoc.ts";
import { Definition } from "./job/definition.ts";
import { Dispatchable, type Home } from "./job/dispatchable.ts";
import { Draft } from "./job/draft.ts";
import {
  type ArgsOf,
  type ArgsOfMethod,
  type Handler,
  type JobClass,
  nameOf,
  toHandler,
  warnIfMinified,
} from "./job/handlers.ts";
import { Place } from "./job/place.ts";
import { type RecurOptions, toRecurrence } from "./job/recurrence.ts";
import { type InputOf, isSchema, type OutputOf, type StandardSchema } from "./job/schema.ts";
import { checkConcurrency } from "./job/settings.ts";
import { inheritedOptions, jobFileLoader, reportInstance, withInherited } from "./job-file-loader.ts";
import { Control } from "./operate/control.ts";
import { type PunctualOptions, readArguments } from "./options.ts";
import { currentRun } from "./run/context.ts";
import type { Inspection, InstallReport } from "./store/maintenance.ts";
import type { DatabaseSource } from "./store/open.ts";
import type { Store } from "./store/store.ts";
import type { SuperviseOptions } from "./supervisor/options.ts";
import type { ChildInfo } from "./supervisor/supervisor.ts";
import type { Clock, Duration, Instant } from "./time.ts";
import { checkName } from "./validate/names.ts";
import { checkKeys } from "./validate/options.ts";
import type { ForeverOptions, RunOptions } from "./worker/options.ts";
import type { RepairReport } from "./worker/repair.ts";

type Named = string | JobClass | readonly [JobClass, string];

/** A scheduler and queue on one database: what people call. What it runs on is the engine's. */
export class Punctual extends Control {
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
    this.#engine.registry.defineMethod = (method) => this.#implicitly(method);
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

  // -- what should happen ------------------------------------------------------------------------------------------

  /** Defines a job: a name and its handler, with a schema between them if you like; or a class, or a class and method. */
  schedule<Args>(name: string, handler: Handler<Args>): Definition<Args>;
  schedule<Schema extends StandardSchema>(
    name: string,
    schema: Schema,
    handler: Handler<OutputOf<Schema>>,
  ): Definition<InputOf<Schema>>;
  schedule<Class extends JobClass>(name: string, jobClass: Class): Definition<ArgsOf<Class>>;
  schedule<Class extends JobClass, Method extends string>(
    name: string,
    method: readonly [Class, Method],
  ): Definition<ArgsOfMethod<Class, Method>>;
  schedule<Class extends JobClass>(jobClass: Class): Definition<ArgsOf<Class>>;
  schedule<Class extends JobClass, Method extends string>(
    method: readonly [Class, Method],
  ): Definition<ArgsOfMethod<Class, Method>>;
  schedule(what: unknown, second?: unknown, third?: unknown): Definition<never> {
    const named = typeof what === "string";
    const name = nameOf(what);
    const schema = isSchema(second) ? second : null;
    const target = !named ? what : schema ? third : second;
    const handler = toHandler(target, name, this.#engine.options.resolve);
    this.#engine.registry.know(target);
    const place = new Place(Punctual.prototype.schedule);
    const definition = new Definition<never>(name, handler, schema, this.#engine.defaults, this.#home, place);
    if (this.#engine.registry.define(definition) === 1) queueMicrotask(() => this.#lookAtFresh());
    if (!named) warnIfMinified(what, this.#engine.logger);
    jobFileLoader()?.defined(definition);
    this.#engine.sessions.definitionsChanged();
    return definition;
  }

  /** Every job that is defined here. */
  definitions(): Definition<never>[] {
    return [...this.#engine.registry.definitions()];
  }

  /** A job that another program defines: can be dispatched here, with its arguments typed. */
  declare<Args = unknown>(name: string): Dispatchable<Args> {
    this.#engine.registry.declare(checkName(name, "a job name"));
    return new Dispatchable<Args>(name, this.#home);
  }

  /** A limit shared by all jobs of a queue; 0 = no limit. */
  queue(name: string, options: { concurrency: number }): this {
    checkName(name, "a queue name");
    if (typeof options !== "object" || options === null) {
      throw new PunctualError("INVALID_OPTION", `queue() expected { concurrency }, got ${show(options)}.`);
    }
    checkKeys(options, ["concurrency"], "queue()");
    this.#engine.queueLimits.set(name, checkConcurrency(options.concurrency));
    this.#engine.sessions.definitionsChanged();
    return this;
  }

  // -- asking for runs ---------------------------------------------------------------------------------------------

  /** Asks for a run: of a job by name, class, or class and method; or of a function, which runs in this process only. */
  dispatch(name: string, handler: Handler<unknown>, options?: DispatchOptions | number): AdHocDispatch;
  dispatch(name: string, args?: unknown, options?: DispatchOptions | number): Dispatch;
  dispatch<Class extends JobClass>(
    jobClass: Class,
    args?: ArgsOf<Class> | null,
    options?: DispatchOptions | number,
  ): Dispatch<ArgsOf<Class>>;
  dispatch<Class extends JobClass, Method extends string>(
    method: readonly [Class, Method],
    args?: ArgsOfMethod<Class, Method> | null,
    options?: DispatchOptions | number,
  ): Dispatch<ArgsOfMethod<Class, Method>>;
  dispatch(what: Named, args?: unknown, options?: DispatchOptions | number): Dispatch<never> {
    const dispatch =
      typeof what === "string" && typeof args === "function"
        ? this.#engine.sendFunction(what, args as Handler<unknown>)
        : this.#engine.send(this.#find(what), args === undefined || args === null ? {} : { args });
    return (options === undefined ? dispatch : dispatch.options(options)) as Dispatch<never>;
  }

  /** A run of a job that only this instance runs, when it works: with one try, and whatever its limits say. */
  dispatchHere(what: Named, args?: unknown): AdHocDispatch {
    this.#engine.refuseStopped();
    const definition = this.#find(what);
    if (!(definition instanceof Definition)) throw this.#engine.registry.unknown(definition.name, []);
    const { name, handler, schema, settings: own } = definition;
    const settings = { ...own, retries: { ...own.retries, max: 1 } };
    // The dispatch captures its arguments at this call, the job's own too.
    const given = args === undefined || args === null ? { args: own.args } : { args };
    return this.#engine.sendHere({ name, handler, schema, settings, borrowed: true }, given);
  }

  /** Now, or at a time, on a queue: the registrar's form. */
  register(what: Named, args?: unknown, when?: Instant | null, queue?: string): Dispatch {
    let dispatch = this.dispatch(what as string, args);
    if (when !== undefined && when !== null) dispatch = dispatch.at(when);
    return queue === undefined ? dispatch : dispatch.queue(queue);
  }

  /**
   * One more schedule of a handler, by a cron expression: the registrar's form. Any number of them may be there; the
   * same one twice is one.
   */
  recur<Args>(what: Named | Definition<Args>, cron: string, options: RecurOptions = {}): this {
    const definition = what instanceof Definition ? what : this.#find(what);
    if (!(definition instanceof Definition)) throw this.#engine.registry.unknown(definition.name, []);
    const { plan, overrides } = toRecurrence(cron, options, definition.settings.args);
    definition.recur(plan, overrides);
    this.#warnOf(definition.name, plan.warning(this.clock.now()));
    this.#engine.sessions.definitionsChanged();
    return this;
  }

  /** A dispatch that is named last. */
  draft(): Draft<Named> {
    return new Draft<Named>((what, shape) => this.#engine.send(this.#find(what), shape) as Dispatch);
  }

  delay(delay: Duration): Draft<Named> {
    return this.draft().delay(delay);
  }

  at(instant: Instant): Draft<Named> {
    return this.draft().at(instant);
  }

  args(args: unknown): Draft<Named> {
    return this.draft().args(args);
  }

  // -- working -----------------------------------------------------------------------------------------------------

  /** Brings the tables up to date; safe from several processes at once, and when there is nothing to do. */
  async install(options: { dryRun?: boolean } = {}): Promise<InstallReport> {
    checkKeys(options, ["dryRun"], "install()");
    this.#engine.refuseStopped();
    return this.#engine.store.install(options);
  }

  /** What the database says of itself: version, tables and indexes that are missing, leases nobody takes back. */
  inspect(): Promise<Inspection> {
    this.#engine.refuseStopped();
    return this.#engine.store.inspect();
  }

  /** Mends what `inspect()` finds and what can be mended without a choice, as `punctual doctor --fix` does. */
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
   * Works as `forever()` does, but runs handlers in child processes: each runs this same program and comes to this same
   * call. Gives how many runs it ran.
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

  readonly #home: Home = {
    send: (job, shape) => this.#engine.send(job, shape),
    sendMany: (job, all, options) => this.#engine.sendMany(job, all, options),
  };

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

  protected override store(): Promise<Store> {
    return this.#engine.store.get();
  }

  /** A class that is dispatched is a job from then on. */
  #find(what: Named): Dispatchable<never> {
    const name = nameOf(what);
    const defined = this.#engine.registry.definition(name);
    if (defined) return defined;
    return typeof what === "string" ? new Dispatchable<never>(name, this.#home) : this.#implicitly(what);
  }

  #implicitly(what: JobClass | readonly [JobClass, string]): Definition<never> {
    const definition = this.schedule(what as JobClass) as unknown as Definition<never>;
    definition.isImplicit = true;
    return definition;
  }

  /** At the end of the turn, when the definitions' calls are complete. */
  #lookAtFresh(): void {
    for (const { name, plan } of this.#engine.registry.fresh())
      this.#warnOf(name, plan.warning(this.clock.now()));
  }

  #warnOf(job: string, warning: string | null): void {
    if (warning !== null) this.#engine.logger.warn(`the schedule of job "${job}": ${warning}`);
  }
}
