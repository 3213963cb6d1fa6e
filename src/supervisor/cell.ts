import type { ClaimedRun } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Cell, ExecutionObserver, RunnableJob } from "../worker/executor.ts";
import type { Child } from "./child.ts";

/** Longest a crashed run waits for the replacement of a child. */
const BOOTED_WITHIN = 30_000;

export interface CellParts {
  clock: Clock;
  run: ClaimedRun;
  /** Returns the children that take runs and are not closed. */
  open(): Child[];
  /** Replaces a child, to get an empty one. Returns false if enough children are being replaced. */
  replace(child: Child): boolean;
  execute(child: Child | null, run: ClaimedRun, job: RunnableJob, observer: ExecutionObserver): void;
  ended(): void;
}

/** A child that is closed for one run. Until the run starts, another child replaces it if that one is empty earlier. */
export class ChildCell implements Cell {
  readonly #parts: CellParts;
  #child: Child | null = null;
  #isTaken = false;
  /** Until when the replacement of a child is awaited; monotonic. Null: no child is being replaced. */
  #replacedUntil: number | null = null;

  constructor(parts: CellParts) {
    this.#parts = parts;
    this.#choose();
  }

  get child(): Child | null {
    return this.#child;
  }

  isEmpty(): boolean {
    if (!this.#isTaken) this.#choose();
    return this.#child !== null && this.#child.executions.size === 0;
  }

  vacate(): boolean {
    const { clock, replace } = this.#parts;
    const now = clock.monotonic();
    if (this.#replacedUntil === null && this.#child && replace(this.#child)) {
      this.#child = null;
      this.#replacedUntil = now + BOOTED_WITHIN;
    }
    return this.#replacedUntil !== null && now < this.#replacedUntil;
  }

  execute(...of: Parameters<Cell["execute"]>): void {
    this.#isTaken = true;
    this.#parts.execute(this.#child, ...of);
  }

  open(): void {
    this.#isTaken = true;
    this.#child = null;
    this.#parts.ended();
  }

  /** Notes that a child has ended. */
  lose(child: Child): void {
    if (this.#child === child) this.#child = null;
  }

  /** Chooses an empty child; without one, the child with the fewest runs. */
  #choose(): void {
    if (this.#child?.state === "ready" && this.#child.executions.size === 0) return;
    const { name } = this.#parts.run;
    const size = (child: Child) => child.executions.size;
    const others = this.#parts
      .open()
      .filter((child) => child.isAnswering)
      .sort((a, b) => size(a) - size(b) || Number(a.lacks.has(name)) - Number(b.lacks.has(name)));
    const best = others[0] ?? null;
    if (best && size(best) === 0) this.#child = best;
    else if (this.#child?.state !== "ready") this.#child = this.#replacedUntil === null ? best : null;
  }
}
