import type { Emitter } from "../events/events.ts";
import type { Settings } from "../job/settings.ts";
import { Batch, type BatchAddition, toBatchLink } from "../run/batch.ts";
import type { RunContext } from "../run/context.ts";
import { keyIn } from "../run/lanes.ts";
import { encodePayload, type JsonValue } from "../run/payload.ts";
import { toProgress } from "../run/progress.ts";
import { policyOf } from "../run/retries.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import { type Clock, type Duration, sleep } from "../time.ts";
import {
  completedAlready,
  countedAttempts,
  type EarlyEnd,
  EndOfAttempt,
  slowDownEnd,
  snoozeEnd,
} from "./attempt-ends.ts";
import { mustAwait } from "./hook-calls.ts";
import type { HandlerBatches } from "./parts.ts";

/** Shortest interval between two writes of progress. */
const PROGRESS_EVERY = 100;

/** The attempt that a context belongs to. */
export interface ContextOwner {
  readonly run: ClaimedRun;
  readonly job: { readonly settings: Pick<Settings, "retries"> };
  readonly parts: {
    store: Pick<Store, "progress">;
    clock: Clock;
    events: Pick<Emitter, "report">;
    log(run: ClaimedRun, message: string, data: unknown): void;
    batches: HandlerBatches;
  };
  /** The same object each time. */
  readonly signal: AbortSignal;
  /** Whether a transaction of the handler has completed the run. */
  readonly isCompleted: boolean;
  /** Runs `work` and completes the run in one transaction. */
  transact(work: (tx: unknown) => unknown): Promise<void>;
}

/** Creates objects and computed values when they are read: most handlers read few of them (note 34). */
export class Context implements RunContext {
  readonly id: number;
  readonly name: string;
  readonly queue: string;
  readonly tags: readonly string[];
  readonly attempt: number;
  readonly crashes: number;
  readonly parentId: number | null;
  readonly traceparent: string | null;
  /** Set when the handler ended its attempt itself, even if it caught the `EndOfAttempt`. */
  earlyEnd: EarlyEnd | null = null;
  readonly #owner: ContextOwner;
  #isLastAttempt: boolean | null = null;
  #scheduledFor: Date | null = null;
  #createdAt: Date | null = null;
  #progress: string | null = null;
  #writing: Promise<void> | null = null;
  #over: AbortController | null = null;
  #batch: Batch | null = null;
  /** Calls of `batch.add()` that have not returned. */
  #adding: Set<Promise<unknown>> | null = null;

  constructor(owner: ContextOwner) {
    const { run } = owner;
    this.#owner = owner;
    this.id = run.id;
    this.name = run.name;
    this.queue = run.queue;
    this.tags = run.tags;
    this.attempt = run.attempts;
    this.crashes = run.crashes;
    this.parentId = run.parentId;
    this.traceparent = run.traceparent;
  }

  get key(): string | null {
    const { owner, lane, name } = this.#owner.run;
    return owner === null ? keyIn(lane, name) : null;
  }

  get maxAttempts(): number {
    const { run, job } = this.#owner;
    return policyOf(job.settings.retries, run.retries).max;
  }

  get isLastAttempt(): boolean {
    return this.#isLastAttempt ?? countedAttempts(this.#owner.run) >= this.maxAttempts;
  }

  set isLastAttempt(isLast: boolean) {
    this.#isLastAttempt = isLast;
  }

  get scheduledFor(): Date {
    const { tickAt, runAt } = this.#owner.run;
    this.#scheduledFor ??= new Date(tickAt ?? runAt);
    return this.#scheduledFor;
  }

  get createdAt(): Date {
    this.#createdAt ??= new Date(this.#owner.run.createdAt);
    return this.#createdAt;
  }

  get signal(): AbortSignal {
    return this.#owner.signal;
  }

  get batch(): Batch | null {
    const link = toBatchLink(this.#owner.run.batchId);
    if (link === null) return null;
    const { control, addAsMember } = this.#owner.parts.batches;
    const addToBatch = (id: number, additions: BatchAddition[]) =>
      this.#track(link.isMember ? addAsMember(id, additions) : control.addToBatch(id, additions));
    this.#batch ??= new Batch(link.batch, 0, {
      addToBatch,
      batchStatus: (id) => control.batchStatus(id),
      sealBatch: (id) => control.sealBatch(id),
      cancelBatch: (id) => control.cancelBatch(id),
      retryBatch: (id) => control.retryBatch(id),
      waitForBatch: (id, options) => control.waitForBatch(id, options),
    });
    return this.#batch;
  }

  /** Keeps an add until it has returned: if the outcome of a member were written before, the batch could finish. */
  #track(adding: Promise<number>): Promise<number> {
    this.#adding ??= new Set();
    const settled = adding.then(
      () => {},
      () => {},
    );
    this.#adding.add(settled);
    void settled.then(() => this.#adding!.delete(settled));
    return adding;
  }

  /** Returns everything that a log line about the run shows. */
  toJSON(): object {
    const { earlyEnd, ...own } = this;
    const { key, maxAttempts, isLastAttempt, scheduledFor, createdAt } = this;
    return { ...own, key, maxAttempts, isLastAttempt, scheduledFor, createdAt };
  }

  progress(value: JsonValue, of?: number): void {
    this.#progress = encodePayload(toProgress(value, of), undefined, "progress") ?? null;
    this.#over ??= new AbortController();
    this.#writing ??= this.#writeProgress();
  }

  log(message: string, data?: unknown): void {
    const { parts, run } = this.#owner;
    parts.log(run, toText(message), data);
  }

  snooze(delay: Duration): never {
    return this.#end(snoozeEnd(delay));
  }

  slowDown(delay: Duration): never {
    return this.#end(slowDownEnd(this.#owner.run, delay));
  }

  discard(reason?: string): never {
    return this.#end({ kind: "discarded", reason: reason === undefined ? null : String(reason) });
  }

  async transaction<Tx>(work: (tx: Tx) => unknown): Promise<void> {
    this.#refuseEnded();
    return this.#owner.transact(this.#unlessEnded(work as (tx: unknown) => unknown));
  }

  /** Whether progress is being written, or members are being added. */
  get isWriting(): boolean {
    return this.#writing !== null || (this.#adding?.size ?? 0) > 0;
  }

  /** Writes the last progress, and resolves when it is written and all members are added. */
  async close(): Promise<void> {
    this.#over?.abort();
    await Promise.all([this.#writing, ...(this.#adding ?? [])]);
  }

  /** Rethrows the error of `snooze()`, `slowDown()` or `discard()` if the handler caught it: the attempt has ended. */
  #refuseEnded(): void {
    if (this.earlyEnd !== null) throw new EndOfAttempt(this.earlyEnd);
  }

  /** Returns `work`, followed by a check that rolls its transaction back if the handler has ended its attempt in it. */
  #unlessEnded(work: (tx: unknown) => unknown): (tx: unknown) => unknown {
    const check = <Value>(value: Value): Value => {
      this.#refuseEnded();
      return value;
    };
    const checked = (tx: unknown) => {
      const returned = work(tx);
      return mustAwait(returned) ? returned.then(check) : check(returned);
    };
    // SQLite recognises an async function by this tag, and refuses it before it is called.
    const tag: unknown = Reflect.get(Object(work), Symbol.toStringTag);
    return tag === undefined ? checked : Object.defineProperty(checked, Symbol.toStringTag, { value: tag });
  }

  #end(end: EarlyEnd): never {
    const { run, isCompleted } = this.#owner;
    if (isCompleted) throw completedAlready(run, end);
    this.earlyEnd ??= end;
    throw new EndOfAttempt(end);
  }

  async #writeProgress(): Promise<void> {
    const { run, parts } = this.#owner;
    while (this.#progress !== null) {
      const latest = this.#progress;
      this.#progress = null;
      try {
        await parts.store.progress(run, latest);
      } catch (error) {
        parts.events.report(error, `writing the progress of run ${this.id}`);
      }
      await sleep(parts.clock, PROGRESS_EVERY, this.#over?.signal);
    }
    this.#writing = null;
  }
}

function toText(message: unknown): string {
  try {
    return String(message);
  } catch {
    return "(message without text)";
  }
}
