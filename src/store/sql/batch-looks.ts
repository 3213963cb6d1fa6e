import type { Clock } from "../../time.ts";

/** Shortest interval between two looks of a busy worker, in milliseconds. */
const LOOK_EVERY = 100;

/**
 * First and longest wait between looks at a batch in a caller's transaction, in milliseconds. After the longest one the
 * batch is left to the sweep.
 */
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
   * most, beside the exchanges. Returns whether anything was dispatched. Never rejects: the sweep repeats a failed
   * look.
   */
  async lookAfter(batches: ReadonlySet<number>, isIdle: boolean): Promise<boolean> {
    for (const batch of batches) this.#waiting.add(batch);
    if (this.#waiting.size === 0) return false;
    const { clock } = this.#parts;
    if (isIdle || clock.manual) return this.lookNow();
    const wait = LOOK_EVERY - (clock.monotonic() - this.#lookedAt);
    if (wait <= 0) void this.lookNow();
    else this.#cancelTimer ??= clock.after(wait, () => void this.lookNow(), { background: true });
    return false;
  }

  /** Looks repeatedly, with longer waits: the store does not learn when the caller of `within()` commits. */
  lookRepeatedly(batch: number, isOver: () => Promise<boolean>, wait: number = FIRST_WAIT): void {
    const look = async () => {
      this.#waiting.add(batch);
      await this.lookNow();
      if (wait < LONGEST_WAIT && !(await isOver())) this.lookRepeatedly(batch, isOver, wait * 2);
    };
    // The janitor's sweep finds a batch whose look has failed.
    this.#parts.clock.after(wait, () => void look().catch(() => {}), { background: true });
  }

  /** Looks at all batches that wait for a look. Returns whether anything was dispatched. */
  async lookNow(): Promise<boolean> {
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

  /** Looks at all batches that wait for a look, and resolves when no look is under way. */
  async finish(): Promise<void> {
    await this.lookNow();
    await Promise.all(this.#underWay);
  }
}
