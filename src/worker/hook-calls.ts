import { PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { ABORT_GRACE } from "./attempt-ends.ts";

/** A hook or filter that takes longer than this is logged and shown by `why()`. */
const SLOW_HOOK = 5000;

export interface HookCallParts {
  store: Pick<Store, "slowHook">;
  clock: Clock;
  events: Pick<Emitter, "report">;
  log(run: ClaimedRun, message: string, data: unknown): void;
}

/** Calls the filters and hooks of one attempt. */
export class HookCalls {
  readonly #run: ClaimedRun;
  /** Longest time for one call. */
  readonly #limit: number;
  readonly #parts: HookCallParts;
  #abandonedBy: PunctualError | null = null;
  #abandonCall: ((cause: PunctualError) => void) | null = null;
  /** The writes about slow hooks; null: there were none. */
  writing: Promise<unknown> | null = null;

  constructor(run: ClaimedRun, limit: number, parts: HookCallParts) {
    this.#run = run;
    this.#limit = limit;
    this.#parts = parts;
  }

  /** Stops waiting for the call under way and for later ones. */
  abandon(cause: PunctualError): void {
    this.#abandonedBy = cause;
    this.#abandonCall?.(cause);
  }

  /** Waits for later calls again. */
  resume(): void {
    this.#abandonedBy = null;
  }

  /**
   * Calls a filter or a hook. One that does not settle within `hookTimeout` delays neither the outcome nor the next
   * run.
   */
  async call<Value>(what: string, code: () => Value | Promise<Value>): Promise<Value> {
    const returned = code();
    return mustAwait(returned) ? this.#settled(what, returned as Promise<Value>) : returned;
  }

  async #settled<Value>(what: string, returned: Promise<Value>): Promise<Value> {
    const { clock, log } = this.#parts;
    const limit = this.#limit;
    const late = Promise.withResolvers<never>();
    let isSlow = false;
    const slow = () => {
      isSlow = true;
      log(this.#run, `(${what} has not settled for ${SLOW_HOOK / 1000} s)`, undefined);
      this.#writeSlow({ name: what, elapsed: SLOW_HOOK, limit });
    };
    const cancelSlow = clock.after(SLOW_HOOK, slow, { background: true });
    const cancel = clock.after(limit, () => late.reject(timedOut(what, limit)));
    this.#abandonCall = late.reject;
    if (this.#abandonedBy) late.reject(this.#abandonedBy);
    try {
      return await Promise.race([returned, late.promise]);
    } finally {
      this.#abandonCall = null;
      cancelSlow();
      cancel();
      if (isSlow) this.#writeSlow(null);
    }
  }

  /** Writes in the order of the calls, and before the outcome: the settlement ends the lease that these writes need. */
  #writeSlow(slow: Parameters<Store["slowHook"]>[1]): void {
    const { store, events } = this.#parts;
    const { id } = this.#run;
    this.writing = Promise.resolve(this.writing)
      .then(() => store.slowHook(this.#run, slow))
      .catch((error) => events.report(error, `writing the slow hook of run ${id}`));
  }
}

/** Whether a value that user code has returned must be awaited. Throws if its `then` is a getter that throws. */
export function mustAwait(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as { then?: unknown }).then === "function";
}

function timedOut(what: string, ms: number): PunctualError {
  return new PunctualError(
    "HOOK_TIMED_OUT",
    `${what} did not settle within ${ms / 1000} s, and the run continues without it. Give it more time with hookTimeout(), or make it settle.`,
  );
}

/**
 * Returns the error of a hook that was abandoned with its aborted run: the abort reason speaks of the run, not of the
 * hook.
 */
export function hookAbandoned(hook: string, { code }: PunctualError): PunctualError {
  const when =
    code === "SHUTDOWN"
      ? "before the worker had to stop"
      : `within ${ABORT_GRACE / 1000} s of the run's ${code === "RUN_CANCELLED" ? "cancellation" : "timeout"}`;
  return new PunctualError(
    "HOOK_TIMED_OUT",
    `${hook} did not settle ${when}, and the worker stopped waiting for it. The outcome of the run is not affected.`,
  );
}
