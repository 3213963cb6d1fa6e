import { isA, type PunctualError } from "../errors.ts";
import { computeMissing } from "../job/named-limits.ts";
import { type StandardSchema, validate } from "../job/schema.ts";
import { currentRun } from "../run/context.ts";
import { toError } from "../run/failure.ts";
import { decodePayload } from "../run/payload.ts";
import type { ClaimedRun } from "../store/store.ts";
import {
  ABORT_GRACE,
  abortReasons,
  afterFailure,
  completion,
  EndOfAttempt,
  endedEarly,
  interruption,
  isWorthRetrying,
  repeatedTransaction,
  WRITTEN,
} from "./attempt-ends.ts";
import { Context, type ContextOwner } from "./context.ts";
import type { Execution, ExecutionObserver, Result, RunnableJob } from "./executor.ts";
import { HookCalls, hookAbandoned, mustAwait } from "./hook-calls.ts";
import type { ExecutionParts } from "./parts.ts";

/**
 * One attempt at one run, in this process. Synchronous code of the user is not awaited: an attempt without any
 * asynchronous code creates no promise, and most of its parts only when they are used (note 34).
 */
export class LocalExecution implements Execution, ContextOwner {
  readonly run: ClaimedRun;
  readonly job: RunnableJob;
  readonly parts: ExecutionParts;
  readonly isQueued = false;
  duration = 0;
  isCompleted = false;
  readonly #observer: ExecutionObserver | null;
  readonly #context: Context;
  #args: unknown = undefined;
  #startedAt = 0;
  /** Why the attempt was aborted. */
  #reason: PunctualError | null = null;
  #controller: AbortController | null = null;
  #hooks: HookCalls | null = null;
  /** Whether the handler has returned a promise that has not settled. */
  #isPending = false;
  /** Whether the attempt ends without its handler. */
  #isAbandoned = false;
  /** Whether a transaction of the handler is open. */
  #isTransacting = false;
  /** Whether the handler has ended and only hooks are left to abort. */
  #inHooks = false;
  /** Whether the observer knows the result. */
  #isOver = false;
  #cancelTimers: (() => void)[] | null = null;

  /** `observer` null: only `callCrashHooks` is called. */
  constructor(run: ClaimedRun, job: RunnableJob, parts: ExecutionParts, observer: ExecutionObserver | null) {
    this.run = run;
    this.job = job;
    this.parts = parts;
    this.#observer = observer;
    this.#context = new Context(this);
  }

  start(): void {
    this.#startedAt = this.parts.clock.monotonic();
    // The observer is called outside the run's context, so that runs which it dispatches do not get this run as parent.
    const ending = this.#inContext(() => this.#attempt());
    if (ending instanceof Promise) this.#wait(ending);
    else this.#conclude(ending);
  }

  #wait(ending: Promise<Result | null>): void {
    void ending.then((result) => this.#conclude(result));
    const timeout = this.run.timeout ?? this.job.settings.timeout;
    if (timeout === null) return;
    const elapsed = this.parts.clock.monotonic() - this.#startedAt;
    this.#after(timeout - elapsed, () => this.abort(abortReasons.timeout(timeout)));
  }

  /** Calls the hooks of a run that its crashes have ended, in place of an attempt. */
  async callCrashHooks(error: PunctualError): Promise<void> {
    await this.#inContext(() => this.#afterCrash(error));
    await this.#written();
  }

  get hasReturned(): boolean {
    return !this.#isPending;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: PunctualError): void {
    if (this.#reason) return;
    // The handler's transaction has completed the run, which ended its lease.
    if (this.isCompleted && reason.code === "LEASE_LOST") return;
    const cause = this.#inHooks && reason.code === "SHUTDOWN" ? abortReasons.shutdownOfHook() : reason;
    this.#reason = cause;
    this.#controller?.abort(cause);
    this.#after(ABORT_GRACE, () => this.#abandon(cause));
  }

  async transact(work: (tx: unknown) => unknown): Promise<void> {
    if (this.isCompleted || this.#isTransacting) throw repeatedTransaction(this.run, this.isCompleted);
    const { keep } = this.job.settings;
    this.#isTransacting = true;
    try {
      if (!(await this.parts.completeWith(this.run, work, keep))) {
        this.abort(abortReasons.leaseLost());
        throw abortReasons.leaseLost();
      }
      this.isCompleted = true;
    } finally {
      this.#isTransacting = false;
    }
  }

  #inContext<Value>(code: () => Value): Value {
    return currentRun.run({ id: this.run.id, instance: this.parts.engine }, code);
  }

  /** Stops waiting for the user's code. */
  #abandon(cause: PunctualError): void {
    this.#hooks?.abandon(cause);
    if (!this.#isPending || this.#isAbandoned) return;
    this.#isAbandoned = true;
    const ending = this.#inContext(async () => this.#threw(cause));
    void ending.then((result) => this.#conclude(result));
  }

  /** `result` null: the attempt was abandoned before, and its handler has returned now. */
  #conclude(result: Result | null): void {
    if (result === null) {
      if (this.#isOver) this.#free();
      return;
    }
    this.duration = this.parts.clock.monotonic() - this.#startedAt;
    if (this.#cancelTimers) for (const cancel of this.#cancelTimers) cancel();
    if (this.#hooks?.writing || this.#context.isWriting) void this.#written().then(() => this.#end(result));
    else this.#end(result);
  }

  async #written(): Promise<void> {
    await this.#hooks?.writing;
    await this.#context.close();
  }

  #end(result: Result): void {
    const isLost = this.#reason?.code === "LEASE_LOST";
    this.#isOver = true;
    this.#observer?.ended(this, this.isCompleted ? WRITTEN : isLost ? { outcome: null } : result);
    if (!this.#isPending) this.#free();
  }

  #free(): void {
    this.parts.freed?.();
    this.#observer?.returned(this);
  }

  /** Filters → onBefore → handler → onSuccess | onError → onAfter → outcome. */
  #attempt(): Result | Promise<Result | null> {
    const { run, job } = this;
    const { when, skip, before } = job.settings;
    const { expiresAt, claimedAt, attempts, uncounted } = run;
    if (attempts - uncounted === 1 && expiresAt !== null && claimedAt > expiresAt) {
      return { outcome: "skipped", reason: "expired before it started" };
    }
    try {
      this.#args = decodePayload(run.args) ?? {};
      if (run.unkeyed) return { outcome: "released", ...computeMissing(run, job.settings, this.#args) };
    } catch (error) {
      return this.#threw(error);
    }
    const isPrepared = !job.schema && when.length === 0 && skip.length === 0 && before.length === 0;
    return isPrepared ? this.#callHandler() : this.#prepare();
  }

  async #prepare(): Promise<Result | null> {
    try {
      await this.#validate();
      const refusal = await this.#refusal();
      if (refusal) return { outcome: "skipped", reason: refusal };
      for (const hook of this.job.settings.before)
        await this.#call("onBefore", () => hook(this.#args as never, this.#context));
    } catch (error) {
      return this.#threw(error);
    }
    return this.#callHandler();
  }

  #callHandler(): Result | Promise<Result | null> {
    let returned: unknown;
    try {
      returned = this.job.handler(this.#args, this.#context);
      if (mustAwait(returned)) return this.#whenReturned(returned);
    } catch (error) {
      return this.#threw(error);
    }
    return this.#succeeded(returned);
  }

  /** Resolves to null if the attempt was abandoned before the handler returned. */
  #whenReturned(returned: PromiseLike<unknown>): Promise<Result | null> {
    this.#isPending = true;
    return Promise.resolve(returned).then(
      (value) => (this.#hasEnded() ? this.#succeeded(value) : null),
      (error) => (this.#hasEnded() ? this.#threw(error) : null),
    );
  }

  #hasEnded(): boolean {
    this.#isPending = false;
    return !this.#isAbandoned;
  }

  #succeeded(value: unknown): Result | Promise<Result> {
    if (this.isCompleted) return this.#withHooks(WRITTEN);
    return this.#withHooks(this.#endedEarly() ?? completion(this.run, value, this.parts));
  }

  #threw(error: unknown): Result | Promise<Result> {
    return this.#withHooks(
      this.isCompleted ? this.#lateFailure(error) : (this.#endedEarly() ?? this.#failure(error)),
    );
  }

  #withHooks(result: Result): Result | Promise<Result> {
    const { success, error, after } = this.job.settings;
    this.#inHooks = true;
    return success.length + error.length + after.length === 0 ? result : this.#callHooks(result);
  }

  async #afterCrash(error: PunctualError): Promise<void> {
    const { settings } = this.job;
    if (settings.error.length + settings.after.length === 0) return;
    this.#context.isLastAttempt = true;
    try {
      this.#args = decodePayload(this.run.args) ?? {};
      await this.#validate();
    } catch {
      // The hooks get the arguments as far as they could be read, as in an attempt whose arguments are invalid.
    }
    await this.#callHooks({ outcome: "failed", error });
  }

  async #validate(): Promise<void> {
    const { schema } = this.job;
    if (!schema) return;
    this.#args = await this.#call("the schema", () => validated(schema, this.#args, this.run.name));
  }

  async #callHooks(result: Result): Promise<Result> {
    const { success, error: onError, after } = this.job.settings;
    this.#renewGrace();
    if (result.outcome === "completed") {
      for (const hook of success)
        await this.#callHook("onSuccess", () => hook(this.#args as never, this.#context));
    } else if (result.outcome === "failed" || result.outcome === "retried") {
      const { error } = result;
      for (const hook of onError)
        await this.#callHook("onError", () => hook(toError(error), this.#args as never, this.#context));
    }
    for (const hook of after) await this.#callHook("onAfter", () => hook(this.#args as never, this.#context));
    return result;
  }

  /** Gives the hooks after an aborted handler an `ABORT_GRACE` of their own. */
  #renewGrace(): void {
    const reason = this.#reason;
    if (!reason) return;
    this.#hooks?.resume();
    this.#after(ABORT_GRACE, () => this.#hooks?.abandon(reason));
  }

  /** Returns why a filter refuses the run; null: no filter does. */
  async #refusal(): Promise<string | null> {
    const { when, skip } = this.job.settings;
    for (const filter of when) {
      if (!(await this.#call("when", () => filter(this.#args as never, this.#context))))
        return "when() returned false";
    }
    for (const filter of skip) {
      if (await this.#call("skip", () => filter(this.#args as never, this.#context)))
        return "skip() returned true";
    }
    return null;
  }

  #call<Value>(what: string, code: () => Value | Promise<Value>): Promise<Value> {
    this.#hooks ??= new HookCalls(this.run, this.job.settings.hookTimeout, this.parts);
    return this.#hooks.call(what, code);
  }

  /** Calls a hook after the handler: its error is reported and does not change the outcome. */
  async #callHook(hook: string, code: () => unknown): Promise<void> {
    try {
      await this.#call(hook, code);
    } catch (error) {
      const reason = this.#reason;
      if (reason?.code !== "LEASE_LOST") {
        const cause = reason !== null && error === reason ? hookAbandoned(hook, reason) : error;
        this.parts.events.report(cause, `${hook} of "${this.run.name}", run ${this.run.id}`);
      }
    }
  }

  #endedEarly(): Result | null {
    const { earlyEnd: end } = this.#context;
    return end && endedEarly(end);
  }

  /** An error after the handler's transaction has completed the run cannot fail it. */
  #lateFailure(error: unknown): Result {
    this.parts.events.report(error, `run ${this.run.id} of "${this.run.name}", after it was completed`);
    return WRITTEN;
  }

  #failure(thrown: unknown): Result {
    if (isA(thrown, EndOfAttempt)) return { outcome: "failed", error: thrown };
    const code = this.#reason?.code;
    if (code === "RUN_CANCELLED") return { outcome: "cancelled", reason: null };
    if (code === "SHUTDOWN") return { outcome: "released", interrupted: interruption(this.#reason!) };
    // The handler threw because of the timeout: the timeout is the cause.
    const error = code === "RUN_TIMED_OUT" ? this.#reason : thrown;
    const { retries } = this.job.settings;
    const { random, events } = this.parts;
    return afterFailure(this.run, retries, error, {
      random,
      isWorthRetrying: () => isWorthRetrying(this.run, retries, error, events),
    });
  }

  #after(ms: number, callback: () => void): void {
    this.#cancelTimers ??= [];
    this.#cancelTimers.push(this.parts.clock.after(ms, callback));
  }
}

function validated(schema: StandardSchema, args: unknown, name: string): Promise<unknown> {
  return validate(schema as StandardSchema<unknown, unknown>, args, name);
}
