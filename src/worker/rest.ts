import type { Clock } from "../time.ts";

/** A sleep that anybody may end. */
export class Rest {
  readonly #clock: Clock;
  #end: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends after so many milliseconds, then calls `overslept`; or earlier, by `end()`. */
  for(ms: number, overslept: () => void): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(Math.max(0, ms), () => {
        overslept();
        this.end();
      });
      this.#end = () => {
        this.#end = null;
        cancel();
        resolve();
      };
    });
  }

  /** Until this moment, or until `isOver` says so, who is asked whenever somebody ends the sleep. */
  async until(moment: number, isOver: () => boolean): Promise<void> {
    for (;;) {
      const left = moment - this.#clock.monotonic();
      if (left <= 0 || isOver()) return;
      await this.for(left, () => {});
    }
  }

  end(): void {
    this.#end?.();
  }
}
