import type { Dispatch } from "../dispatch/dispatch.ts";
import type { DispatchOptions, Shape, UniqueOptions } from "../dispatch/shape.ts";
import { brand } from "../errors.ts";
import type { Run } from "../run/run.ts";
import type { Duration, Instant } from "../time.ts";
import type { DispatchArguments } from "./arguments.ts";
import type { JobTypes } from "./catalog.ts";
import { JobDraft } from "./draft.ts";

/** How a job reaches the instance it belongs to. */
export interface Home {
  send(job: Dispatchable<never>, shape: Shape): Dispatch<never, never>;
  sendMany(
    job: Dispatchable<never>,
    all: Iterable<unknown> | AsyncIterable<unknown>,
    shape: Shape,
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
