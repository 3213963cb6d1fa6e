import type { ClaimedRun } from "../store/store.ts";

/** Order of claimed runs. Of one priority, limited runs start first: a claimed run uses its limit while it waits. */
export const byUrgency = (a: ClaimedRun, b: ClaimedRun): number =>
  a.priority - b.priority || Number(b.limited) - Number(a.limited) || a.runAt - b.runAt || a.id - b.id;

interface BufferedRun {
  run: ClaimedRun;
  /** When it was claimed; monotonic. */
  since: number;
}

/**
 * Claimed runs that have not started, the most urgent first. With weights, the order between queues is that of the
 * claim.
 */
export class Buffer {
  /** Whether the queues have weights. */
  readonly inShares: boolean;
  #runs: BufferedRun[] = [];
  #next = 0;

  constructor(inShares: boolean) {
    this.inShares = inShares;
  }

  get size(): number {
    return this.#runs.length - this.#next;
  }

  /** Number of buffered runs that are under a limit. */
  get limited(): number {
    return this.#runs.slice(this.#next).filter(({ run }) => run.limited).length;
  }

  add(runs: ClaimedRun[], since: number): void {
    if (runs.length === 0) return;
    const rest = this.#runs.slice(this.#next);
    for (const run of runs) rest.push({ run, since });
    this.#runs = this.inShares ? inTurn(rest) : rest.sort((a, b) => byUrgency(a.run, b.run));
    this.#next = 0;
  }

  peek(): ClaimedRun | undefined {
    return this.#runs[this.#next]?.run;
  }

  take(): ClaimedRun | undefined {
    return this.size > 0 ? this.#runs[this.#next++]!.run : undefined;
  }

  /** Takes out the runs that were claimed at `before` or earlier. */
  takeWaiting(before: number): ClaimedRun[] {
    return this.#extract(({ since }) => since <= before);
  }

  takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return this.#extract(({ run }) => wanted(run));
  }

  takeAll(): ClaimedRun[] {
    return this.#extract(() => true);
  }

  #extract(wanted: (one: BufferedRun) => boolean): ClaimedRun[] {
    const rest = this.#runs.slice(this.#next);
    const taken = rest.filter(wanted);
    this.#runs = taken.length > 0 ? rest.filter((one) => !wanted(one)) : rest;
    this.#next = 0;
    return taken.map(({ run }) => run);
  }
}

/** Keeps the positions of each queue in the list, and puts its most urgent runs into the first of them. */
function inTurn(all: BufferedRun[]): BufferedRun[] {
  const queues = Map.groupBy(all, ({ run }) => run.queue);
  const next = new Map(
    [...queues].map(([queue, runs]) => [queue, runs.sort((a, b) => byUrgency(a.run, b.run)).values()]),
  );
  return all.map(({ run }) => next.get(run.queue)!.next().value!);
}
