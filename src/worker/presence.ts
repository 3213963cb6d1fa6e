import type { Emitter } from "../events/events.ts";
import type { Registry } from "../job/registry.ts";
import type { Clock } from "../time.ts";
import { BEAT_EVERY } from "./janitor.ts";

export interface PresenceParts {
  clock: Clock;
  events: Emitter;
  registry: Registry;
  /** Unless a worker of this process does. */
  beat(): Promise<void>;
}

/** Shows that this process lives, as long as it has functions that only it can run. */
export class Presence {
  readonly #parts: PresenceParts;
  #shown: Promise<void> | null = null;
  #cancel: (() => void) | null = null;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  get isShown(): boolean {
    return this.#shown !== null;
  }

  show(beat: () => Promise<void>): Promise<void> {
    this.#shown ??= beat()
      .then(() => this.#next())
      .catch((error) => {
        this.#shown = null;
        throw error;
      });
    return this.#shown;
  }

  /** The next function that is dispatched shows this process again. */
  forget(): void {
    this.#shown = null;
    this.#cancel?.();
  }

  #next(): void {
    const { clock, events, registry, beat } = this.#parts;
    const again = async () => {
      if (!registry.hasAdHoc()) {
        this.#shown = null;
        return;
      }
      try {
        await beat();
      } catch (error) {
        events.report(error, "showing that this process lives");
      }
      this.#next();
    };
    this.#cancel = clock.after(BEAT_EVERY, again, { background: true });
  }
}
