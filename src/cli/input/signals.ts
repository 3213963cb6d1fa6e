import { Exit, exitCodeOfSignal } from "../output/exit-codes.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Signals during work in steps: the first stops the work after the current step, the second exits at once. */
export class Interrupt {
  #by: (typeof SIGNALS)[number] | null = null;

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#on);
  }

  get came(): boolean {
    return this.#by !== null;
  }

  /** Throws the exit code of the signal, without a message. */
  throwIfCame(): void {
    if (this.#by !== null) throw new Exit(exitCodeOfSignal(this.#by));
  }

  /** Removes the signal handlers. */
  done(): void {
    for (const name of SIGNALS) process.off(name, this.#on);
  }

  readonly #on = (name: (typeof SIGNALS)[number]): void => {
    if (this.#by !== null) process.exit(exitCodeOfSignal(name));
    this.#by = name;
  };
}

/** Records SIGINT and SIGTERM for the exit code. The worker itself handles them. */
export class Signals {
  #received: NodeJS.Signals[] = [];

  constructor() {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => this.#received.push(signal));
    }
  }

  get first(): NodeJS.Signals | null {
    return this.#received[0] ?? null;
  }

  /** Exit code after a second signal; null: one signal at most. */
  get forced(): number | null {
    const last = this.#received.at(-1);
    return this.#received.length > 1 && last ? exitCodeOfSignal(last) : null;
  }
}
