import { exitCodeOfSignal } from "../../output/exit-codes.ts";

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
