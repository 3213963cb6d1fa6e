import { systemClock } from "../time.ts";

/** How long the last writes of a worker may take: what it has to say before it ends, when nothing runs any more. */
export const LAST_WRITES = 3000;

const LOOK_EVERY = 500;

/** Thrown where something waits that the deadline ends. */
export class Overdue extends Error {}

/**
 * When a worker that was asked to stop ends without the database's answer. In real milliseconds, whatever the clock says:
 * it is the database that is waited for.
 */
export class Deadline {
  readonly #passed = new AbortController();
  readonly #giveUp: () => void;
  #cancel: (() => void) | null = null;
  #cancelLook: () => void = () => {};

  /** `giveUp`: called as it passes, for what is under way at the database. */
  constructor(giveUp: () => void) {
    this.#giveUp = giveUp;
  }

  get signal(): AbortSignal {
    return this.#passed.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /** In this many milliseconds, unless it was set before. */
  set(ms: number): void {
    this.#cancel ??= systemClock.after(ms, () => this.pass());
  }

  /** As `set`, once `isDue` says so. */
  setWhen(isDue: () => boolean, ms: number): void {
    if (isDue()) this.set(ms);
    else
      this.#cancelLook = systemClock.after(LOOK_EVERY, () => this.setWhen(isDue, ms), { background: true });
  }

  pass(): void {
    if (this.isOver) return;
    this.#passed.abort();
    this.#giveUp();
  }

  clear(): void {
    this.#cancel?.();
    this.#cancelLook();
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

/** Whether `work` succeeds in time; hands on what it threw, and says when it is late. */
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
