import { isA, PermanentError, PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import { computedLane } from "../job/key.ts";
import { type StandardSchema, validate } from "../job/schema.ts";
import { currentRun } from "../run/context.ts";
import { toError } from "../run/failure.ts";
import { decodePayload, encodeResult } from "../run/payload.ts";
import type { Retention } from "../run/retention.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { abortReasons, afterFailure, EndOfTry } from "./attempt-ends.ts";
import { Context } from "./context.ts";
import type { Execution, Result, RunnableJob } from "./executor.ts";

/** How long a handler has to return after its signal aborted. */
export const ABORT_GRACE = 5000;

/** A hook or filter that takes longer than this is logged and shown by `why()`. */
const SLOW_HOOK = 5000;

export interface ExecutionParts {
  store: Pick<Store, "progress" | "slowHook">;
  clock: Clock;
  events: Pick<Emitter, "report">;
  /** Emits and keeps a line that the handler logged. */
  log(run: ClaimedRun, message: string, data: unknown): void;
  random(): number;
  /** The instance: a run that the handler dispatches through it gets this run as its parent. */
  instance: object;
  /** Runs `work` and completes the run in one transaction. Returns false if the lease is lost. */
  completeWith(run: ClaimedRun, work: (tx: unknown) => unknown, keep: Retention): Promise<boolean>;
}

/** One attempt at one run, in this process. */
export class LocalExecution implements Execution {
  readonly run: ClaimedRun;
  readonly result: Promise<Result>;
  readonly returned: Promise<void>;
  duration = 0;
  readonly #controller = new AbortController();
  readonly #job: RunnableJob;
  readonly #parts: ExecutionParts;
  readonly #context: Context;
  /** Rejects when an aborted attempt is not waited for any longer. */
  #abandoned = Promise.withResolvers<never>();
  /** Calls of user code that have not returned. */
  readonly #pending = new Set<Promise<unknown>>();
  /** Whether the handler's own transaction has completed the run. */
  #completed = false;
  /** Whether the handler has ended and only hooks are left to abort. */
  #inHooks = false;
  #writingSlowHook: Promise<unknown> | null = null;
  #cancelTimers: (() => void)[] = [];

  /** `crash`: its crashes have ended the run, so only its hooks are called. */
  constructor(run: ClaimedRun, job: RunnableJob, parts: ExecutionParts, crash: PunctualError | null = null) {
    this.run = run;
    this.#job = job;
    this.#parts = parts;
    this.#context = new Context(run, job.settings, this.#controller.signal, {
      ...parts,
      transact: (work) => this.#transact(work),
    });
    this.#abandoned.promise.catch(() => {});
    const timeout = crash ? null : (run.timeout ?? job.settings.timeout);
    if (timeout !== null) this.#after(timeout, () => this.abort(abortReasons.timeout(timeout)));
    this.result = currentRun.run({ id: run.id, instance: parts.instance }, () => this.#attempt(crash));
    this.returned = this.result.then(() => (this.#pending.size > 0 ? this.#allReturned() : undefined));
  }

  get hasReturned(): boolean {
    return this.#pending.size === 0;
  }

  abort(reason: PunctualError): void {
    if (this.#controller.signal.aborted) return;
    // The handler's transaction has completed the run, which ended its lease.
    if (this.#completed && reason.code === "LEASE_LOST") return;
    const cause = this.#inHooks && reason.code === "SHUTDOWN" ? abortReasons.shutdownOfHook() : reason;
    this.#controller.abort(cause);
    this.#after(ABORT_GRACE, () => this.#abandoned.reject(cause));
  }

  async #allReturned(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  async #attempt(crash: PunctualError | null): Promise<Result> {
    const { clock } = this.#parts;
    const startedAt = clock.monotonic();
    const result = crash ? await this.#afterCrash(crash) : await this.#pipeline();
    this.duration = clock.monotonic() - startedAt;
    for (const cancel of this.#cancelTimers) cancel();
    if (this.#writingSlowHook) await this.#writingSlowHook;
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
      if (this.run.unkeyed) return { outcome: "released", lane: computedLane(this.run.name, settings, args) };
      args = await this.#validated(args);
      const refusal = await this.#refusal(args);
      if (refusal) return { outcome: "skipped", reason: refusal };
      for (const hook of settings.before)
        await this.#bounded("onBefore", () => hook(args as never, this.#context));
      const value = await this.#call(() => this.#job.handler(args, this.#context));
      result = this.#endedEarly() ?? this.#completion(value);
    } catch (error) {
      result = this.#completed ? this.#lateFailure(error) : (this.#endedEarly() ?? this.#failure(error));
    }
    this.#renewGrace();
    await this.#callHooks(result, args);
    return result;
  }

  /** Calls the hooks of a run that its crashes have ended. */
  async #afterCrash(error: PunctualError): Promise<Result> {
    const result: Result = { outcome: "failed", error };
    const { settings } = this.#job;
    if (settings.error.length + settings.after.length === 0) return result;
    this.#context.isLastAttempt = true;
    let args: unknown;
    try {
      args = decodePayload(this.run.args) ?? {};
      args = await this.#validated(args);
    } catch {
      // The hooks get the arguments as far as they could be read, as in an attempt whose arguments are invalid.
    }
    await this.#callHooks(result, args);
    return result;
  }

  async #validated(args: unknown): Promise<unknown> {
    const { schema } = this.#job;
    return schema ? this.#bounded("the schema", () => validated(schema, args, this.run.name)) : args;
  }

  async #callHooks(result: Result, args: unknown): Promise<void> {
    const { settings } = this.#job;
    this.#inHooks = true;
    if (result.outcome === "completed") {
      for (const hook of settings.success)
        await this.#callHook("onSuccess", () => hook(args as never, this.#context));
    } else if (result.outcome === "failed" || result.outcome === "retried") {
      const { error } = result;
      for (const hook of settings.error)
        await this.#callHook("onError", () => hook(toError(error), args as never, this.#context));
    }
    for (const hook of settings.after)
      await this.#callHook("onAfter", () => hook(args as never, this.#context));
  }

  /** Gives the hooks after an aborted handler an `ABORT_GRACE` of their own. */
  #renewGrace(): void {
    const { aborted, reason } = this.#controller.signal;
    if (!aborted) return;
    const abandoned = Promise.withResolvers<never>();
    abandoned.promise.catch(() => {});
    this.#abandoned = abandoned;
    this.#after(ABORT_GRACE, () => abandoned.reject(reason));
  }

  /** Returns why a filter refuses the run; null: no filter does. */
  async #refusal(args: unknown): Promise<string | null> {
    const { when, skip } = this.#job.settings;
    for (const filter of when) {
      if (!(await this.#bounded("when", () => filter(args as never, this.#context))))
        return "when() returned false";
    }
    for (const filter of skip) {
      if (await this.#bounded("skip", () => filter(args as never, this.#context)))
        return "skip() returned true";
    }
    return null;
  }

  /** Calls the user's code, and waits until it returns or the attempt is abandoned. */
  #call<Value>(code: () => Value | Promise<Value>): Promise<Value> {
    const returning = (async () => code())();
    this.#pending.add(returning);
    const done = () => this.#pending.delete(returning);
    returning.then(done, done);
    return Promise.race([returning, this.#abandoned.promise]);
  }

  /**
   * Calls a filter or a hook. One that does not settle within `hookTimeout` delays neither the outcome nor the next
   * run.
   */
  async #bounded<Value>(what: string, code: () => Value | Promise<Value>): Promise<Value> {
    const { clock, log } = this.#parts;
    const limit = this.#job.settings.hookTimeout;
    const before = new Set(this.#pending);
    const late = Promise.withResolvers<never>();
    let isSlow = false;
    const slow = () => {
      isSlow = true;
      log(this.run, `(${what} has not settled for ${SLOW_HOOK / 1000} s)`, undefined);
      this.#writeSlowHook({ name: what, elapsed: SLOW_HOOK, limit });
    };
    const cancelSlow = clock.after(SLOW_HOOK, slow, { background: true });
    const cancel = clock.after(limit, () => late.reject(hookTimedOut(what, limit)));
    try {
      return await Promise.race([this.#call(code), late.promise]);
    } finally {
      cancelSlow();
      cancel();
      for (const pending of this.#pending) if (!before.has(pending)) this.#pending.delete(pending);
      if (isSlow) this.#writeSlowHook(null);
    }
  }

  /** Writes in the order of the calls, and before the outcome: the settlement ends the lease that these writes need. */
  #writeSlowHook(slow: Parameters<Store["slowHook"]>[1]): void {
    const { store, events } = this.#parts;
    this.#writingSlowHook = Promise.resolve(this.#writingSlowHook)
      .then(() => store.slowHook(this.run, slow))
      .catch((error) => events.report(error, `writing the slow hook of run ${this.run.id}`));
  }

  /** Calls a hook after the handler: its error is reported and does not change the outcome. */
  async #callHook(hook: string, code: () => unknown): Promise<void> {
    try {
      await this.#bounded(hook, code);
    } catch (error) {
      const { reason } = this.#controller.signal;
      if (this.#code() !== "LEASE_LOST") {
        const cause = error === reason ? hookAbandoned(hook, reason as PunctualError) : error;
        this.#parts.events.report(cause, `${hook} of "${this.run.name}", run ${this.run.id}`);
      }
    }
  }

  #endedEarly(): Result | null {
    const { earlyEnd: end } = this.#context;
    if (end === null) return null;
    return end.kind === "snoozed"
      ? { outcome: "snoozed", delay: end.delay }
      : { outcome: "cancelled", reason: end.reason };
  }

  #completion(value: unknown): Result {
    const { json, dropped } = encodeResult(value);
    if (dropped) {
      const error = new PunctualError("INVALID_PAYLOAD", `its result was not kept: ${dropped}`);
      this.#parts.events.report(error, `run ${this.run.id} of "${this.run.name}" completed, but`);
    }
    return { outcome: "completed", result: json, value, written: false };
  }

  /** An error after the handler's transaction has completed the run cannot fail it. */
  #lateFailure(error: unknown): Result {
    this.#parts.events.report(error, `run ${this.run.id} of "${this.run.name}", after it was completed`);
    return { outcome: "completed", result: null, value: undefined, written: true };
  }

  #failure(thrown: unknown): Result {
    if (isA(thrown, EndOfTry)) return { outcome: "failed", error: thrown };
    const code = this.#code();
    if (code === "RUN_CANCELLED") return { outcome: "cancelled", reason: null };
    if (code === "SHUTDOWN") return { outcome: "released" };
    // The handler threw because of the timeout: the timeout is the cause.
    const error = code === "RUN_TIMED_OUT" ? this.#controller.signal.reason : thrown;
    const { retries } = this.#job.settings;
    const { random } = this.#parts;
    const isWorthRetrying = () => this.#isWorthRetrying(error);
    return afterFailure(this.run, retries, error, { random, isWorthRetrying });
  }

  #isWorthRetrying(error: unknown): boolean {
    if (isA(error, PermanentError)) return false;
    if (isA(error, PunctualError) && (error.code === "INVALID_ARGS" || error.code === "INVALID_PAYLOAD"))
      return false;
    try {
      const answer: unknown = this.#job.settings.retries.when?.(error) ?? true;
      // An async function is a mistake here. Its rejection must not end the process.
      if (answer instanceof Promise) answer.catch(() => {});
      return Boolean(answer);
    } catch (fault) {
      this.#parts.events.report(fault, `retries({ when }) of "${this.run.name}"`);
      return true;
    }
  }

  async #transact(work: (tx: unknown) => unknown): Promise<void> {
    const { keep } = this.#job.settings;
    if (!(await this.#parts.completeWith(this.run, work, keep))) {
      this.abort(abortReasons.leaseLost());
      throw abortReasons.leaseLost();
    }
    this.#completed = true;
  }

  /** The code of the abort reason; null: the attempt is not aborted. */
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

function hookTimedOut(what: string, ms: number): PunctualError {
  return new PunctualError(
    "HOOK_TIMED_OUT",
    `${what} did not settle within ${ms / 1000} s, and the run goes on without it. Give it more time with hookTimeout(), or make it settle.`,
  );
}

/**
 * Returns the error of a hook that was abandoned with its aborted run: the abort reason speaks of the run, not of the
 * hook.
 */
function hookAbandoned(hook: string, { code }: PunctualError): PunctualError {
  const when =
    code === "SHUTDOWN"
      ? "before the worker had to stop"
      : `within ${ABORT_GRACE / 1000} s of the run's ${code === "RUN_CANCELLED" ? "cancellation" : "timeout"}`;
  return new PunctualError(
    "HOOK_TIMED_OUT",
    `${hook} did not settle ${when}, and the worker stopped waiting for it. The outcome of the run is not affected.`,
  );
}
