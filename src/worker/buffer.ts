import { type LaneWeight, Rotation } from "../run/rotation.ts";
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
  #runs: ClaimedRun[] = [];
  /** When each of these runs was claimed; monotonic. */
  #since: number[] = [];
  #next = 0;
  readonly #fair: ReadonlyMap<string, LaneWeight | null>;
  /** The order of fair queues: a run that was just claimed must not wait for all that other lanes have prefetched. */
  readonly #rotation: Rotation;

  constructor(inShares: boolean, fair: ReadonlyMap<string, LaneWeight | null> = new Map()) {
    this.inShares = inShares;
    this.#fair = fair;
    this.#rotation = new Rotation(fair, () => 0);
  }

  get size(): number {
    return this.#runs.length - this.#next;
  }

  /** Number of buffered runs that are under a limit. */
  get limited(): number {
    let limited = 0;
    for (let index = this.#next; index < this.#runs.length; index++)
      if (this.#runs[index]!.limited) limited++;
    return limited;
  }

  add(runs: ClaimedRun[], since: number): void {
    if (runs.length === 0) return;
    this.#compact();
    let last = this.#runs.at(-1);
    let isSorted = !this.inShares && this.#fair.size === 0;
    for (const run of runs) {
      isSorted &&= last === undefined || byUrgency(last, run) <= 0;
      this.#runs.push(run);
      this.#since.push(since);
      last = run;
    }
    if (!isSorted) this.#sort();
  }

  #compact(): void {
    this.#runs = this.#runs.slice(this.#next);
    this.#since = this.#since.slice(this.#next);
    this.#next = 0;
  }

  #sort(): void {
    const all = this.#runs.map((run, index) => ({ run, since: this.#since[index]! }));
    const sorted = this.inShares ? inTurn(all) : all.sort((a, b) => byUrgency(a.run, b.run));
    const arranged = this.#fair.size > 0 ? this.#arrange(sorted) : sorted;
    this.#runs = arranged.map(({ run }) => run);
    this.#since = arranged.map(({ since }) => since);
  }

  #arrange(sorted: BufferedRun[]): BufferedRun[] {
    const since = new Map(sorted.map((one) => [one.run, one.since]));
    const runs = this.#rotation.arrange(sorted.map(({ run }) => run));
    return runs.map((run) => ({ run, since: since.get(run)! }));
  }

  peek(): ClaimedRun | undefined {
    return this.#runs[this.#next];
  }

  take(): ClaimedRun | undefined {
    if (this.size === 0) return undefined;
    const run = this.#runs[this.#next++]!;
    if (this.#fair.size > 0) this.#rotation.took([run]);
    return run;
  }

  /** Takes out the runs that were claimed at `before` or earlier. */
  takeWaiting(before: number): ClaimedRun[] {
    return this.#extract((_, since) => since <= before);
  }

  takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return this.#extract(wanted);
  }

  takeAll(): ClaimedRun[] {
    return this.#extract(() => true);
  }

  #extract(wanted: (run: ClaimedRun, since: number) => boolean): ClaimedRun[] {
    this.#compact();
    const runs = this.#runs;
    const isTaken = runs.map((run, index) => wanted(run, this.#since[index]!));
    if (!isTaken.includes(true)) return [];
    this.#runs = runs.filter((_, index) => !isTaken[index]);
    this.#since = this.#since.filter((_, index) => !isTaken[index]);
    return runs.filter((_, index) => isTaken[index]);
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
