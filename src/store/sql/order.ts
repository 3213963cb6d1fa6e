import type { ClaimRequest } from "../store.ts";
import type { Row } from "./claim.ts";

type InOrder = Pick<Row, "priority" | "run_at" | "id">;

export const inOrder = (a: InOrder, b: InOrder): number =>
  a.priority - b.priority || a.run_at - b.run_at || a.id - b.id;

/** The order in which one claim takes what is ready: that of the runs, and between queues that of their shares, if they have any. */
export class Order {
  readonly #stride: ClaimRequest["stride"];
  readonly #places = new Map<string, number[]>();

  constructor({ stride }: Pick<ClaimRequest, "stride">) {
    this.#stride = stride;
  }

  get hasShares(): boolean {
    return this.#stride !== null;
  }

  /** So many of them, best first. `take` says whether a run can be had where it would stand. */
  pick<Run extends InOrder & { queue: string }>(
    runs: Run[],
    wanted: number,
    take: (run: Run, index: number) => boolean,
  ): Run[] {
    const sorted = runs.sort(inOrder);
    if (this.#stride) return this.#pickInTurn(sorted, wanted, take);
    const picked: Run[] = [];
    for (const run of sorted) {
      if (picked.length >= wanted) break;
      if (take(run, picked.length)) picked.push(run);
    }
    return picked;
  }

  /** What cannot be had leaves its place to the next of its queue, and a queue with nothing more leaves its own to the others. */
  #pickInTurn<Run extends { queue: string }>(
    sorted: Run[],
    wanted: number,
    take: (run: Run, index: number) => boolean,
  ): Run[] {
    const picked: Run[] = [];
    const groups = Map.groupBy(sorted, ({ queue }) => queue);
    const queues = [...groups].map(([name, runs]) => ({ name, runs, next: 0, taken: 0 }));
    while (picked.length < wanted && queues.length > 0) {
      const places = queues.map(({ name, taken }) => this.#place(name, taken));
      const first = places.reduce((best, place, index) => (place < places[best]! ? index : best), 0);
      const queue = queues[first]!;
      const run = queue.runs[queue.next++];
      if (!run) queues.splice(first, 1);
      else if (take(run, picked.length)) {
        picked.push(run);
        queue.taken++;
      }
    }
    return picked;
  }

  /** Of the nth run of a queue. The same throughout the claim: runs under limits are picked among themselves first, then with the others. */
  #place(queue: string, nth: number): number {
    const places = this.#places.get(queue) ?? [];
    this.#places.set(queue, places);
    while (places.length <= nth) places.push((places.at(-1) ?? 0) + this.#stride!(queue));
    return places[nth]!;
  }
}
