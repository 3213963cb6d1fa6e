import type { Dispatch } from "../dispatch/dispatch.ts";
import { type DispatchOptions, type Shape, Shaped } from "../dispatch/shape.ts";

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
  readonly #shape: Shape;
  readonly #send: (shape: Shape) => Dispatch<Args>;

  constructor(send: (shape: Shape) => Dispatch<Args>, shape: Shape = {}) {
    super();
    this.#send = send;
    this.#shape = shape;
  }

  protected override with(shape: () => Shape): this {
    return new JobDraft<Args>(this.#send, { ...this.#shape, ...shape() }) as this;
  }

  dispatch(args?: Args): Dispatch<Args> {
    return this.#send(args === undefined ? this.#shape : { ...this.#shape, args });
  }
}

/** What options come to. */
export function shapeOf(options: DispatchOptions): Shape {
  let shaped: Shape = {};
  new JobDraft((shape) => {
    shaped = shape;
    return undefined as never;
  })
    .options(options)
    .dispatch();
  return shaped;
}
