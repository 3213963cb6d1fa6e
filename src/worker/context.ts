import type { Emitter } from "../events/events.ts";
import type { Settings } from "../job/settings.ts";
import type { RunContext } from "../run/context.ts";
import { keyIn } from "../run/lanes.ts";
import { encodePayload, type JsonValue } from "../run/payload.ts";
import { policyOf } from "../run/retries.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import { type Clock, type Duration, sleep } from "../time.ts";
import { type EarlyEnd, EndOfTry, snoozeEnd } from "./attempt-ends.ts";

/** Shortest interval between two writes of progress. */
const PROGRESS_EVERY = 100;

export interface ContextParts {
  store: Pick<Store, "progress">;
  clock: Clock;
  events: Pick<Emitter, "report">;
  log(run: ClaimedRun, message: string, data: unknown): void;
  /** Runs `work` and completes the run in one transaction. */
  transact(work: (tx: unknown) => unknown): Promise<void>;
}

export class Context implements RunContext {
  readonly id: number;
  readonly name: string;
  readonly queue: string;
  readonly key: string | null;
  readonly tags: readonly string[];
  readonly attempt: number;
  readonly maxAttempts: number;
  isLastAttempt: boolean;
  readonly crashes: number;
  readonly scheduledFor: Date;
  readonly createdAt: Date;
  readonly parentId: number | null;
  readonly traceparent: string | null;
  readonly signal: AbortSignal;
  /** Set when the handler ended its attempt itself, even if it caught the `EndOfTry`. */
  earlyEnd: EarlyEnd | null = null;
  readonly #run: ClaimedRun;
  readonly #parts: ContextParts;
  #progress: string | null = null;
  #writing: Promise<void> | null = null;
  /** Created with the first progress: an AbortController for each run would cost more than the rest of the context. */
  #over: AbortController | null = null;

  constructor(run: ClaimedRun, settings: Settings, signal: AbortSignal, parts: ContextParts) {
    this.#run = run;
    this.#parts = parts;
    this.id = run.id;
    this.name = run.name;
    this.queue = run.queue;
    this.key = run.owner === null ? keyIn(run.lane, run.name) : null;
    this.tags = run.tags;
    this.attempt = run.attempts;
    this.crashes = run.crashes;
    this.maxAttempts = policyOf(settings.retries, run.retries).max;
    this.isLastAttempt = run.attempts - run.crashes >= this.maxAttempts;
    this.scheduledFor = new Date(run.tickAt ?? run.runAt);
    this.createdAt = new Date(run.createdAt);
    this.parentId = run.parentId;
    this.traceparent = run.traceparent;
    this.signal = signal;
  }

  progress(value: JsonValue): void {
    this.#progress = encodePayload(value, undefined, "progress") ?? null;
    this.#over ??= new AbortController();
    this.#writing ??= this.#writeProgress();
  }

  log(message: string, data?: unknown): void {
    this.#parts.log(this.#run, toText(message), data);
  }

  snooze(delay: Duration): never {
    return this.#end(snoozeEnd(delay));
  }

  discard(reason?: string): never {
    return this.#end({ kind: "discarded", reason: reason === undefined ? null : String(reason) });
  }

  transaction<Tx>(work: (tx: Tx) => unknown): Promise<void> {
    return this.#parts.transact(work as (tx: unknown) => unknown);
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
    while (this.#progress !== null) {
      const latest = this.#progress;
      this.#progress = null;
      try {
        await this.#parts.store.progress(this.#run, latest);
      } catch (error) {
        this.#parts.events.report(error, `writing the progress of run ${this.id}`);
      }
      await sleep(this.#parts.clock, PROGRESS_EVERY, this.#over?.signal);
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
