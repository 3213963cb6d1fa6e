import type { Emitter } from "../events/events.ts";
import type { Settings } from "../job/settings.ts";
import type { RunContext } from "../run/context.ts";
import { keyIn } from "../run/lanes.ts";
import { encodePayload, type JsonValue } from "../run/payload.ts";
import { toProgress } from "../run/progress.ts";
import { policyOf } from "../run/retries.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import { type Clock, type Duration, sleep } from "../time.ts";
import { countedAttempts, type EarlyEnd, EndOfTry, snoozeEnd } from "./attempt-ends.ts";

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
  };
  /** The same object each time. */
  readonly signal: AbortSignal;
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
  /** Set when the handler ended its attempt itself, even if it caught the `EndOfTry`. */
  earlyEnd: EarlyEnd | null = null;
  readonly #owner: ContextOwner;
  #isLastAttempt: boolean | null = null;
  #scheduledFor: Date | null = null;
  #createdAt: Date | null = null;
  #progress: string | null = null;
  #writing: Promise<void> | null = null;
  #over: AbortController | null = null;

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

  discard(reason?: string): never {
    return this.#end({ kind: "discarded", reason: reason === undefined ? null : String(reason) });
  }

  transaction<Tx>(work: (tx: Tx) => unknown): Promise<void> {
    return this.#owner.transact(work as (tx: unknown) => unknown);
  }

  /** Whether progress is being written. */
  get isWriting(): boolean {
    return this.#writing !== null;
  }

  /** Writes the last progress, and resolves when it is written. */
  async close(): Promise<void> {
    this.#over?.abort();
    await this.#writing;
  }

  #end(end: EarlyEnd): never {
    this.earlyEnd ??= end;
    throw new EndOfTry(end);
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
