import { hostname } from "node:os";
import { PunctualError, show } from "./errors.ts";
import { type AdHoc, AdHocDispatch } from "./job/adhoc.ts";
import { Definition } from "./job/definition.ts";
import { Dispatchable, type Home } from "./job/dispatchable.ts";
import { Draft, shapeOf } from "./job/draft.ts";
import {
  type ArgsOf,
  type ArgsOfMethod,
  type Handler,
  type JobClass,
  nameOf,
  toHandler,
  warnIfMinified,
} from "./job/handlers.ts";
import { Preparer } from "./job/prepare.ts";
import { type RecurOptions, toRecurrence } from "./job/recurrence.ts";
import { Registry } from "./job/registry.ts";
import { type InputOf, isSchema, type OutputOf, type StandardSchema } from "./job/schema.ts";
import { checkConcurrency, type Settings, toSettings } from "./job/settings.ts";
import { Emitter, type EventName, type Events } from "./observe/events.ts";
import { type Logger, toLogger } from "./observe/logger.ts";
import { defaultSource, type PunctualOptions, understand } from "./options.ts";
import { Control } from "./run/control.ts";
import { currentRun } from "./run/current.ts";
import { Dispatch } from "./run/dispatch.ts";
import { checkName } from "./run/names.ts";
import { checkInteger, checkKeys } from "./run/options.ts";
import { DEFAULT_MAX_PAYLOAD } from "./run/payload.ts";
import { randomText } from "./run/random.ts";
import type { Run } from "./run/run.ts";
import { Sender } from "./run/sender.ts";
import type { DispatchOptions, Shape } from "./run/shape.ts";
import { LazyStore } from "./store/lazy.ts";
import type { DatabaseSource } from "./store/open.ts";
import type { InstallReport, Store } from "./store/store.ts";
import { type Clock, type Duration, type Instant, systemClock } from "./time.ts";
import { type ForeverOptions, Host, type RunOptions } from "./worker/host.ts";
import { Tallies } from "./worker/tallies.ts";

type Named = string | JobClass | readonly [JobClass, string];

/** A scheduler and queue on one database. The only part that knows all others. */
export class Punctual extends Control {
  readonly #id: string = randomText().slice(0, 12);
  readonly #store: LazyStore;
  readonly #options: PunctualOptions;
  protected override readonly clock: Clock;
  protected override readonly events: Emitter;
  readonly #logger: Logger;
  readonly #defaults: Settings;
  readonly #registry = new Registry();
  readonly #tallies = new Tallies();
  readonly #queueLimits = new Map<string, number>();
  readonly #sender: Sender;
  readonly #preparer: Preparer;
  readonly #host: Host;
  #stopping: Promise<void> | null = null;

  /**
   * A database URL such as `sqlite:./jobs.db`, a handle of your own, or nothing: then `PUNCTUAL_DATABASE_URL`, else
   * `./punctual.db`.
   */
  constructor(source: DatabaseSource, options?: PunctualOptions);
  constructor(options?: PunctualOptions);
  constructor(...given: unknown[]) {
    super();
    const { source, options } = understand(given);
    this.#options = options;
    this.#logger = toLogger(options.logger);
    this.clock = options.clock ?? systemClock;
    this.events = new Emitter(this.#logger);
    this.#defaults = toSettings(options.defaults);
    this.#store = new LazyStore(source === null ? defaultSource(this.#logger) : (source as DatabaseSource), {
      clock: this.clock,
      prefix: options.prefix ?? "punctual_",
      install: options.install ?? true,
    });
    const shared = {
      id: this.#id,
      store: () => this.store(),
      clock: this.clock,
      events: this.events,
      logger: this.#logger,
      registry: this.#registry,
      tallies: this.#tallies,
      queueLimits: this.#queueLimits,
      instance: this as object,
      random: options.random ?? Math.random,
      host: hostname(),
    };
    this.#host = new Host(shared);
    const maxPayload = checkInteger(options.maxPayload ?? DEFAULT_MAX_PAYLOAD, "maxPayload in bytes", 1);
    this.#preparer = new Preparer({
      ...shared,
      defaults: this.#defaults,
      owner: this.#id,
      maxPayload,
      now: () => this.clock.now(),
      beat: () => this.#host.present(),
      report: (error) => this.events.report(error, "writing beside a dispatch in a transaction"),
    });
    this.#sender = new Sender({
      store: () => this.store(),
      prepare: (dispatch, within) => this.#preparer.prepare(dispatch, within),
      control: this,
      maxPayload,
      sent: (runs, inserted) => this.#host.sent(runs, inserted),
      unheard: (error) => this.events.report(error, "a dispatch that nobody awaited"),
    });
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
    const handler = toHandler(target, name, this.#options.resolve);
    const definition = new Definition<never>(name, handler, schema, this.#defaults, this.#home);
    if (this.#registry.define(definition) === 1) queueMicrotask(() => this.#lookAtFresh());
    if (!named) warnIfMinified(what, this.#logger);
    this.#host.definitionsChanged();
    return definition;
  }

  /** A job that another program defines: can be dispatched here, with its arguments typed. */
  declare<Args = unknown>(name: string): Dispatchable<Args> {
    this.#registry.declare(checkName(name, "a job name"));
    return new Dispatchable<Args>(name, this.#home);
  }

  /** A limit shared by all jobs of a queue; 0 = no limit. */
  queue(name: string, options: { concurrency: number }): this {
    checkName(name, "a queue name");
    if (typeof options !== "object" || options === null) {
      throw new PunctualError("INVALID_OPTION", `queue() expected { concurrency }, got ${show(options)}.`);
    }
    checkKeys(options, ["concurrency"], "queue()");
    this.#queueLimits.set(name, checkConcurrency(options.concurrency));
    this.#host.definitionsChanged();
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
        ? this.#dispatchFunction(what, args as Handler<unknown>)
        : this.#send(this.#find(what), args === undefined || args === null ? {} : { args });
    return (options === undefined ? dispatch : dispatch.options(options)) as Dispatch<never>;
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
    const { plan, passed } = toRecurrence(cron, options);
    const definition = what instanceof Definition ? what : this.#find(what);
    if (!(definition instanceof Definition)) throw this.#registry.unknown(definition.name, []);
    definition.recur(plan, passed);
    this.#warnOf(definition.name, plan.surprise(this.clock.now()));
    this.#host.definitionsChanged();
    return this;
  }

  /** A dispatch that is named last. */
  draft(): Draft<Named> {
    return new Draft<Named>((what, shape) => this.#send(this.#find(what), shape) as Dispatch);
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
    this.#refuseStopped();
    return this.#store.install(options);
  }

  /** One pass: runs what is due, at most `batch` runs, and gives how many it ran. */
  run(options: RunOptions = {}): Promise<number> {
    this.#refuseStopped();
    // It would wait for the pass it is in, and that for its handler.
    if (currentRun.getStore()?.instance === this) {
      throw new PunctualError(
        "WORKER_RUNNING",
        "This handler is part of a pass already: what it dispatches is run by that. Call run() outside of handlers.",
      );
    }
    return this.#host.run(options);
  }

  /** Works until stop(), SIGINT or SIGTERM; gives how many runs it ran. */
  forever(options: ForeverOptions = {}): Promise<number> {
    this.#refuseStopped();
    return this.#host.forever(options);
  }

  /** Sends what was dispatched, drains the worker, closes the database. Nothing can be dispatched after it. */
  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      await this.#sender.flush();
      await this.#host.stop();
      await this.#sender.flush();
      await this.#store.close();
    })();
    return this.#stopping;
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
    send: (job, shape) => this.#send(job, shape),
    sendMany: (job, all, options) => this.#sendMany(job, all, options),
  };

  protected override writeCounts(): Promise<void> {
    return this.#host.writeCounts();
  }

  protected override wakeWorker(): void {
    this.#host.wake();
  }

  protected override store(): Promise<Store> {
    return this.#store.get();
  }

  /** A class that is dispatched is a job from then on. */
  #find(what: Named): Dispatchable<never> {
    const name = nameOf(what);
    const defined = this.#registry.definition(name);
    if (defined) return defined;
    if (typeof what !== "string") return this.schedule(what as JobClass) as unknown as Dispatchable<never>;
    return new Dispatchable<never>(name, this.#home);
  }

  /** At the end of the turn, when the definitions' calls are complete. */
  #lookAtFresh(): void {
    for (const { name, plan } of this.#registry.fresh()) this.#warnOf(name, plan.surprise(this.clock.now()));
  }

  #warnOf(job: string, surprise: string | null): void {
    if (surprise !== null) this.#logger.warn(`the schedule of job "${job}": ${surprise}`);
  }

  #send(job: Dispatchable<never>, shape: Shape): Dispatch<never> {
    return new Dispatch<never>(job, shape, this.#parentId(), this.#sender);
  }

  async #sendMany(
    job: Dispatchable<never>,
    all: Iterable<unknown> | AsyncIterable<unknown>,
    options?: DispatchOptions,
  ): Promise<Run[]> {
    const parentId = this.#parentId();
    const shape = options === undefined ? {} : shapeOf(options);
    return this.#sender.sendMany(this.#preparer.many(job, all, shape, parentId));
  }

  #dispatchFunction(name: string, handler: Handler<unknown>): AdHocDispatch {
    this.#refuseStopped();
    checkName(name, "a job name");
    const lane = `${randomText()}|adhoc`;
    const adHoc: AdHoc = { name, lane, handler, settings: this.#defaults };
    this.#registry.checkAdHoc(name);
    return new AdHocDispatch(adHoc, {}, this.#parentId(), this.#sender);
  }

  /** Whose handler dispatches. Once stopped only a handler may, while the worker drains: what follows is part of its work. */
  #parentId(): number | null {
    const current = currentRun.getStore();
    if (current?.instance === this) return current.id;
    this.#refuseStopped();
    return null;
  }

  #refuseStopped(): void {
    if (!this.#stopping) return;
    throw new PunctualError(
      "CLOSED",
      "This instance was stopped: it takes no more work. Make a new Punctual().",
    );
  }
}
