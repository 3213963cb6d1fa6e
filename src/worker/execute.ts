import { isA, PermanentError, PunctualError } from "../errors.ts";
import type { Handler } from "../job/handlers.ts";
import { type StandardSchema, validate } from "../job/schema.ts";
import type { Settings } from "../job/settings.ts";
import type { Emitter } from "../observe/events.ts";
import { backoffDelay } from "../run/backoff.ts";
import { currentRun } from "../run/current.ts";
import { decodePayload, encodeResult } from "../run/payload.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { Context } from "./context.ts";
import { abortReasons, EndOfTry } from "./ends.ts";

/** How long a handler has to return after its signal aborted. */
const GRACE = 5000;

/** What a worker needs of a job to run it. */
export interface Runnable {
  handler: Handler<unknown>;
  schema: StandardSchema | null;
  settings: Settings;
}

/** What one try came to. */
export type Result =
  /** `written`: in the handler's own transaction already. */
  | { outcome: "completed"; result: string | null; value: unknown; written: boolean }
  | { outcome: "retried"; error: unknown; delay: number }
  | { outcome: "failed"; error: unknown }
  | { outcome: "skipped" | "cancelled"; reason: string | null }
  | { outcome: "snoozed"; delay: number }
  | { outcome: "released" }
  /** The lease is lost: nothing may be written any more. */
  | { outcome: null };

export interface ExecuteParts {
  store: Store;
  clock: Clock;
  events: Emitter;
  random(): number;
  /** The instance: what a handler dispatches through it gets this run as its parent. */
  instance: object;
  /** Completes the run in the transaction of `work`; false if the lease is lost. */
  completeWith(run: ClaimedRun, work: (tx: unknown) => unknown): Promise<boolean>;
}

/** One try at one run, in this process. */
export class Execution {
  readonly run: ClaimedRun;
  /** Settles when it is known what the try came to. Never rejects. */
  readonly result: Promise<Result>;
  /** Settles when the handler has really returned: until then it uses this process, whatever was written. */
  readonly returned: Promise<void>;
  readonly #controller = new AbortController();
  readonly #job: Runnable;
  readonly #parts: ExecuteParts;
  readonly #context: Context;
  #abandoned = Promise.withResolvers<never>();
  readonly #pending = new Set<Promise<unknown>>();
  #completed = false;
  #cancelTimers: (() => void)[] = [];

  constructor(run: ClaimedRun, job: Runnable, parts: ExecuteParts) {
    this.run = run;
    this.#job = job;
    this.#parts = parts;
    this.#context = new Context(run, job.settings, this.#controller.signal, {
      ...parts,
      transact: (work) => this.#transact(work),
    });
    this.#abandoned.promise.catch(() => {});
    const timeout = run.timeout ?? job.settings.timeout;
    if (timeout !== null) this.#after(timeout, () => this.abort(abortReasons.timeout(timeout)));
    this.result = currentRun.run({ id: run.id, instance: parts.instance }, () => this.#attempt());
    this.returned = this.result.then(() => (this.#pending.size > 0 ? this.#allReturned() : undefined));
  }

  /** Tells the handler why; if it has not returned some seconds later, the try ends without it. */
  abort(reason: PunctualError): void {
    if (this.#controller.signal.aborted) return;
    this.#controller.abort(reason);
    this.#after(GRACE, () => this.#abandoned.reject(reason));
  }

  async #allReturned(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  async #attempt(): Promise<Result> {
    const result = await this.#pipeline();
    for (const cancel of this.#cancelTimers) cancel();
    await this.#context.close();
    if (this.#completed) return { outcome: "completed", result: null, value: undefined, written: true };
    return this.#code() === "LEASE_LOST" ? { outcome: null } : result;
  }

  /** Filters → onBefore → handler → onSuccess | onError → onAfter → outcome. */
  async #pipeline(): Promise<Result> {
    let args: unknown;
    let result: Result;
    const { settings } = this.#job;
    try {
      const { expiresAt, claimedAt, attempts } = this.run;
      if (attempts === 1 && expiresAt !== null && claimedAt > expiresAt) {
        return { outcome: "skipped", reason: "expired before it started" };
      }
      args = decodePayload(this.run.args) ?? {};
      if (this.#job.schema) args = await this.#call(() => validated(this.#job.schema!, args, this.run.name));
      const refusal = await this.#refusal(args);
      if (refusal) return { outcome: "skipped", reason: refusal };
      for (const hook of settings.before) await this.#call(() => hook(args as never, this.#context));
      const value = await this.#call(() => this.#job.handler(args, this.#context));
      result = this.#ended() ?? this.#completion(value);
    } catch (error) {
      result = this.#completed ? this.#lateFailure(error) : (this.#ended() ?? this.#failure(error));
    }
    this.#renewPatience();
    if (result.outcome === "completed") {
      for (const hook of settings.success)
        await this.#report("onSuccess", () => hook(args as never, this.#context));
    } else if (result.outcome === "failed" || result.outcome === "retried") {
      const { error } = result;
      for (const hook of settings.error)
        await this.#report("onError", () => hook(error, args as never, this.#context));
    }
    for (const hook of settings.after)
      await this.#report("onAfter", () => hook(args as never, this.#context));
    return result;
  }

  /** A handler that was given up on has used its own time, not that of the hooks after it. */
  #renewPatience(): void {
    const { aborted, reason } = this.#controller.signal;
    if (!aborted) return;
    const abandoned = Promise.withResolvers<never>();
    abandoned.promise.catch(() => {});
    this.#abandoned = abandoned;
    this.#after(GRACE, () => abandoned.reject(reason));
  }

  async #refusal(args: unknown): Promise<string | null> {
    const { when, skip } = this.#job.settings;
    for (const filter of when) {
      if (!(await this.#call(() => filter(args as never, this.#context)))) return "when() said no";
    }
    for (const filter of skip) {
      if (await this.#call(() => filter(args as never, this.#context))) return "skip() said yes";
    }
    return null;
  }

  /** The user's code, waited for until it returns or the try is given up. */
  #call<Value>(code: () => Value | Promise<Value>): Promise<Value> {
    const returning = (async () => code())();
    this.#pending.add(returning);
    const done = () => this.#pending.delete(returning);
    returning.then(done, done);
    return Promise.race([returning, this.#abandoned.promise]);
  }

  /** Hooks after the handler change nothing by throwing. */
  async #report(hook: string, code: () => unknown): Promise<void> {
    try {
      await this.#call(code);
    } catch (error) {
      if (this.#code() !== "LEASE_LOST") {
        this.#parts.events.report(error, `${hook} of "${this.run.name}", run ${this.run.id}`);
      }
    }
  }

  #ended(): Result | null {
    const { ending } = this.#context;
    if (ending === null) return null;
    return ending.kind === "snoozed"
      ? { outcome: "snoozed", delay: ending.delay }
      : { outcome: "cancelled", reason: ending.reason };
  }

  #completion(value: unknown): Result {
    const { json, dropped } = encodeResult(value);
    if (dropped) {
      const error = new PunctualError("INVALID_PAYLOAD", `its result is not kept: ${dropped}`);
      this.#parts.events.report(error, `run ${this.run.id} of "${this.run.name}" completed, but`);
    }
    return { outcome: "completed", result: json, value, written: false };
  }

  /** Its transaction has completed the run: what comes after cannot fail it. */
  #lateFailure(error: unknown): Result {
    this.#parts.events.report(error, `run ${this.run.id} of "${this.run.name}", after it was completed`);
    return { outcome: "completed", result: null, value: undefined, written: true };
  }

  #failure(thrown: unknown): Result {
    if (isA(thrown, EndOfTry)) return { outcome: "failed", error: thrown };
    const code = this.#code();
    if (code === "RUN_CANCELLED") return { outcome: "cancelled", reason: null };
    if (code === "SHUTDOWN") return { outcome: "released" };
    // What a handler throws after a timeout is the timeout's doing.
    const error = code === "RUN_TIMED_OUT" ? this.#controller.signal.reason : thrown;
    const { retries } = this.#job.settings;
    const failures = this.run.attempts - this.run.crashes;
    if (failures >= retries.max || !this.#worthRetrying(error)) return { outcome: "failed", error };
    return { outcome: "retried", error, delay: backoffDelay(retries, failures, error, this.#parts.random) };
  }

  #worthRetrying(error: unknown): boolean {
    if (isA(error, PermanentError)) return false;
    if (isA(error, PunctualError) && (error.code === "INVALID_ARGS" || error.code === "INVALID_PAYLOAD"))
      return false;
    try {
      const answer: unknown = this.#job.settings.retries.when?.(error) ?? true;
      // An async function is a mistake here; its rejection must not take the process down as well.
      if (answer instanceof Promise) answer.catch(() => {});
      return Boolean(answer);
    } catch (fault) {
      this.#parts.events.report(fault, `retries when of "${this.run.name}"`);
      return true;
    }
  }

  async #transact(work: (tx: unknown) => unknown): Promise<void> {
    if (!(await this.#parts.completeWith(this.run, work))) {
      this.abort(abortReasons.leaseLost());
      throw abortReasons.leaseLost();
    }
    this.#completed = true;
  }

  #code(): string | null {
    const { aborted, reason } = this.#controller.signal;
    return aborted && reason instanceof PunctualError ? reason.code : null;
  }

  #after(ms: number, callback: () => void): void {
    this.#cancelTimers.push(this.#parts.clock.after(ms, callback));
  }
}

function validated(schema: StandardSchema, args: unknown, name: string): Promise<unknown> {
  return validate(schema as StandardSchema<unknown, unknown>, args, name);
}
