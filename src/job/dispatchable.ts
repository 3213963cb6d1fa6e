import type { Dispatch } from "../dispatch/dispatch.ts";
import type { DispatchOptions, Shape } from "../dispatch/shape.ts";
import { brand } from "../errors.ts";
import type { Run } from "../run/run.ts";
import type { Duration, Instant } from "../time.ts";
import { JobDraft } from "./draft.ts";

/** How a job reaches the instance it belongs to. */
export interface Home {
  send(job: Dispatchable<never>, shape: Shape): Dispatch<never>;
  sendMany(
    job: Dispatchable<never>,
    all: Iterable<unknown> | AsyncIterable<unknown>,
    options?: DispatchOptions,
  ): Promise<Run[]>;
}

/** A job that can be dispatched: defined here, or declared because another program defines it. */
export class Dispatchable<Args = unknown> {
  readonly name: string;
  readonly #home: Home;

  constructor(name: string, home: Home) {
    this.name = name;
    this.#home = home;
  }

  /** Asks for a run; without arguments it gets those of `args()`. Options as an object; a number is the delay in seconds. */
  dispatch(args?: Args, options?: DispatchOptions | number): Dispatch<Args> {
    const shape = args === undefined || args === null ? {} : { args };
    const dispatch = this.#home.send(this as never, shape) as unknown as Dispatch<Args>;
    return options === undefined ? dispatch : dispatch.options(options);
  }

  /** Asks for many runs, group by group: each with its own arguments, all with the same options. */
  dispatchMany(all: Iterable<Args> | AsyncIterable<Args>, options?: DispatchOptions): Promise<Run[]> {
    return this.#home.sendMany(this as never, all, options);
  }

  /** A draft of this job that is due later. The job itself is not changed. */
  delay(delay: Duration): JobDraft<Args> {
    return this.draft().delay(delay);
  }

  /** A draft of this job that is due at an instant. The job itself is not changed. */
  at(instant: Instant): JobDraft<Args> {
    return this.draft().at(instant);
  }

  /** A dispatch of this job that is not sent until its own `dispatch()`. */
  draft(): JobDraft<Args> {
    return new JobDraft<Args>((shape) => this.#home.send(this as never, shape) as never);
  }
}

brand(Dispatchable, "Dispatchable");
