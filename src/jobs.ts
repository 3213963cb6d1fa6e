import type { Dispatch } from "./dispatch/dispatch.ts";
import type { DispatchOptions } from "./dispatch/shape.ts";
import type { Engine } from "./engine.ts";
import { PunctualError, show } from "./errors.ts";
import type { AdHocDispatch } from "./job/adhoc.ts";
import { Definition } from "./job/definition.ts";
import { Dispatchable, type Home } from "./job/dispatchable.ts";
import { Draft, JobDraft } from "./job/draft.ts";
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
import { type RecurOptions, recurOptionsOf, toRecurrence } from "./job/recurrence.ts";
import { type InputOf, isSchema, type OutputOf, type StandardSchema } from "./job/schema.ts";
import { checkConcurrency } from "./job/settings.ts";
import { jobFileLoader } from "./job-file-loader.ts";
import { Operations } from "./operate/operations.ts";
import type { Duration, Instant } from "./time.ts";
import { checkName } from "./validate/names.ts";
import { checkKeys, withoutUndefined } from "./validate/options.ts";

type Named = string | JobClass | readonly [JobClass, string];

/** The part of an instance that defines jobs and asks for runs of them. */
export abstract class Jobs extends Operations {
  protected abstract get engine(): Engine;

  // -- what should happen ------------------------------------------------------------------------------------------

  /** Defines a job: a name and its handler, with a schema between them if you like; or a class, or a class and method. */
  define<Args>(name: string, handler: Handler<Args>): Definition<Args>;
  define<Schema extends StandardSchema>(
    name: string,
    schema: Schema,
    handler: Handler<OutputOf<Schema>>,
  ): Definition<InputOf<Schema>>;
  define<Class extends JobClass>(name: string, jobClass: Class): Definition<ArgsOf<Class>>;
  define<Class extends JobClass, Method extends string>(
    name: string,
    method: readonly [Class, Method],
  ): Definition<ArgsOfMethod<Class, Method>>;
  define<Class extends JobClass>(jobClass: Class): Definition<ArgsOf<Class>>;
  define<Class extends JobClass, Method extends string>(
    method: readonly [Class, Method],
  ): Definition<ArgsOfMethod<Class, Method>>;
  define(...given: unknown[]): Definition<never> {
    return this.#define(given, new Place(Jobs.prototype.define));
  }

  /** Defines a job: the same as `define()`. */
  declare readonly schedule: Jobs["define"];

  static {
    Object.defineProperty(Jobs.prototype, "schedule", {
      value: function schedule(this: Jobs, ...given: unknown[]): Definition<never> {
        return this.#define(given, new Place(schedule));
      },
    });
  }

  #define([what, second, third]: unknown[], place: Place): Definition<never> {
    const named = typeof what === "string";
    const name = nameOf(what);
    const schema = isSchema(second) ? second : null;
    const target = !named ? what : schema ? third : second;
    const handler = toHandler(target, name, this.engine.options.resolve);
    this.engine.registry.know(target);
    const definition = new Definition<never>(name, handler, schema, this.engine.defaults, this.#home, place);
    if (this.engine.registry.define(definition)) queueMicrotask(() => this.#lookAtFresh());
    if (!named) warnIfMinified(what, this.engine.logger);
    jobFileLoader()?.defined(definition);
    this.engine.sessions.definitionsChanged();
    return definition;
  }

  /** Every job that is defined here. */
  definitions(): Definition<never>[] {
    return [...this.engine.registry.definitions()];
  }

  /** A job that another program defines: can be dispatched here, with its arguments typed. */
  declare<Args = unknown>(name: string): Dispatchable<Args> {
    this.engine.registry.declare(checkName(name, "a job name"));
    return new Dispatchable<Args>(name, this.#home);
  }

  /** A limit shared by all jobs of a queue; 0 = no limit. */
  queue(name: string, options: { concurrency: number }): this {
    checkName(name, "a queue name");
    if (typeof options !== "object" || options === null) {
      throw new PunctualError("INVALID_OPTION", `queue() expected { concurrency }, got ${show(options)}.`);
    }
    checkKeys(options, ["concurrency"], "queue()");
    this.engine.queueLimits.set(name, checkConcurrency(options.concurrency));
    this.engine.sessions.definitionsChanged();
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
        ? this.engine.sendFunction(what, args as Handler<unknown>)
        : this.engine.send(this.#find(what), args === undefined || args === null ? {} : { args });
    return (options === undefined ? dispatch : dispatch.options(options)) as Dispatch<never>;
  }

  /** A run of a job that only this instance runs, when it works: with one try, and whatever its limits say. */
  dispatchHere(what: Named, args?: unknown): AdHocDispatch {
    this.engine.refuseStopped();
    const definition = this.#find(what);
    if (!(definition instanceof Definition)) throw this.engine.registry.unknown(definition.name, []);
    const { name, handler, schema, settings: own } = definition;
    const settings = { ...own, retries: { ...own.retries, max: 1 } };
    // The dispatch captures its arguments at this call, the job's own too.
    const given = args === undefined || args === null ? { args: own.args } : { args };
    return this.engine.sendHere({ name, handler, schema, settings, borrowed: true }, given);
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
  recur<Args>(
    what: Named | Definition<Args> | JobDraft<Args>,
    cron: string,
    options: RecurOptions = {},
  ): this {
    const draft = what instanceof JobDraft ? what : null;
    const job = draft ? draft.job : what;
    const definition = job instanceof Dispatchable ? job : this.#find(job as Named);
    if (!(definition instanceof Definition)) throw this.engine.registry.unknown(definition.name, []);
    const given = draft ? { ...recurOptionsOf(draft), ...withoutUndefined(options) } : options;
    const { plan, overrides } = toRecurrence(cron, given, definition.settings.args);
    definition.recur(plan, overrides);
    this.#warnOf(definition.name, plan.warning(this.clock.now()));
    this.engine.sessions.definitionsChanged();
    return this;
  }

  /** A dispatch that is named last. */
  draft(): Draft<Named> {
    return new Draft<Named>((what, shape) => this.engine.send(this.#find(what), shape) as Dispatch);
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

  readonly #home: Home = {
    send: (job, shape) => this.engine.send(job, shape),
    sendMany: (job, all, shape) => this.engine.sendMany(job, all, shape),
    warn: (message) => this.engine.logger.warn(message),
  };

  /** A class that is dispatched is a job from then on. */
  #find(what: Named): Dispatchable<never> {
    const name = nameOf(what);
    const defined = this.engine.registry.definition(name);
    if (defined) return defined;
    return typeof what === "string" ? new Dispatchable<never>(name, this.#home) : this.defineImplicitly(what);
  }

  protected defineImplicitly(what: JobClass | readonly [JobClass, string]): Definition<never> {
    const definition = this.define(what as JobClass) as unknown as Definition<never>;
    definition.isImplicit = true;
    return definition;
  }

  /** At the end of the turn, when the definitions' calls are complete. */
  #lookAtFresh(): void {
    for (const { name, plan } of this.engine.registry.fresh())
      this.#warnOf(name, plan.warning(this.clock.now()));
  }

  #warnOf(job: string, warning: string | null): void {
    if (warning !== null) this.engine.logger.warn(`the schedule of job "${job}": ${warning}`);
  }
}
