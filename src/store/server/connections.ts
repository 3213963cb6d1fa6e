import { type Clock, sleepReal, systemClock } from "../../time.ts";

/** A connection that one transaction or statement has to itself until it is released. */
export interface HeldConnection {
  /** Returns the connection. `broken`: it is closed instead of being used again. */
  release(broken: boolean): void;
}

/** The connections to a database server: those of a pool of ours, of a pool of the caller's, or a single one. */
export interface Connections<Held extends HeldConnection> {
  /** Whether `acquire` can give another connection after one was lost. */
  readonly canReconnect: boolean;
  /** Connections that are known to have been lost while no statement was using them. */
  readonly idleLosses: number;
  /** Waits for a free connection. `statement`: the only one that will be sent on it; absent: a transaction follows. */
  acquire(statement?: string): Promise<Held>;
  close(): Promise<void>;
}

/** Error codes of Node for a connection that could not be made or was lost. */
export const LOST_SOCKET_CODES: readonly string[] = [
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "EAI_AGAIN",
  "ENOTFOUND",
];

/** Returns the message and the code of a connection error, for a sentence of ours. */
export function describeFailure(code: string, message: string): string {
  if (message === "") return code || "no reason given";
  return code === "" || message.includes(code) ? message : `${message}, ${code}`;
}

/**
 * Longest a transaction waits for a second connection, in milliseconds. It may itself hold the last one of the pool.
 */
const SPARE_TIMEOUT = 100;

/** Acquires a connection beside the one that a transaction holds. Null: none became free in time. */
export async function acquireSpare<Held extends HeldConnection>(
  connections: Pick<Connections<Held>, "canReconnect" | "acquire">,
): Promise<Held | null> {
  if (!connections.canReconnect) return null;
  const acquiring = connections.acquire().catch(() => null);
  const held = await Promise.race([acquiring, sleepReal(SPARE_TIMEOUT).then(() => null)]);
  if (!held) acquiring.then((late) => late?.release(false));
  return held;
}

/**
 * Whether a statement of ours only reads and takes no lock. The caller may have a transaction open on the one
 * connection that it gave us and await such a read there; a write would become part of that transaction.
 */
export function isPlainRead(statement: string): boolean {
  return /^select\b(?![\s\S]*\bfor update\b)/.test(statement);
}

interface ErrorEmitter {
  on(event: string, listener: () => void): unknown;
}

const ignored = new WeakSet<object>();

/**
 * Adds a listener for "error" events, once. A driver emits one when a connection breaks while no statement waits for an
 * answer, and Node ends the process if nothing listens. The next statement on the connection reports the loss.
 */
export function ignoreErrorsOf(emitter: ErrorEmitter): void {
  if (ignored.has(emitter)) return;
  ignored.add(emitter);
  emitter.on("error", () => {});
}

/** Time after which a pool closes connections that it has not needed, in milliseconds: as long as that of pg. */
const IDLE_TIMEOUT = 30_000;

/** Counts the connections of a pool that are in use, so that the pool can close those that it does not need. */
export class PoolUsage {
  readonly #clock: Pick<Clock, "monotonic">;
  #used = 0;
  /** Most in use at once: in the period that began then, and in the one before. */
  #most = 0;
  #mostBefore = 0;
  #periodStart: number;

  constructor(clock: Pick<Clock, "monotonic"> = systemClock) {
    this.#clock = clock;
    this.#periodStart = clock.monotonic();
  }

  acquire(): void {
    this.#endPeriod();
    this.#used++;
    this.#most = Math.max(this.#most, this.#used);
  }

  release(): void {
    this.#endPeriod();
    this.#used--;
  }

  /** Returns the number of connections that were needed lately. */
  needed(): number {
    return Math.max(this.#most, this.#mostBefore, 1);
  }

  #endPeriod(): void {
    const now = this.#clock.monotonic();
    const passed = now - this.#periodStart;
    if (passed < IDLE_TIMEOUT) return;
    this.#mostBefore = passed < 2 * IDLE_TIMEOUT ? this.#most : this.#used;
    this.#most = this.#used;
    this.#periodStart = now;
  }
}

/** Longest the connections of a pool may take to close in good order, in milliseconds. */
const CLOSE_TIMEOUT = 5000;

/** Closes a pool of ours. The timer keeps the process alive until then: idle connections do not. */
export async function endPool(pool: { end(): Promise<void> }): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = systemClock.after(CLOSE_TIMEOUT, resolve);
    pool
      .end()
      .catch(() => {})
      .then(() => {
        cancel();
        resolve();
      });
  });
}
