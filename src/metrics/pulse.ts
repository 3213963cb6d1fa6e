import type { Clock } from "../time.ts";
import type { Heard } from "./metrics.ts";

/** How often the event loop is asked for a sign. */
const EVERY = 1000;

/** How many of the last signs the longest is taken of. */
const REMEMBERED = 30;

/** Whether the process and its worker go on: by timers that come in time, and by the rounds of the worker's loop. */
export class Pulse {
  readonly #clock: Clock;
  readonly #offs: (() => void)[];
  #working = false;
  #draining = false;
  #turnedAt = 0;
  #cancel: () => void = () => {};
  #lags: number[] = [];

  constructor(heard: Heard, clock: Clock) {
    this.#clock = clock;
    const sign = () => {
      this.#turnedAt = clock.monotonic();
    };
    this.#offs = [
      heard.on("worker.started", () => {
        this.#working = true;
        this.#draining = false;
        sign();
      }),
      // A listener may come when the worker is at work already.
      heard.on("worker.turned", () => {
        this.#working = true;
        sign();
      }),
      // It asks a database that does not answer again and again: that is no fault of its own.
      heard.on("error", sign),
      heard.on("worker.stopping", () => {
        this.#draining = true;
        sign();
      }),
      heard.on("worker.stopped", () => {
        this.#working = false;
      }),
    ];
    this.#listen();
  }

  /** Null: it is at work. */
  get notWorking(): string | null {
    if (this.#draining) return "the worker is draining";
    return this.#working ? null : "no worker runs in this process";
  }

  /** The longest turn of the event loop of late, in milliseconds. */
  get lag(): number {
    return Math.max(0, ...this.#lags);
  }

  /** Why the worker is taken for stuck; null: it goes on. While it drains it waits for handlers, as it should. */
  stuck(after: number): string | null {
    const still = this.#clock.monotonic() - this.#turnedAt;
    if (!this.#working || this.#draining || still < after) return null;
    return `the worker's loop has not come round for ${Math.round(still / 1000)} s`;
  }

  stop(): void {
    this.#cancel();
    for (const off of this.#offs) off();
  }

  #listen(): void {
    const due = this.#clock.monotonic() + EVERY;
    this.#cancel = this.#clock.after(
      EVERY,
      () => {
        this.#lags = [...this.#lags.slice(1 - REMEMBERED), Math.max(0, this.#clock.monotonic() - due)];
        this.#listen();
      },
      { background: true },
    );
  }
}
