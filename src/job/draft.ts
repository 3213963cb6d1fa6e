import type { Dispatch } from "../dispatch/dispatch.ts";
import { type DispatchOptions, type Shape, Shaped } from "../dispatch/shape.ts";
import { brand } from "../errors.ts";
import type { Run } from "../run/run.ts";
import type { Dispatchable, Home } from "./dispatchable.ts";

/** A dispatch that is not yet named. Each call gives a new draft, so one can be kept and used again. */
export class Draft<Target, Args = unknown> extends Shaped<Args> {
  readonly #shape: Shape;
  readonly #send: (target: Target, shape: Shape) => Dispatch<Args>;

  constructor(send: (target: Target, shape: Shape) => Dispatch<Args>, shape: Shape = {}) {
    super();
    this.#send = send;
    this.#shape = shape;
  }

  protected override with(shape: () => Shape): this {
    return new Draft<Target, Args>(this.#send, { ...this.#shape, ...shape() }) as this;
  }

  /** Asks for the run: by name, class, or class and method. */
  dispatch(target: Target, args?: Args): Dispatch<Args> {
    return this.#send(target, args === undefined || args === null ? this.#shape : { ...this.#shape, args });
  }
}

/** A draft of one job: only the shape is open. */
export class JobDraft<Args = unknown> extends Shaped<Args> {
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
    return new JobDraft<Args>(this.job, this.home, shape) as this;
  }

  /** The shape of a run that is asked for now. */
  use(): Shape {
    return this.shape;
  }

  /** Asks for a run. Options as an object; a number is the delay in seconds. */
  dispatch(args?: Args, options?: DispatchOptions | number): Dispatch<Args> {
    const own = this.use();
    const shape = args === undefined || args === null ? own : { ...own, args };
    const dispatch = this.home.send(this.job, shape) as unknown as Dispatch<Args>;
    return options === undefined ? dispatch : dispatch.options(options);
  }

  /** Asks for many runs, group by group: each with its own arguments, all with the shape of the draft. */
  async dispatchMany(all: Iterable<Args> | AsyncIterable<Args>, options?: DispatchOptions): Promise<Run[]> {
    const draft = options === undefined ? this : this.options(options);
    return this.home.sendMany(this.job, all, draft.use());
  }
}

brand(JobDraft, "JobDraft");
