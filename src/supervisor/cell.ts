import type { ClaimedRun } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Cell, Execution, Runnable } from "../worker/executor.ts";
import type { Child } from "./child.ts";

/** Longest a crashed run waits for the replacement of a child. */
const BOOTED_WITHIN = 30_000;

export interface CellParts {
  clock: Clock;
  run: ClaimedRun;
  /** Children that take runs and that no cell has. */
  open(): Child[];
  /** Replaces a child, so that there is an empty one. False: enough of them are being replaced. */
  replace(child: Child): boolean;
  execute(run: ClaimedRun, job: Runnable, child: Child | null): Execution;
  ended(): void;
}

/** A child that is given one run only. Until the run starts, any child that is empty earlier takes its place. */
export class ChildCell implements Cell {
  readonly #parts: CellParts;
  #child: Child | null = null;
  #isTaken = false;
  /** Monotonic; null: no child was replaced for it. */
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

  execute(run: ClaimedRun, job: Runnable): Execution {
    this.#isTaken = true;
    return this.#parts.execute(run, job, this.#child);
  }

  open(): void {
    this.#isTaken = true;
    this.#child = null;
    this.#parts.ended();
  }

  /** Its child has ended. */
  lose(child: Child): void {
    if (this.#child === child) this.#child = null;
  }

  /** An empty one before all; else the one that will be empty first, as far as one can tell. */
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
