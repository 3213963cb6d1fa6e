import type { ClaimedRun, Lease } from "../store/store.ts";

/**
 * Runs that a worker may have been executing when it died, while their start is being written. Their handlers are
 * called after that, so that the next crash is charged to the run that caused it (note 46).
 */
export class Suspects {
  readonly #waiting = new Map<number, ClaimedRun>();

  get size(): number {
    return this.#waiting.size;
  }

  /** Holds a run back until its start is written. */
  add(run: ClaimedRun): void {
    this.#waiting.set(run.id, run);
  }

  /** Returns the runs of a stream whose start its next exchange is to write. */
  startsOf(stream: number): ClaimedRun[] {
    return [...this.#waiting.values()].filter((run) => (run.stream ?? 0) === stream);
  }

  /** Notes that these starts are written. Returns the runs among them that may start now. */
  written(starts: Lease[]): ClaimedRun[] {
    return starts.flatMap(({ id, token }) => {
      const run = this.#waiting.get(id);
      if (run?.token !== token) return [];
      this.#waiting.delete(id);
      run.started = true;
      return [run];
    });
  }

  takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    const taken = [...this.#waiting.values()].filter(wanted);
    for (const { id } of taken) this.#waiting.delete(id);
    return taken;
  }
}

/** Whether the start of a run must be written before its handler is called. */
export function mustBeMarked({ suspect, started }: ClaimedRun): boolean {
  return suspect && !started;
}
