import { isOutage } from "../errors.ts";
import { toFailure } from "../run/failure.ts";
import type { Clock } from "../time.ts";
import type { Emitter } from "./events.ts";
import type { Logger } from "./logger.ts";

/**
 * Whether the database can be worked with, as all duties of one process see it together: the claims, renewals, ticks,
 * heartbeats and flushes that fail while it is away are one outage, which is logged when it begins and when it ends.
 */
export class Outage {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #events: Pick<Emitter, "emit">;
  /** Duties that failed and have not succeeded since. */
  readonly #failing = new Set<string>();
  /** When each duty last failed, for whatever reason. */
  readonly #failedAt = new Map<string, number>();
  #since = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, logger: Logger, events: Pick<Emitter, "emit">) {
    this.#clock = clock;
    this.#logger = logger;
    this.#events = events;
  }

  get isOn(): boolean {
    return this.#failing.size > 0;
  }

  /** Whether there is an outage in which more fails than this duty, or there was one within the last milliseconds. */
  wasWithin(ms: number, duty: string): boolean {
    for (const failing of this.#failing) if (failing !== duty) return true;
    return this.#clock.monotonic() - this.#endedAt < ms;
  }

  /** Whether one of these duties has failed within the last milliseconds, for whatever reason. */
  failedWithin(ms: number, ...duties: string[]): boolean {
    const since = this.#clock.monotonic() - ms;
    return duties.some((duty) => (this.#failedAt.get(duty) ?? Number.NEGATIVE_INFINITY) > since);
  }

  /** `duty` is tried again and again, and says when it succeeds. `past`: how long it has been failing unnoticed. */
  failed(duty: string, error: unknown, past = 0): void {
    this.#failedAt.set(duty, this.#clock.monotonic());
    if (!isOutage(error)) return;
    const isNew = !this.isOn;
    this.#failing.add(duty);
    if (!isNew) return;
    this.#since = this.#clock.monotonic() - past;
    const { message } = toFailure(error);
    this.#logger.error(`the database is not available (${duty}): ${message} Trying again until it is.`);
    this.#events.emit("database.unavailable", { error, during: duty });
  }

  succeeded(duty: string): void {
    if (!this.#failing.delete(duty) || this.isOn) return;
    this.#end();
  }

  #end(): void {
    this.#endedAt = this.#clock.monotonic();
    const duration = this.#endedAt - this.#since;
    this.#logger.info(`the database is available again, after ${(duration / 1000).toFixed(1)} s`);
    this.#events.emit("database.available", { duration });
  }

  /** The worker has ended, and none of its duties is tried again. `isOver`: its last writes have succeeded. */
  forget(isOver: boolean): void {
    const wasOn = this.isOn;
    this.#failing.clear();
    if (wasOn && isOver) this.#end();
    this.#failedAt.clear();
  }
}
