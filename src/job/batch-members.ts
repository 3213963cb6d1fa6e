import type { RunShape } from "../dispatch/dispatch.ts";
import { formatValue, PunctualError } from "../errors.ts";
import type { BatchAddition } from "../run/batch.ts";
import { EncodedArgs } from "../run/payload.ts";
import type { BatchCallback, BatchMoment } from "../store/batches.ts";
import type { NewRun } from "../store/store.ts";
import { Dispatchable, JobDraft } from "./dispatchable.ts";
import { DraftList } from "./draft-list.ts";
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
      this.#sources.push(captured(addition as BatchAddition, "add()", this.#parts));
      return;
    }
    const { preparer, parentId } = this.#parts;
    const { job, all, shape } = addition;
    this.#sources.push(preparer.many(job, all, shape, { parentId, method: "many()" }));
  }

  /** Yields the rows. Those that need no further input are all validated before the first one is yielded. */
  async *rows(within: boolean): AsyncGenerator<NewRun> {
    const first = this.#sources.map((source) => {
      if (typeof source === "function") return source(within);
      return { rest: source, next: source[Symbol.asyncIterator]().next() };
    });
    // A list yields its first row once all of its rows are valid.
    const begun = await Promise.all(
      first.map(async (one) => ("rest" in one ? { rest: one.rest, row: await one.next } : await one)),
    );
    for (const one of begun) {
      if (!("rest" in one)) yield one;
      else if (!one.row.done) {
        yield one.row.value;
        yield* one.rest;
      }
    }
  }
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
    const prepare = captured(callback, method, this.#parts, (shape) => {
      if (shape.unique === undefined) return;
      throw new PunctualError(
        "INVALID_OPTION",
        `${method} expected a draft without a unique key, got one with ${formatValue(shape.unique.key)}: a callback is dispatched once in any case.`,
      );
    });
    this.#callbacks.push({ on, prepare });
  }

  prepared(within: boolean): Promise<BatchCallback[]> {
    return Promise.all(this.#callbacks.map(async ({ on, prepare }) => ({ on, run: await prepare(within) })));
  }
}

/** Captures a job or a draft as it is now. */
function captured(
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
