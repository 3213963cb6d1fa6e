import {
  type Dispatch,
  type DispatchOptions,
  type RunShape,
  ShapeChain,
  type UniqueOptions,
} from "../dispatch/dispatch.ts";
import { brand } from "../errors.ts";
import type { Run } from "../run/run.ts";
import type { Duration, Instant } from "../time.ts";
import type { DispatchArguments } from "./arguments.ts";
import type { ArgsFor, ClassTarget, JobsIn, JobTypes, ResultFor } from "./catalog.ts";

/** How a job reaches the instance it belongs to. */
export interface Home {
  send(job: Dispatchable<never>, shape: RunShape): Dispatch<never, never>;
  sendMany(
    job: Dispatchable<never>,
    all: Iterable<unknown> | AsyncIterable<unknown>,
    shape: RunShape,
  ): Promise<Run<never>[]>;
  warn(message: string): void;
}

/**
 * A job that can be dispatched: defined here, or declared because another program defines it. The methods that shape one
 * run give a draft and leave the job as it is.
 */
export class Dispatchable<Args = unknown, Result = unknown, Own extends boolean = boolean> {
  /** Types only: it has no value. */
  declare readonly "~types"?: JobTypes<Args, Result>;
  readonly name: string;
  protected readonly home: Home;

  constructor(name: string, home: Home) {
    this.name = name;
    this.home = home;
  }

  /** Asks for a run; without arguments it gets those of `args()`. Options as an object; a number is the delay in seconds. */
  dispatch(...given: DispatchArguments<Args, Own>): Dispatch<Args, Result> {
    return this.draft().dispatch(...given);
  }

  /** Asks for many runs, group by group: each with its own arguments, all with the same options. */
  dispatchMany(
    all: readonly Args[] | Iterable<Args> | AsyncIterable<Args>,
    options?: DispatchOptions,
  ): Promise<Run<Result>[]> {
    return this.draft().dispatchMany(all, options);
  }

  /** A dispatch of this job that is not sent until its own `dispatch()`. */
  draft(): JobDraft<Args, Result, Own> {
    return new JobDraft<Args, Result, Own>(this as never, this.home);
  }

  /** A draft that is due later: seconds, or text such as `"1h"`. */
  delay(delay: Duration): JobDraft<Args, Result, Own> {
    return this.draft().delay(delay);
  }

  /** A draft that is due at an instant. */
  at(instant: Instant): JobDraft<Args, Result, Own> {
    return this.draft().at(instant);
  }

  /** A draft whose run is inserted only while no other run holds the key. */
  unique(key: string, options?: UniqueOptions): JobDraft<Args, Result, Own> {
    return this.draft().unique(key, options);
  }

  /** A draft with the key of a limit per key. */
  key(key: string): JobDraft<Args, Result, Own> {
    return this.draft().key(key);
  }

  /** A draft with tags. */
  tags(...tags: string[]): JobDraft<Args, Result, Own> {
    return this.draft().tags(...tags);
  }

  /** A draft that is skipped unless it starts within this time after its dispatch. */
  expires(after: Duration): JobDraft<Args, Result, Own> {
    return this.draft().expires(after);
  }
}

brand(Dispatchable, "Dispatchable");

type Send = (target: string | ClassTarget, shape: RunShape) => Dispatch<never, never>;

/** A dispatch that is not yet named. Each call gives a new draft, so one can be kept and used again. */
// biome-ignore lint/suspicious/noExplicitAny: without a catalog.
export class Draft<Known = any, Own extends boolean = boolean> extends ShapeChain<unknown> {
  readonly #shape: RunShape;
  readonly #send: Send;

  constructor(send: Send, shape: RunShape = {}) {
    super();
    this.#send = send;
    this.#shape = shape;
  }

  protected override with(shape: () => RunShape): this {
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
export class JobDraft<
  Args = unknown,
  Result = unknown,
  Own extends boolean = boolean,
> extends ShapeChain<Args> {
  /** Types only: it has no value. */
  declare readonly "~types"?: JobTypes<Args, Result>;
  readonly job: Dispatchable<never>;
  readonly shape: RunShape;
  protected readonly home: Home;

  constructor(job: Dispatchable<never>, home: Home, shape: RunShape = {}) {
    super();
    this.job = job;
    this.home = home;
    this.shape = shape;
  }

  protected override with(shape: () => RunShape): this {
    return this.copy({ ...this.shape, ...shape() });
  }

  protected copy(shape: RunShape): this {
    return new JobDraft<Args, Result, Own>(this.job, this.home, shape) as this;
  }

  /** The name of its job. */
  get name(): string {
    return this.job.name;
  }

  /** This draft: each call that shapes it gives a new one. */
  draft(): this {
    return this;
  }

  /** The shape of a run that is asked for now. */
  use(): RunShape {
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
