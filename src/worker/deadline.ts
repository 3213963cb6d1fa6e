import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import type { PendingCalls } from "../store/pending-calls.ts";
import { systemClock } from "../time.ts";

/** Longest a worker or an instance waits for its last writes, once no handler runs. */
export const LAST_WRITES = 3000;

/** Interval between two checks of `setWhen`. */
const CHECK_EVERY = 500;

/** Rejects every wait that the deadline ends. */
export class Overdue extends Error {}

/**
 * The moment at which a stopping worker ends without the database's answer. Counted in real milliseconds, also under a
 * test's clock: the database answers in real time.
 */
export class Deadline {
  readonly #passed = new AbortController();
  readonly #giveUp: () => void;
  #cancel: (() => void) | null = null;
  #cancelCheck: () => void = () => {};

  /** `giveUp`: called when the deadline passes; rejects the statements without an answer. */
  constructor(giveUp: () => void) {
    this.#giveUp = giveUp;
  }

  get signal(): AbortSignal {
    return this.#passed.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /** Lets the deadline pass in `ms` milliseconds, unless it is set already. */
  set(ms: number): void {
    this.#cancel ??= systemClock.after(ms, () => this.pass());
  }

  /** Calls `set(ms)` as soon as `isDue` returns true. */
  setWhen(isDue: () => boolean, ms: number): void {
    if (isDue()) this.set(ms);
    else {
      const check = () => this.setWhen(isDue, ms);
      this.#cancelCheck = systemClock.after(CHECK_EVERY, check, { background: true });
    }
  }

  pass(): void {
    if (this.isOver) return;
    this.#passed.abort();
    this.#giveUp();
  }

  clear(): void {
    this.#cancel?.();
    this.#cancelCheck();
  }

  /** Settles as `work` does; throws `Overdue` if the deadline passes first. */
  until<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const passed = () => reject(new Overdue());
      if (this.isOver) passed();
      this.signal.addEventListener("abort", passed, { once: true });
      work.then(resolve, reject).finally(() => this.signal.removeEventListener("abort", passed));
    });
  }
}

/** Whether `work` succeeds within `ms` milliseconds. Calls `failed` with its error, or `late` when the time is over. */
export async function inTime(
  work: Promise<unknown>,
  ms: number,
  on: { late(): void; failed(error: unknown): void },
): Promise<boolean> {
  const deadline = new Deadline(on.late);
  deadline.set(ms);
  try {
    await deadline.until(work);
    return true;
  } catch (error) {
    if (!(error instanceof Overdue)) on.failed(error);
    return false;
  } finally {
    deadline.clear();
  }
}

/** Whether the last writes of a worker or an instance succeed. Stops waiting for a database that does not answer. */
export function writeLast(
  during: string,
  write: () => Promise<void>,
  { events, logger, pending }: { events: Emitter; logger: Logger; pending: PendingCalls },
): Promise<boolean> {
  const late = () => {
    logger.warn(`${during}: the database did not answer, and they were not written`);
    pending.giveUp();
  };
  return inTime(write(), LAST_WRITES, { late, failed: (error) => events.report(error, during) });
}
