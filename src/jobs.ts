import type { Dispatch, DispatchOptions } from "./dispatch/dispatch.ts";
import type { Engine } from "./engine.ts";
import { PunctualError } from "./errors.ts";
import type { AdHocDispatch } from "./job/adhoc.ts";
import type {
  Data,
  DispatchArguments,
  FunctionOptions,
  FunctionOrData,
  Impossible,
  RegisterArguments,
  RunArguments,
} from "./job/arguments.ts";
import type { BatchDispatch } from "./job/batch-dispatch.ts";
import { CallSite } from "./job/call-site.ts";
import {
  type ArgsFor,
  type Catalog,
  type ClassTarget,
  type ClassTypes,
  type JobsIn,
  type ResultFor,
  type TypesOfJob,
  toCatalog,
} from "./job/catalog.ts";
import { Definition } from "./job/definition.ts";
import { Dispatchable, Draft, type Home, JobDraft } from "./job/dispatchable.ts";
import { type AwaitedResult, type Handler, nameOf, toHandler, warnIfMinified } from "./job/handlers.ts";
import { checkNamedLimit, type LimitOptions } from "./job/named-limits.ts";
import { checkQueueSettings, type QueueSettings } from "./job/queue-orders.ts";
import { type RecurOptions, recurOptionsOf, toRecurrence } from "./job/recurrence.ts";
import { type RerunOptions, rerunShape } from "./job/rerun.ts";
import { type InputOf, isSchema, type OutputOf, type StandardSchema } from "./job/schema.ts";
import { jobFileLoader } from "./job-file-loader.ts";
import { BatchOperations } from "./operate/batch-operations.ts";
import { checkId } from "./operate/run-query.ts";
import { Batch, type BatchAddition } from "./run/batch.ts";
import { EncodedArgs, type JsonValue } from "./run/payload.ts";
import { type Run, wrongState } from "./run/run.ts";
import type { Duration, Instant } from "./time.ts";
import { checkName } from "./validate/names.ts";
import { checkKeys, withoutUndefined } from "./validate/options.ts";

type JobReference = string | ClassTarget;

/** The part of an instance that defines and dispatches jobs. */
// biome-ignore lint/suspicious/noExplicitAny: without a catalog.
export abstract class Jobs<Known = any> extends BatchOperations {
  protected abstract get engine(): Engine;

  // -- defining jobs -----------------------------------------------------------------------------------------------

  // An overload rejects a wrong call by the number of arguments, if it can: the compiler then reports the error of the
  // overload that was meant.
  /**
   * Defines a job from a name and a handler, with an optional schema between them, or from a class or a class method.
   */
  define<Args, Result = unknown>(name: string, handler: Handler<Args, Result>): Definition<Args, Result>;
  define<const Target extends ClassTarget | Data>(
    name: string,
    target: Target,
    ...nothing: Target extends ClassTarget ? [] : Impossible
  ): Definition<ClassTypes<Target>["args"], ClassTypes<Target>["result"]>;
  define<Schema extends StandardSchema, Result>(
    name: string,
    schema: Schema,
    handler: Handler<OutputOf<Schema>, Result>,
  ): Definition<InputOf<Schema>, Result, boolean, OutputOf<Schema>>;
  define<const Target extends ClassTarget | string>(
    target: Target,
    ...handler: Target extends ClassTarget ? [] : [handler: Handler<unknown>]
  ): Definition<ClassTypes<Target>["args"], ClassTypes<Target>["result"]>;
  define(...given: unknown[]): Definition<never> {
    return this.#define(given, new CallSite(Jobs.prototype.define));
  }

  /** The same as `define()`. */
  get schedule(): Jobs["define"] {
    return this.define;
  }

  #define([what, second, third]: unknown[], callSite: CallSite): Definition<never> {
    const named = typeof what === "string";
    const name = nameOf(what);
    const schema = isSchema(second) ? second : null;
    const target = !named ? what : schema ? third : second;
    const handler = toHandler(target, name, this.engine.options.resolve);
    this.engine.registry.know(target);
    const definition = new Definition<never>({
      name,
      handler,
      schema,
      settings: this.engine.defaults,
      home: this.#home,
      callSite,
    });
    if (this.engine.registry.define(definition)) queueMicrotask(() => this.#checkSchedules());
    if (!named) warnIfMinified(what, this.engine.logger);
    jobFileLoader()?.defined(definition);
    this.engine.sessions.definitionsChanged();
    return definition;
  }

  /** Returns every job that this instance defines. */
  definitions(): Definition<never>[] {
    return [...this.engine.registry.definitions()];
  }

  /** Declares a job that another program defines, to dispatch it here. The catalog or `Args` types its arguments. */
  declare<Name extends keyof JobsIn<Known> & string>(
    name: Name,
  ): Dispatchable<ArgsFor<Known, Name>, ResultFor<Known, Name>>;
  declare<Args = unknown, Result = JsonValue | undefined>(name: string): Dispatchable<Args, Result>;
  declare(name: string): Dispatchable<never, never> {
    this.engine.registry.declare(checkName(name, "a job name"));
    return new Dispatchable<never, never>(name, this.#home);
  }

  /**
   * Lists jobs by name, so that other programs can dispatch them by name with their types:
   * `new Punctual<typeof catalog>()`, where `catalog` is imported with `import type`.
   */
  catalog<Jobs extends Record<string, Dispatchable>>(
    jobs: Jobs,
  ): Catalog<{ [Name in keyof Jobs]: TypesOfJob<Jobs[Name]> }> {
    return toCatalog(jobs);
  }

  /**
   * Sets options of a queue: how many of its runs may run at a time, over all workers (`concurrency`; 0: no limit), how
   * many may start within a time (`rate`), and in which order they start. Options that are not given stay as they were.
   */
  queue(name: string, options: QueueSettings): this {
    checkName(name, "a queue name");
    const { queueLimits, queueOrders, sessions } = this.engine;
    const { limit, order } = checkQueueSettings(options, queueOrders.fair.has(name));
    if (limit !== null) queueLimits.set(name, { limit: 0, rate: null, ...queueLimits.get(name), ...limit });
    if (order !== null) queueOrders.set(name, order);
    sessions.definitionsChanged();
    return this;
  }

  /**
   * Defines a limit that jobs share: those that are `under()` its name, in all processes together. `concurrency`: most
   * runs at once; `rate`: how many may start within a time, or how much their starts may cost. Null takes the limit
   * away. It replaces what the name had before.
   */
  limit(name: string, options: LimitOptions | null): this {
    checkName(name, "the name of a limit");
    const { namedLimits, sessions } = this.engine;
    namedLimits.set(name, checkNamedLimit(options));
    sessions.definitionsChanged();
    return this;
  }

  // -- dispatching -------------------------------------------------------------------------------------------------

  /** Dispatches a run of a job, by name, class or class method; or of a function, which runs in this process only. */
  dispatch<Given extends FunctionOrData<Handler<unknown>>>(
    name: string,
    handler: Given,
    ...options: FunctionOptions<Given>
  ): AdHocDispatch<AwaitedResult<Given>>;
  dispatch<const Target extends (keyof JobsIn<Known> & string) | ClassTarget>(
    target: Target,
    ...given: DispatchArguments<ArgsFor<Known, Target>>
  ): Dispatch<ArgsFor<Known, Target>, ResultFor<Known, Target>>;
  dispatch(what: JobReference, args?: unknown, options?: DispatchOptions | number): Dispatch {
    return this.#dispatch(what, args, options);
  }

  #dispatch(what: JobReference, args?: unknown, options?: DispatchOptions | number): Dispatch<never, never> {
    const dispatch =
      typeof what === "string" && typeof args === "function"
        ? this.engine.sendFunction(what, args as Handler<unknown>)
        : this.engine.send(this.#find(what), args === undefined || args === null ? {} : { args });
    return options === undefined ? dispatch : dispatch.options(options);
  }

  /** Dispatches a run of a job that only this instance executes. The run has one attempt and ignores limits. */
  dispatchHere<const Target extends (keyof JobsIn<Known> & string) | ClassTarget>(
    what: Target,
    ...[args]: RunArguments<ArgsFor<Known, Target>>
  ): AdHocDispatch<ResultFor<Known, Target>> {
    this.engine.refuseStopped();
    const definition = this.#find(what);
    if (!(definition instanceof Definition)) throw this.engine.registry.unknown(definition.name, []);
    const { name, handler, schema, settings: own } = definition;
    const settings = { ...own, retries: { ...own.retries, max: 1 } };
    // Passed with the dispatch, so that the job's own arguments are captured at this call too.
    const given = args === undefined || args === null ? { args: own.args } : { args };
    return this.engine.sendHere({ name, handler, schema, settings, borrowed: true }, given);
  }

  /** Dispatches a run now or at `when`, on `queue`: `dispatch()` with positional parameters. */
  register<const Target extends (keyof JobsIn<Known> & string) | ClassTarget>(
    what: Target,
    ...[args, when, queue]: RegisterArguments<ArgsFor<Known, Target>>
  ): Dispatch<ArgsFor<Known, Target>, ResultFor<Known, Target>> {
    let dispatch = this.#dispatch(what, args);
    if (when !== undefined && when !== null) dispatch = dispatch.at(when);
    return queue === undefined ? dispatch : dispatch.queue(queue);
  }

  /**
   * Dispatches a run of a job by name, with its arguments as JSON text, which is stored as it is: integers beyond 2^53
   * stay exact. Null: those of the job. The process need not define the job, if the database knows it.
   */
  dispatchJson(name: string, json: string | null, options?: DispatchOptions): Dispatch {
    const { maxPayload } = this.engine.sender;
    const args = json === null ? undefined : EncodedArgs.fromJson(json, maxPayload);
    return this.#dispatch(checkName(name, "a job name"), args, options);
  }

  /**
   * Dispatches a new run of the same job with the queue, key, priority, tags and arguments of another run, now. Its
   * `rerunOf` is the other run. The process need not define the job, if the database knows it.
   */
  async rerun(id: number, options: RerunOptions = {}): Promise<Run> {
    checkKeys(options, { args: true, json: true }, "rerun()");
    const run = await (await this.openStore()).find(checkId(id));
    if (!run) throw wrongState("rerun", id, null);
    const job = this.#find(run.name);
    const computesKey = job instanceof Definition && job.settings.keyOf !== null;
    const { maxPayload } = this.engine.sender;
    return this.engine.send(job, rerunShape(run, options, { computesKey, maxPayload }));
  }

  /** Dispatches a run of a schedule now, with the schedule's arguments and queue. Its ticks stay as they are. */
  async runSchedule(id: number): Promise<Run> {
    checkId(id, "the id of a schedule");
    const schedule = (await (await this.openStore()).schedules()).find((one) => one.id === id);
    if (!schedule) {
      const message = `Cannot run schedule ${id}: no schedule has this id. schedules() lists all.`;
      throw new PunctualError("UNKNOWN_SCHEDULE", message);
    }
    const { job, args, queue } = schedule;
    const shape = { args: EncodedArgs.stored(args), ...(queue !== null && { queue }) };
    return this.engine.send(this.#find(job), shape);
  }

  /**
   * Adds a schedule to a job, by a cron expression. A job may have any number of schedules; adding the same one
   * again has no effect.
   */
  recur<const Target extends (keyof JobsIn<Known> & string) | ClassTarget | Definition | JobDraft>(
    what: Target,
    cron: string,
    options: RecurOptions<ArgsFor<Known, Target>> = {},
  ): this {
    const draft = what instanceof JobDraft ? (what as JobDraft<never>) : null;
    const job = draft ? draft.job : what;
    const definition = job instanceof Dispatchable ? job : this.#find(job as JobReference);
    if (!(definition instanceof Definition)) throw this.engine.registry.unknown(definition.name, []);
    const given = draft ? { ...recurOptionsOf(draft), ...withoutUndefined(options) } : options;
    const { plan, overrides } = toRecurrence(cron, given, definition.settings.args);
    definition.recur(plan, overrides);
    this.#warnAbout(definition.name, plan.warning(this.clock.now()));
    this.engine.sessions.definitionsChanged();
    return this;
  }

  /**
   * Begins a batch: runs that are counted together, with callbacks when they have ended. It is sent when the turn ends.
   * With the id of a batch, returns its handle.
   */
  batch(name: string): BatchDispatch;
  batch(id: number): Batch;
  batch(which: string | number): BatchDispatch | Batch {
    if (typeof which === "number") return new Batch(checkId(which, "the id of a batch"), 0, this);
    return this.engine.batches.begin(which);
  }

  async addToBatch(id: number, additions: BatchAddition[]): Promise<number> {
    return this.engine.batches.add(id, additions, false);
  }

  /** Begins a draft without a job: its `dispatch()` names the job. */
  draft(): Draft<Known> {
    return new Draft<Known>((what, shape) => this.engine.send(this.#find(what), shape));
  }

  delay(delay: Duration): Draft<Known> {
    return this.draft().delay(delay);
  }

  at(instant: Instant): Draft<Known> {
    return this.draft().at(instant);
  }

  args(args: unknown): Draft<Known, true> {
    return this.draft().args(args);
  }

  readonly #home: Home = {
    send: (job, shape) => this.engine.send(job, shape),
    sendMany: (job, all, shape) => this.engine.sendMany(job, all, shape),
    warn: (message) => this.engine.logger.warn(message),
  };

  /** Returns the job of a name or class. Defines a class that has no definition yet. */
  #find(what: JobReference): Dispatchable<never> {
    const name = nameOf(what);
    const defined = this.engine.registry.definition(name);
    if (defined) return defined;
    return typeof what === "string" ? new Dispatchable<never>(name, this.#home) : this.defineImplicitly(what);
  }

  protected defineImplicitly(what: ClassTarget): Definition<never> {
    const definition = this.define(what) as unknown as Definition<never>;
    definition.isImplicit = true;
    return definition;
  }

  /** Warns about the schedules of new definitions. Called at the end of the turn, when their settings are complete. */
  #checkSchedules(): void {
    for (const { name, plan } of this.engine.registry.takeUnchecked())
      this.#warnAbout(name, plan.warning(this.clock.now()));
  }

  #warnAbout(job: string, warning: string | null): void {
    if (warning !== null) this.engine.logger.warn(`the schedule of job "${job}": ${warning}`);
  }
}
