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

/** The instance of a job, as the job needs it. */
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
 * A job that can be dispatched: defined by this program, or declared because another one defines it. Methods that set
 * something for one run return a draft; the job does not change.
 */
export class Dispatchable<Args = unknown, Result = unknown, Own extends boolean = boolean> {
  /** Carries types only; never set. */
  declare readonly "~types"?: JobTypes<Args, Result>;
  readonly name: string;
  protected readonly home: Home;

  constructor(name: string, home: Home) {
    this.name = name;
    this.home = home;
  }

  /** Dispatches a run. Without arguments the run gets those of `args()`. A number as options is a delay in seconds. */
  dispatch(...given: DispatchArguments<Args, Own>): Dispatch<Args, Result> {
    return this.draft().dispatch(...given);
  }

  /** Dispatches a run for each element of `all`, its arguments. All have the same options. Inserts in groups. */
  dispatchMany(
    all: readonly Args[] | Iterable<Args> | AsyncIterable<Args>,
    options?: DispatchOptions,
  ): Promise<Run<Result>[]> {
    return this.draft().dispatchMany(all, options);
  }

  /** Returns drafts for a batch, one for each element of `all`, its arguments. */
  many(all: readonly Args[] | Iterable<Args> | AsyncIterable<Args>): DraftList {
    return this.draft().many(all);
  }

  /** Returns a draft of this job, which is sent when its `dispatch()` is called. */
  draft(): JobDraft<Args, Result, Own> {
    return new JobDraft<Args, Result, Own>(this as never, this.home);
  }

  /** Returns a draft that is due after a delay: seconds, or text such as `"1h"`. */
  delay(delay: Duration): JobDraft<Args, Result, Own> {
    return this.draft().delay(delay);
  }

  /** Returns a draft that is due at an instant. */
  at(instant: Instant): JobDraft<Args, Result, Own> {
    return this.draft().at(instant);
  }

  /** Returns a draft whose run is inserted only if no other run holds the key. */
  unique(key: string, options?: UniqueOptions): JobDraft<Args, Result, Own> {
    return this.draft().unique(key, options);
  }

  /** Returns a draft with a key, for a limit per key. */
  key(key: string): JobDraft<Args, Result, Own> {
    return this.draft().key(key);
  }

  /** Returns a draft with tags. */
  tags(...tags: string[]): JobDraft<Args, Result, Own> {
    return this.draft().tags(...tags);
  }

  /** Returns a draft whose run is skipped unless it starts within this time after its dispatch. */
  expires(after: Duration): JobDraft<Args, Result, Own> {
    return this.draft().expires(after);
  }
}

brand(Dispatchable, "Dispatchable");

type Send = (target: string | ClassTarget, shape: RunShape) => Dispatch<never, never>;

/** Settings of a dispatch that has no job yet. Each call returns a new draft: a draft can be kept and used again. */
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

  /** Sets the arguments of its runs, unless `dispatch()` gets others. */
  override args(args: unknown): Draft<Known, true> {
    return super.args(args) as Draft<Known, true>;
  }

  /** Dispatches a run of a job, by name, class or class method. */
  dispatch<const Target extends (keyof JobsIn<Known> & string) | ClassTarget>(
    target: Target,
    ...[args, options]: DispatchArguments<ArgsFor<Known, Target>, Own>
  ): Dispatch<ArgsFor<Known, Target>, ResultFor<Known, Target>> {
    const shape = args === undefined || args === null ? this.#shape : { ...this.#shape, args };
    const dispatch = this.#send(target, shape);
    return options === undefined ? dispatch : dispatch.options(options);
  }
}

/** Settings of a dispatch of one job. Each call returns a new draft. */
export class JobDraft<
  Args = unknown,
  Result = unknown,
  Own extends boolean = boolean,
> extends ShapeChain<Args> {
  /** Carries types only; never set. */
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

  /** Returns this draft: no call changes it. */
  draft(): this {
    return this;
  }

  /** Returns the shape for a run that is dispatched now. */
  use(): RunShape {
    return this.shape;
  }

  /** Sets the arguments of its runs, unless `dispatch()` gets others. */
  override args(args: Args): JobDraft<Args, Result, true> {
    return super.args(args) as unknown as JobDraft<Args, Result, true>;
  }

  /** Dispatches a run. A number as options is a delay in seconds. */
  dispatch(...[args, options]: DispatchArguments<Args, Own>): Dispatch<Args, Result> {
    const own = this.use();
    const shape = args === undefined || args === null ? own : { ...own, args };
    const dispatch = this.home.send(this.job, shape) as unknown as Dispatch<Args, Result>;
    return options === undefined ? dispatch : dispatch.options(options);
  }

  /** Returns drafts for a batch, one for each element of `all`, its arguments; all have the draft's settings. */
  many(all: readonly Args[] | Iterable<Args> | AsyncIterable<Args>): DraftList {
    return new DraftList(this.job, this.use(), all);
  }

  /** Dispatches a run for each element of `all`, its arguments; all runs have the draft's settings. */
  async dispatchMany(
    all: readonly Args[] | Iterable<Args> | AsyncIterable<Args>,
    options?: DispatchOptions,
  ): Promise<Run<Result>[]> {
    const draft = options === undefined ? this : this.options(options);
    return this.home.sendMany(this.job, all, draft.use());
  }
}

brand(JobDraft, "JobDraft");

/** Drafts of one job that differ in their arguments, for a batch. `many()` returns it. */
export class DraftList {
  readonly job: Dispatchable<never>;
  readonly shape: RunShape;
  readonly all: Iterable<unknown> | AsyncIterable<unknown>;

  constructor(job: Dispatchable<never>, shape: RunShape, all: Iterable<unknown> | AsyncIterable<unknown>) {
    this.job = job;
    this.shape = shape;
    this.all = all;
  }

  /** The name of the job. */
  get name(): string {
    return this.job.name;
  }
}

brand(DraftList, "DraftList");
