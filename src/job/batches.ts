import type { BatchSender } from "../dispatch/batch-sender.ts";
import type { Batch, BatchAddition } from "../run/batch.ts";
import { checkName } from "../validate/names.ts";
import { BatchDispatch, type BatchHome, type GatheredBatch } from "./batch-dispatch.ts";
import { BatchMembers, CallbackDrafts } from "./batch-members.ts";
import type { Preparer } from "./prepare.ts";

export interface BatchesParts {
  preparer: Preparer;
  sender: BatchSender;
  maxPayload: number;
  /** Returns the run whose handler calls; null: none. Throws if the instance was stopped. */
  parentId(): number | null;
  /** Lets the instance wait for this before it stops. */
  track(sending: Promise<void>): void;
  unawaited(error: unknown): void;
}

/** Makes batches, and adds members to them. */
export class Batches implements BatchHome {
  readonly #parts: BatchesParts;

  constructor(parts: BatchesParts) {
    this.#parts = parts;
  }

  begin(name: string): BatchDispatch {
    return new BatchDispatch(checkName(name, "the name of a batch"), this);
  }

  /** `byMember`: a running member of the batch adds them. */
  add(id: number, additions: readonly BatchAddition[], byMember: boolean): Promise<number> {
    const members = this.newMembers();
    for (const addition of additions) members.add(addition);
    const adding = this.#parts.sender.add(id, members.rows(false), byMember);
    this.#track(adding);
    return adding;
  }

  newMembers(): BatchMembers {
    return new BatchMembers(this.#memberParts());
  }

  newCallbacks(): CallbackDrafts {
    return new CallbackDrafts(this.#memberParts());
  }

  create({ members, callbacks, ...batch }: GatheredBatch, tx: unknown): Promise<Batch> {
    const within = tx !== undefined;
    const plan = {
      ...batch,
      callbacks: () => (callbacks as CallbackDrafts).prepare(within),
      members: members.rows(within),
    };
    const creating = this.#parts.sender.create(plan, tx);
    this.#track(creating);
    return creating;
  }

  unawaited(error: unknown): void {
    this.#parts.unawaited(error);
  }

  #memberParts() {
    const { preparer, maxPayload } = this.#parts;
    return { preparer, maxPayload, parentId: this.#parts.parentId() };
  }

  #track(sending: Promise<unknown>): void {
    this.#parts.track(
      sending.then(
        () => {},
        () => {},
      ),
    );
  }
}
