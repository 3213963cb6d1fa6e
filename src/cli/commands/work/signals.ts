import { exitCodeOfSignal } from "../../output/exit-codes.ts";

/** Counts the signals that ask for an end, beside whoever acts on them. */
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

  /** What a process ends with that was told twice; null: it could end in peace. */
  get forced(): number | null {
    const last = this.#received.at(-1);
    return this.#received.length > 1 && last ? exitCodeOfSignal(last) : null;
  }
}
