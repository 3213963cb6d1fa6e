import type { RunShape } from "../dispatch/dispatch.ts";
import { formatValue, PunctualError } from "../errors.ts";
import type { BatchAddition } from "../run/batch.ts";
import { EncodedArgs } from "../run/payload.ts";
import type { BatchCallback, BatchMoment } from "../store/batches.ts";
import type { NewRun } from "../store/store.ts";
import { Dispatchable, DraftList, JobDraft } from "./dispatchable.ts";
import type { Preparer } from "./prepare.ts";

export interface BatchMemberParts {
  preparer: Preparer;
  maxPayload: number;
  /** The run whose handler makes the batch; null: none. */
  parentId: number | null;
}

/** A row that is prepared when the batch is sent. */
type Preparation = (within: boolean) => Promise<NewRun>;

/** The members of a batch. Definitions and arguments are captured when a member is added. */
export class BatchMembers {
  readonly #parts: BatchMemberParts;
  readonly #sources: (Preparation | AsyncIterable<NewRun>)[] = [];

  constructor(parts: BatchMemberParts) {
    this.#parts = parts;
  }

  add(addition: BatchAddition | readonly BatchAddition[]): void {
    if (Array.isArray(addition)) {
      for (const one of addition) this.add(one);
      return;
    }
    if (!(addition instanceof DraftList)) {
      this.#sources.push(capture(addition as BatchAddition, "add()", this.#parts));
      return;
    }
    const { preparer, parentId } = this.#parts;
    const { job, all, shape } = addition;
    this.#sources.push(preparer.many(job, all, shape, { parentId, method: "many()" }));
  }

  /** Yields the rows. Members that need no further input are all validated before the first row is yielded. */
  async *rows(within: boolean): AsyncGenerator<NewRun> {
    const begun = await Promise.all(this.#sources.map((source) => begin(source, within)));
    for (const { first, rest } of begun) {
      if (first === null) continue;
      yield first;
      yield* rest;
    }
  }
}

/** Prepares the first row of a source; null: it has none. A list yields its first row once all rows are valid. */
async function begin(
  source: Preparation | AsyncIterable<NewRun>,
  within: boolean,
): Promise<{ first: NewRun | null; rest: AsyncIterable<NewRun> | [] }> {
  if (typeof source === "function") return { first: await source(within), rest: [] };
  const { done, value } = await source[Symbol.asyncIterator]().next();
  return { first: done ? null : value, rest: source };
}

/** The callbacks of a batch. */
export class CallbackDrafts {
  readonly #parts: BatchMemberParts;
  readonly #callbacks: { on: BatchMoment; prepare: Preparation }[] = [];

  constructor(parts: BatchMemberParts) {
    this.#parts = parts;
  }

  add(on: BatchMoment, callback: BatchAddition): void {
    const method = { success: "onSuccess()", failure: "onFailure()", finish: "onFinish()" }[on];
    const prepare = capture(callback, method, this.#parts, (shape) => {
      if (shape.unique === undefined) return;
      throw new PunctualError(
        "INVALID_OPTION",
        `${method} expected a draft without a unique key, got one with ${formatValue(shape.unique.key)}: a callback is dispatched once in any case.`,
      );
    });
    this.#callbacks.push({ on, prepare });
  }

  /** Returns the rows of the callbacks. */
  prepare(within: boolean): Promise<BatchCallback[]> {
    return Promise.all(this.#callbacks.map(async ({ on, prepare }) => ({ on, run: await prepare(within) })));
  }
}

/** Captures a job or a draft as it is now. `method` is the call that an error names. */
function capture(
  addition: BatchAddition,
  method: string,
  { preparer, maxPayload, parentId }: BatchMemberParts,
  check: (shape: RunShape) => void = () => {},
): Preparation {
  if (!(addition instanceof JobDraft || addition instanceof Dispatchable)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${method} expected a job or a draft such as job.draft().args(…), got ${formatValue(addition)}.`,
    );
  }
  const draft = (addition as Dispatchable).draft() as JobDraft<never>;
  const target = preparer.capture(draft.job);
  const shape = { ...draft.use() };
  check(shape);
  if (shape.args !== undefined) shape.args = EncodedArgs.of(shape.args, maxPayload);
  return (within) => preparer.prepare({ target, shape, parentId }, within);
}
