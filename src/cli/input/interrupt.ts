import { Exit, exitCodeOfSignal } from "../output/exit-codes.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** For work in steps: the first signal asks it to end after the step in hand, the second ends it at once. */
export class Interrupt {
  #by: (typeof SIGNALS)[number] | null = null;

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#on);
  }

  get came(): boolean {
    return this.#by !== null;
  }

  /** The end of a command that was interrupted; says nothing more. */
  throwIfCame(): void {
    if (this.#by !== null) throw new Exit(exitCodeOfSignal(this.#by));
  }

  /** Signals mean again what they meant before. */
  done(): void {
    for (const name of SIGNALS) process.off(name, this.#on);
  }

  readonly #on = (name: (typeof SIGNALS)[number]): void => {
    if (this.#by !== null) process.exit(exitCodeOfSignal(name));
    this.#by = name;
  };
}
