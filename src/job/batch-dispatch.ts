import { CallChain } from "../dispatch/call-chain.ts";
import { formatValue, PunctualError } from "../errors.ts";
import type { Batch, BatchAddition } from "../run/batch.ts";
import type { BatchMoment } from "../store/batches.ts";
import type { BatchMembers } from "./batch-members.ts";

/** The members, callbacks and settings that a batch dispatch has gathered. */
export interface GatheredBatch {
  name: string;
  cancels: boolean;
  isOpen: boolean;
  members: BatchMembers;
  callbacks: BatchCallbacks;
}

/** Callbacks of a batch, as they were captured. */
export interface BatchCallbacks {
  add(on: BatchMoment, callback: BatchAddition): void;
}

/** The part of an instance that a batch dispatch calls. */
export interface BatchHome {
  newMembers(): BatchMembers;
  newCallbacks(): BatchCallbacks;
  /** Makes the batch; with `tx`, in the caller's transaction. */
  create(batch: GatheredBatch, tx: unknown): Promise<Batch>;
  /** Reports the error of a batch that no caller awaited. */
  unawaited(error: unknown): void;
}

/**
 * The dispatch of a batch. Chained calls add members and callbacks. It is sent when the current turn of the event loop
 * ends, awaited or not. Awaiting it returns the handle of the batch.
 */
export class BatchDispatch implements PromiseLike<Batch> {
  readonly #home: BatchHome;
  readonly #batch: GatheredBatch;
  readonly #chain: CallChain<Batch>;

  constructor(name: string, home: BatchHome) {
    this.#home = home;
    this.#batch = {
      name,
      cancels: false,
      isOpen: false,
      members: home.newMembers(),
      callbacks: home.newCallbacks(),
    };
    this.#chain = new CallChain((error) => home.unawaited(error));
    // A nextTick callback set in a microtask runs after all microtasks of this turn: by then the chain is complete.
    queueMicrotask(() => process.nextTick(() => this.#send(undefined)));
  }

  /** Adds members: jobs, drafts of jobs, or the drafts that `many()` returns. */
  add(...additions: BatchAddition[]): this {
    return this.#change(() => {
      for (const addition of additions) this.#batch.members.add(addition);
    });
  }

  /** Dispatches this job or draft once all members have ended, if none failed or was cancelled. */
  onSuccess(callback: BatchAddition): this {
    return this.#change(() => this.#batch.callbacks.add("success", callback));
  }

  /** Dispatches this job or draft when the first member has failed for good. */
  onFailure(callback: BatchAddition): this {
    return this.#change(() => this.#batch.callbacks.add("failure", callback));
  }

  /** Dispatches this job or draft once all members have ended, whatever became of them. */
  onFinish(callback: BatchAddition): this {
    return this.#change(() => this.#batch.callbacks.add("finish", callback));
  }

  /** Whether the first failure cancels the other members. Default: `"continue"`. */
  failures(policy: "continue" | "cancel"): this {
    return this.#change(() => {
      if (policy !== "continue" && policy !== "cancel") {
        throw new PunctualError(
          "INVALID_OPTION",
          `failures() expected "continue" or "cancel", got ${formatValue(policy)}.`,
        );
      }
      this.#batch.cancels = policy === "cancel";
    });
  }

  /** Leaves the batch open: more members may be added until it is sealed. */
  open(): this {
    return this.#change(() => {
      this.#batch.isOpen = true;
    });
  }

  /**
   * Makes the batch in your own open transaction; rolled back, it never existed. Ends the chain: await it before you
   * commit.
   */
  within(tx: unknown): PromiseLike<Batch> {
    this.#change(() => {
      if (tx !== undefined && tx !== null) return;
      throw new PunctualError(
        "INVALID_OPTION",
        `within() expected the handle on which your transaction is open, got ${tx}. Leave within() out to make the batch outside of any.`,
      );
    });
    this.#send(tx);
    return this;
  }

  then<Fulfilled = Batch, Rejected = never>(
    onFulfilled?: ((batch: Batch) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((error: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#chain.awaited().then(onFulfilled, onRejected);
  }

  catch<Rejected = never>(
    onRejected?: ((error: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Batch | Rejected> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Batch> {
    return this.then().finally(onFinally);
  }

  /** An invalid chained call withdraws the whole batch: one without that member is not what the caller wanted. */
  #change(change: () => void): this {
    this.#chain.change(
      change,
      "This batch has been sent: chain its calls in the same turn, before the first await. To add members later, make it with open().",
    );
    return this;
  }

  #send(tx: unknown): void {
    const chain = this.#chain;
    if (!chain.isOpen) return;
    chain.markSent();
    this.#home.create(this.#batch, tx).then(
      (batch) => chain.resolve(batch),
      (error) => chain.reject(error),
    );
  }
}
