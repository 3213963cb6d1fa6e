import type { Clock } from "../../time.ts";

/** How long one reading of the database's time is carried on by the local monotonic clock. */
const TRUSTED = 10_000;

/**
 * The database's time without asking for it each time: the last reading, carried on. A reading is older than its
 * answer, so this is never ahead of the database: no lease ends and no run is due before its time. However wrong this
 * host's wall clock is, it has no part in it.
 */
export class DatabaseTime {
  readonly #clock: Clock;
  readonly #read: () => Promise<number>;
  #reading: { time: number; at: number } | null = null;

  constructor(clock: Clock, read: () => Promise<number>) {
    this.#clock = clock;
    this.#read = read;
  }

  async now(): Promise<number> {
    if (this.#clock.manual) return this.#clock.now();
    const since = this.#reading === null ? TRUSTED : this.#clock.monotonic() - this.#reading.at;
    if (since < TRUSTED) return this.#reading!.time + Math.floor(since);
    const time = await this.#read();
    this.#reading = { time, at: this.#clock.monotonic() };
    return time;
  }

  /** Another server may answer from now on, with a clock of its own. */
  forget(): void {
    this.#reading = null;
  }
}
