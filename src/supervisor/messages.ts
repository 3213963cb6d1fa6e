import type { ErrorCode, PunctualError } from "../errors.ts";
import type { Description } from "../job/description.ts";
import { type Failure, toFailure } from "../run/failure.ts";
import { decodePayload } from "../run/payload.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import { afterFailure, interruption } from "../worker/attempt-ends.ts";
import type { Result, RunnableJob } from "../worker/executor.ts";

/** The result of an attempt in a message: errors as failures, values as JSON. */
export type SentResult =
  | { outcome: "completed"; result: string | null; written: boolean }
  | { outcome: "retried"; failure: Failure; delay: number }
  | { outcome: "failed"; failure: Failure }
  | Exclude<Result, { outcome: "completed" | "retried" | "failed" | "crashed" }>
  /** The child does not define the job. */
  | { outcome: "unknown" };

/** A ticket numbers one execution: a child may execute the same run twice. */
export type ToChild =
  | { type: "run"; ticket: number; run: ClaimedRun }
  | { type: "abort"; ticket: number; code: ErrorCode; message: string }
  /** Calls the hooks of a run that its crashes have ended. */
  | { type: "crashed"; ticket: number; run: ClaimedRun; message: string }
  | { type: "describe" }
  | { type: "ping" }
  /** The child has no run left and is to exit. */
  | { type: "exit" };

export type ToParent =
  | { type: "ready"; digest: number }
  | { type: "described"; description: Description; digest: number }
  /**
   * Sent before the handlers begin: one of them may end the process. `read`: the last ticket that the child has read;
   * runs after `upTo` wait for a slot in it.
   */
  | { type: "began"; upTo: number; read: number }
  /** `returned`: the handler has returned too. */
  | { type: "done"; ticket: number; result: SentResult; duration: number; returned: boolean }
  | { type: "returned"; ticket: number }
  | { type: "progress"; ticket: number; progress: string }
  | { type: "slow-hook"; ticket: number; slow: Parameters<Store["slowHook"]>[1] }
  | { type: "logged"; ticket: number; message: string; data: unknown }
  | { type: "fault"; failure: Failure; during: string }
  | { type: "pong"; memory: number }
  /** The child has dispatched a run. */
  | { type: "wake" }
  /** The child was asked to end, by a signal or by stop(). */
  | { type: "retire"; reason: string };

/** Marks our messages: the program may send messages of its own over the channel. */
interface Envelope<Message> {
  punctual: Message[];
}

export function toMessages<Message>(received: unknown): Message[] {
  const messages = (received as Partial<Envelope<Message>> | null)?.punctual;
  return Array.isArray(messages) ? messages : [];
}

/**
 * Collects the messages of one turn and sends them in one envelope: most of a message's cost does not depend on its
 * size.
 */
export class Mailbox<Message> {
  readonly #send: (envelope: Envelope<Message>) => void;
  #waiting: Message[] = [];

  constructor(send: (envelope: Envelope<Message>) => void) {
    this.#send = send;
  }

  post(message: Message): void {
    if (this.#waiting.push(message) > 1) return;
    // A next tick that a microtask requests runs after all microtasks of this turn.
    queueMicrotask(() => process.nextTick(() => this.flush()));
  }

  /** Sends a message now, together with those that wait. */
  send(message: Message): void {
    this.#waiting.push(message);
    this.flush();
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    const punctual = this.#waiting;
    this.#waiting = [];
    this.#send({ punctual });
  }
}

/** Delay of a run whose job the child does not define: another child may, or the child may define it by then. */
const UNKNOWN_FOR = 1000;

export function toSent(result: Result): SentResult {
  switch (result.outcome) {
    case "completed":
      return { outcome: "completed", result: result.result, written: result.written };
    case "retried":
      return { outcome: "retried", failure: toFailure(result.error), delay: result.delay };
    case "failed":
    case "crashed":
      return { outcome: "failed", failure: toFailure(result.error) };
    default:
      return result;
  }
}

export function fromSent(sent: SentResult): Result {
  switch (sent.outcome) {
    case "completed":
      return {
        ...sent,
        // Decoded only if an event listener reads it.
        get value() {
          return decodePayload(sent.result);
        },
      };
    case "retried":
    case "failed":
      return { ...sent, error: sent.failure };
    case "unknown":
      return { outcome: "snoozed", delay: UNKNOWN_FOR };
    default:
      return sent;
  }
}

/** Returns the result of an attempt whose child was killed because it did not react to the abort. */
export function afterKill(
  run: ClaimedRun,
  { settings }: RunnableJob,
  reason: PunctualError,
  random: () => number,
): Result {
  if (reason.code === "RUN_TIMED_OUT") return afterFailure(run, settings.retries, reason, { random });
  const result = withoutHandler(reason.code);
  return result.outcome === "released" ? { ...result, interrupted: interruption(reason) } : result;
}

/** Returns the result of an aborted attempt whose handler did not return. `code`: why it was aborted. */
export function withoutHandler(code: ErrorCode): SentResult & Result {
  if (code === "RUN_CANCELLED") return { outcome: "cancelled", reason: null };
  return code === "LEASE_LOST" ? { outcome: null } : { outcome: "released" };
}

export function toError(failure: Failure): Error {
  const error = new Error(failure.message);
  error.name = failure.name;
  if (failure.stack !== null) error.stack = failure.stack;
  return Object.assign(error, failure.code === null ? {} : { code: failure.code });
}
