import type { Clock } from "../../time.ts";

/** Shortest interval between two looks of a busy worker. */
const LOOK_EVERY = 100;

/** Waits between the looks at a batch in a caller's transaction. After the last one it is left to the sweep. */
const FIRST_WAIT = 50;
const LONGEST_WAIT = 30_000;

export interface LookParts {
  clock: Clock;
  /** Marks what is due in these batches. Returns whether it dispatched anything. */
  look(batches: number[]): Promise<boolean>;
}

/**
 * Decides when a process looks at batches whose members it has ended. A look comes after the commit: of two processes
 * that end the last two members at the same time, at least one then sees both ends.
 */
export class BatchLooks {
  readonly #parts: LookParts;
  #waiting = new Set<number>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | null = null;
  readonly #underWay = new Set<Promise<boolean>>();

  constructor(parts: LookParts) {
    this.#parts = parts;
  }

  /**
   * Looks at once if the worker has nothing else to do, and resolves when that is done; otherwise ten times a second at
   * most, beside the exchanges. Returns whether anything was dispatched. Never rejects: the sweep repeats a failed look.
   */
  async exchanged(batches: ReadonlySet<number>, isIdle: boolean): Promise<boolean> {
    for (const batch of batches) this.#waiting.add(batch);
    if (this.#waiting.size === 0) return false;
    const { clock } = this.#parts;
    if (isIdle || clock.manual) return this.now();
    const wait = LOOK_EVERY - (clock.monotonic() - this.#lookedAt);
    if (wait <= 0) void this.now();
    else this.#cancelTimer ??= clock.after(wait, () => void this.now(), { background: true });
    return false;
  }

  /** Looks repeatedly, with longer waits: the store does not learn when the caller of `within()` commits. */
  later(batch: number, isOver: () => Promise<boolean>, wait: number = FIRST_WAIT): void {
    const look = async () => {
      this.#waiting.add(batch);
      await this.now();
      if (wait < LONGEST_WAIT && !(await isOver())) this.later(batch, isOver, wait * 2);
    };
    // The janitor's sweep finds a batch whose look has failed.
    this.#parts.clock.after(wait, () => void look().catch(() => {}), { background: true });
  }

  /** Looks at all batches that wait for it. */
  async now(): Promise<boolean> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const batches = [...this.#waiting];
    if (batches.length === 0) return false;
    this.#waiting = new Set();
    this.#lookedAt = this.#parts.clock.monotonic();
    const looking = this.#parts.look(batches).catch(() => false);
    this.#underWay.add(looking);
    return looking.finally(() => this.#underWay.delete(looking));
  }

  /** Looks at all batches that wait for it, and resolves when no look is under way. */
  async end(): Promise<void> {
    await this.now();
    await Promise.all(this.#underWay);
  }
}
