import type { ClaimedRun } from "../store/store.ts";

/** Among those of one priority the ones under limits come first: while they wait, they keep others from running elsewhere. */
export const inOrder = (a: ClaimedRun, b: ClaimedRun): number =>
  a.priority - b.priority || Number(b.limited) - Number(a.limited) || a.runAt - b.runAt || a.id - b.id;

interface Waiting {
  run: ClaimedRun;
  since: number;
}

/** Runs that are claimed and not yet started, best first. Queues that share by weight come in the order of their claims. */
export class Buffer {
  readonly inShares: boolean;
  #runs: Waiting[] = [];
  #next = 0;

  constructor(inShares: boolean) {
    this.inShares = inShares;
  }

  get size(): number {
    return this.#runs.length - this.#next;
  }

  /** How many of them are under limits. */
  get limited(): number {
    return this.#runs.slice(this.#next).filter(({ run }) => run.limited).length;
  }

  add(runs: ClaimedRun[], since: number): void {
    if (runs.length === 0) return;
    const rest = this.#runs.slice(this.#next);
    for (const run of runs) rest.push({ run, since });
    this.#runs = this.inShares ? inTurn(rest) : rest.sort((a, b) => inOrder(a.run, b.run));
    this.#next = 0;
  }

  peek(): ClaimedRun | undefined {
    return this.#runs[this.#next]?.run;
  }

  take(): ClaimedRun | undefined {
    return this.size > 0 ? this.#runs[this.#next++]!.run : undefined;
  }

  /** Takes out whatever has waited since `before` or longer. */
  takeWaiting(before: number): ClaimedRun[] {
    return this.#extract(({ since }) => since <= before);
  }

  takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return this.#extract(({ run }) => wanted(run));
  }

  takeAll(): ClaimedRun[] {
    return this.#extract(() => true);
  }

  #extract(wanted: (one: Waiting) => boolean): ClaimedRun[] {
    const rest = this.#runs.slice(this.#next);
    const taken = rest.filter(wanted);
    this.#runs = taken.length > 0 ? rest.filter((one) => !wanted(one)) : rest;
    this.#next = 0;
    return taken.map(({ run }) => run);
  }
}

/** Each queue keeps its places, and has its best runs in the first of them. */
function inTurn(all: Waiting[]): Waiting[] {
  const queues = Map.groupBy(all, ({ run }) => run.queue);
  const next = new Map(
    [...queues].map(([queue, runs]) => [queue, runs.sort((a, b) => inOrder(a.run, b.run)).values()]),
  );
  return all.map(({ run }) => next.get(run.queue)!.next().value!);
}
