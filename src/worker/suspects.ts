import type { ClaimedRun } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { Buffer, inOrder } from "./buffer.ts";
import type { Executor } from "./executor.ts";

/** How long a run with a crash behind it waits for its neighbours to finish, so that it can run alone. */
const ALONE_AFTER = 10_000;

/**
 * Claimed runs with a crash behind them. One that took its process down must not take its neighbours along, nor be mixed
 * up with them: one at a time, each alone.
 */
export class Suspects {
  readonly #clock: Clock;
  readonly #executor: Executor;
  readonly #waiting: Buffer;
  /** Since when a place is set aside for the next one. */
  #since: number | null = null;
  #alone: ClaimedRun | null = null;

  constructor(clock: Clock, executor: Executor, inShares: boolean) {
    this.#clock = clock;
    this.#executor = executor;
    this.#waiting = new Buffer(inShares);
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(runs: ClaimedRun[]): void {
    this.#waiting.add(runs, this.#clock.monotonic());
  }

  takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return this.#waiting.takeIf(wanted);
  }

  /**
   * The next one, if it may begin now. `other`: the best that waits beside them; `isQuiet`: nothing is left that would be
   * charged with it. The one it gives has its place to itself until `end()`.
   */
  next(other: ClaimedRun | undefined, isQuiet: () => boolean): ClaimedRun | null {
    if (this.#alone) return null;
    const run = this.#waiting.peek();
    if (!run) {
      // The one that waited may have been cancelled or lost meanwhile.
      if (this.#since !== null) this.#release();
      return null;
    }
    if (this.#since === null && other && this.#comesFirst(other, run)) return null;
    const now = this.#clock.monotonic();
    this.#since ??= now;
    const isEmpty = this.#executor.setAside();
    if (!isQuiet() || !(isEmpty || now - this.#since >= ALONE_AFTER)) return null;
    this.#alone = this.#waiting.take()!;
    return run;
  }

  /** Its handler has returned, or it was not begun after all. */
  end(): void {
    this.#alone = null;
    this.#release();
  }

  /** Between queues that share by weight, what was claimed first. */
  #comesFirst(other: ClaimedRun, run: ClaimedRun): boolean {
    if (this.#waiting.inShares && other.queue !== run.queue) return other.claimedAt < run.claimedAt;
    return inOrder(other, run) < 0;
  }

  #release(): void {
    this.#since = null;
    this.#executor.endAside();
  }
}
