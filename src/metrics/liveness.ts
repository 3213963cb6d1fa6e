import type { Clock } from "../time.ts";
import type { InstanceEvents } from "./event-metrics.ts";

/** Interval of the timer that measures the delay of the event loop. */
const MEASURE_EVERY = 1000;

/** Number of measured delays of which `lag` is the longest. */
const KEPT_DELAYS = 30;

/**
 * Measures the delay of the event loop with a timer, and detects from the worker's events whether its loop is stuck.
 */
export class Liveness {
  readonly #clock: Clock;
  readonly #offs: (() => void)[];
  #working = false;
  #draining = false;
  #turnedAt = 0;
  #cancel: () => void = () => {};
  #delays: number[] = [];

  constructor(events: InstanceEvents, clock: Clock) {
    this.#clock = clock;
    const turned = () => {
      this.#turnedAt = clock.monotonic();
    };
    this.#offs = [
      events.on("worker.started", () => {
        this.#working = true;
        this.#draining = false;
        turned();
      }),
      // The probe may be started after the worker, and then misses `worker.started`.
      events.on("worker.turned", () => {
        this.#working = true;
        turned();
      }),
      // During an outage the loop completes no turn, but retries and reports errors: it is not stuck.
      events.on("error", turned),
      events.on("worker.stopping", () => {
        this.#draining = true;
        turned();
      }),
      events.on("worker.stopped", () => {
        this.#working = false;
      }),
    ];
    this.#measure();
  }

  /** The reason why no worker claims runs in this process; null: one does. */
  get whyNotWorking(): string | null {
    if (this.#draining) return "the worker is draining";
    return this.#working ? null : "no worker runs in this process";
  }

  /** Longest delay of the event loop in the last 30 seconds, in milliseconds. */
  get lag(): number {
    return Math.max(0, ...this.#delays);
  }

  /**
   * Returns why the worker is stuck: its loop has completed no turn for `after` milliseconds. Null: it is not stuck. A
   * draining worker waits for handlers and is never stuck.
   */
  whyStuck(after: number): string | null {
    const sinceTurn = this.#clock.monotonic() - this.#turnedAt;
    if (!this.#working || this.#draining || sinceTurn < after) return null;
    return `the worker's loop has not completed a turn for ${Math.round(sinceTurn / 1000)} s`;
  }

  stop(): void {
    this.#cancel();
    for (const off of this.#offs) off();
  }

  #measure(): void {
    const due = this.#clock.monotonic() + MEASURE_EVERY;
    this.#cancel = this.#clock.after(
      MEASURE_EVERY,
      () => {
        this.#delays = [...this.#delays.slice(1 - KEPT_DELAYS), Math.max(0, this.#clock.monotonic() - due)];
        this.#measure();
      },
      { background: true },
    );
  }
}
