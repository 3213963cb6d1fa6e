import { isOutage } from "../errors.ts";
import { toFailure } from "../run/failure.ts";
import type { Clock } from "../time.ts";
import type { Emitter } from "./events.ts";
import type { Logger } from "./logger.ts";

/**
 * Tracks outages of the database. A duty is work that is retried until it succeeds: claims, renewals, ticks,
 * heartbeats, flushes. All duties that fail together are one outage, which is logged when it begins and when it ends.
 */
export class Outage {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #events: Pick<Emitter, "emit">;
  /** Duties that have failed and not succeeded since. */
  readonly #failing = new Set<string>();
  /** When each duty last failed, by an outage or by another error. */
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

  /** Whether a duty other than these is failing now, or an outage ended less than `ms` ago. */
  wasWithin(ms: number, ...except: string[]): boolean {
    for (const failing of this.#failing) if (!except.includes(failing)) return true;
    return this.#clock.monotonic() - this.#endedAt < ms;
  }

  /** Whether one of these duties has failed less than `ms` ago, by an outage or by another error. */
  failedWithin(ms: number, ...duties: string[]): boolean {
    const since = this.#clock.monotonic() - ms;
    return duties.some((duty) => (this.#failedAt.get(duty) ?? Number.NEGATIVE_INFINITY) > since);
  }

  /** Records a failure of a duty. `past`: milliseconds for which the duty had been failing before this call. */
  failed(duty: string, error: unknown, past = 0): void {
    this.#failedAt.set(duty, this.#clock.monotonic());
    if (!isOutage(error)) return;
    const isNew = !this.isOn;
    this.#failing.add(duty);
    if (!isNew) return;
    this.#since = this.#clock.monotonic() - past;
    const { message } = toFailure(error);
    this.#logger.error(`the database is not available (${duty}): ${message} Retrying until it is.`);
    this.#events.emit("database.unavailable", { error, during: duty });
  }

  /** Records a success of a duty. The outage ends when no duty is failing. */
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

  /**
   * Forgets all failures after the worker has stopped. `isOver`: the worker's last writes succeeded, so the outage is
   * over.
   */
  forget(isOver: boolean): void {
    const wasOn = this.isOn;
    this.#failing.clear();
    if (wasOn && isOver) this.#end();
    this.#failedAt.clear();
  }
}
