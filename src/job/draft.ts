import type { Dispatch } from "../dispatch/dispatch.ts";
import { type DispatchOptions, type Shape, Shaped } from "../dispatch/shape.ts";
import { brand } from "../errors.ts";
import type { Run } from "../run/run.ts";
import type { DispatchArguments } from "./arguments.ts";
import type { ArgsFor, ClassTarget, JobsIn, JobTypes, ResultFor } from "./catalog.ts";
import type { Dispatchable, Home } from "./dispatchable.ts";

type Send = (target: string | ClassTarget, shape: Shape) => Dispatch<never, never>;

/** A dispatch that is not yet named. Each call gives a new draft, so one can be kept and used again. */
// biome-ignore lint/suspicious/noExplicitAny: without a catalog.
export class Draft<Known = any, Own extends boolean = boolean> extends Shaped<unknown> {
  readonly #shape: Shape;
  readonly #send: Send;

  constructor(send: Send, shape: Shape = {}) {
    super();
    this.#send = send;
    this.#shape = shape;
  }

  protected override with(shape: () => Shape): this {
    return new Draft(this.#send, { ...this.#shape, ...shape() }) as this;
  }

  /** The arguments of its runs, unless `dispatch()` gives others. */
  override args(args: unknown): Draft<Known, true> {
    return super.args(args) as Draft<Known, true>;
  }

  /** Asks for the run: by name, class, or class and method. */
  dispatch<const Target extends (keyof JobsIn<Known> & string) | ClassTarget>(
    target: Target,
    ...[args, options]: DispatchArguments<ArgsFor<Known, Target>, Own>
  ): Dispatch<ArgsFor<Known, Target>, ResultFor<Known, Target>> {
    const shape = args === undefined || args === null ? this.#shape : { ...this.#shape, args };
    const dispatch = this.#send(target, shape);
    return options === undefined ? dispatch : dispatch.options(options);
  }
}

/** A draft of one job: only the shape is open. */
export class JobDraft<Args = unknown, Result = unknown, Own extends boolean = boolean> extends Shaped<Args> {
  /** Types only: it has no value. */
  declare readonly "~types"?: JobTypes<Args, Result>;
  readonly job: Dispatchable<never>;
  readonly shape: Shape;
  protected readonly home: Home;

  constructor(job: Dispatchable<never>, home: Home, shape: Shape = {}) {
    super();
    this.job = job;
    this.home = home;
    this.shape = shape;
  }

  protected override with(shape: () => Shape): this {
    return this.copy({ ...this.shape, ...shape() });
  }

  protected copy(shape: Shape): this {
    return new JobDraft<Args, Result, Own>(this.job, this.home, shape) as this;
  }

  /** The shape of a run that is asked for now. */
  use(): Shape {
    return this.shape;
  }

  /** The arguments of its runs, unless `dispatch()` gives others. */
  override args(args: Args): JobDraft<Args, Result, true> {
    return super.args(args) as unknown as JobDraft<Args, Result, true>;
  }

  /** Asks for a run. Options as an object; a number is the delay in seconds. */
  dispatch(...[args, options]: DispatchArguments<Args, Own>): Dispatch<Args, Result> {
    const own = this.use();
    const shape = args === undefined || args === null ? own : { ...own, args };
    const dispatch = this.home.send(this.job, shape) as unknown as Dispatch<Args, Result>;
    return options === undefined ? dispatch : dispatch.options(options);
  }

  /** Asks for many runs, group by group: each with its own arguments, all with the shape of the draft. */
  async dispatchMany(
    all: readonly Args[] | Iterable<Args> | AsyncIterable<Args>,
    options?: DispatchOptions,
  ): Promise<Run<Result>[]> {
    const draft = options === undefined ? this : this.options(options);
    return this.home.sendMany(this.job, all, draft.use());
  }
}

brand(JobDraft, "JobDraft");
