import type { ErrorCode } from "../errors.ts";
import type { Description } from "../job/description.ts";
import type { Failure } from "../run/failure.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import type { Result } from "../worker/executor.ts";

/** What a try came to, as it goes from process to process: errors as failures, values as JSON. */
export type SentResult =
  | { outcome: "completed"; result: string | null; written: boolean }
  | { outcome: "retried"; failure: Failure; delay: number }
  | { outcome: "failed"; failure: Failure }
  | Exclude<Result, { outcome: "completed" | "retried" | "failed" | "crashed" }>
  /** The child does not define the job. */
  | { outcome: "unknown" };

/** A ticket is the number of one execution: a run may come to the same child twice. */
export type ToChild =
  | { type: "run"; ticket: number; run: ClaimedRun }
  | { type: "abort"; ticket: number; code: ErrorCode; message: string }
  /** Its crashes have ended the run: its hooks are to be called. */
  | { type: "crashed"; ticket: number; run: ClaimedRun; message: string }
  | { type: "describe" }
  | { type: "ping" }
  /** It has nothing left to do. */
  | { type: "exit" };

export type ToParent =
  | { type: "ready"; digest: number }
  | { type: "described"; description: Description; digest: number }
  /** Sent before the handlers begin: what comes after may be the end of the process. */
  | { type: "began"; upTo: number }
  /** `returned`: so has its handler. */
  | { type: "done"; ticket: number; result: SentResult; duration: number; returned: boolean }
  | { type: "returned"; ticket: number }
  | { type: "progress"; ticket: number; progress: string }
  | { type: "slow-hook"; ticket: number; slow: Parameters<Store["slowHook"]>[1] }
  | { type: "logged"; ticket: number; message: string; data: unknown }
  | { type: "fault"; failure: Failure; during: string }
  | { type: "pong"; memory: number }
  /** It has dispatched something. */
  | { type: "wake" }
  /** Somebody asked it to end. */
  | { type: "retire"; reason: string };

/** The program may use the channel for messages of its own. */
interface Envelope<Message> {
  punctual: Message[];
}

export function toMessages<Message>(received: unknown): Message[] {
  const messages = (received as Partial<Envelope<Message>> | null)?.punctual;
  return Array.isArray(messages) ? messages : [];
}

/** Collects the messages of one turn and sends them as one: most of the cost of a message is its own. */
export class Mailbox<Message> {
  readonly #send: (envelope: Envelope<Message>) => void;
  #waiting: Message[] = [];

  constructor(send: (envelope: Envelope<Message>) => void) {
    this.#send = send;
  }

  post(message: Message): void {
    if (this.#waiting.push(message) > 1) return;
    // A tick asked for by a microtask runs after all microtasks of this turn.
    queueMicrotask(() => process.nextTick(() => this.flush()));
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    const punctual = this.#waiting;
    this.#waiting = [];
    this.#send({ punctual });
  }
}
