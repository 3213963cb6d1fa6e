import type { RunShape } from "../dispatch/dispatch.ts";
import { brand } from "../errors.ts";
import type { Dispatchable } from "./dispatchable.ts";

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
