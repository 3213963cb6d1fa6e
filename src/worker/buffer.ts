import type { ClaimedRun } from "../store/store.ts";

const inOrder = (a: ClaimedRun, b: ClaimedRun) => a.priority - b.priority || a.runAt - b.runAt || a.id - b.id;

/** Runs that are claimed and not yet started, best first. */
export class Buffer {
  #runs: { run: ClaimedRun; since: number }[] = [];
  #next = 0;

  get size(): number {
    return this.#runs.length - this.#next;
  }

  add(runs: ClaimedRun[], since: number): void {
    if (runs.length === 0) return;
    const rest = this.#runs.slice(this.#next);
    for (const run of runs) rest.push({ run, since });
    this.#runs = rest.sort((a, b) => inOrder(a.run, b.run));
    this.#next = 0;
  }

  peek(): ClaimedRun | undefined {
    return this.#runs[this.#next]?.run;
  }

  take(): ClaimedRun | undefined {
    return this.#runs[this.#next++]?.run;
  }

  /** Takes out whatever has waited since before `since` and may go elsewhere. */
  takeWaiting(before: number): ClaimedRun[] {
    // One with a crash behind it waits here until it can run alone.
    return this.#extract(({ run, since }) => since <= before && run.crashes === 0);
  }

  takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return this.#extract(({ run }) => wanted(run));
  }

  takeAll(): ClaimedRun[] {
    return this.#extract(() => true);
  }

  remove(run: ClaimedRun): void {
    this.#extract((one) => one.run === run);
  }

  #extract(wanted: (one: { run: ClaimedRun; since: number }) => boolean): ClaimedRun[] {
    const rest = this.#runs.slice(this.#next);
    const taken = rest.filter(wanted);
    this.#runs = taken.length > 0 ? rest.filter((one) => !wanted(one)) : rest;
    this.#next = 0;
    return taken.map(({ run }) => run);
  }
}
