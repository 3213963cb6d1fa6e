import type { NextOpening } from "./chooser.ts";
import type { ClaimRequest } from "./store.ts";

/** The opening of a claim that left no run because of a rate. */
export const NO_OPENING: NextOpening = { at: Number.POSITIVE_INFINITY, isAll: false };

/**
 * Longest that a worker does not look at runs that rates hold back, in milliseconds. A changed rate, or a run that
 * another worker gives back, is found after this time at the latest.
 */
const LONGEST = 30_000;

/** As `LONGEST`, while nothing tells the worker of new runs. */
const LONGEST_UNWATCHED = 2000;

interface Look {
  /** The first opening. */
  at: number;
  /** When the look was, on the monotonic clock. */
  looked: number;
  /** The request, and what the look depended on besides the runs. */
  basis: string;
}

/** The result of one look. */
interface LookResult {
  claimed: unknown[];
  opening: NextOpening;
  isGateHeld?: boolean;
  isUnfinished: boolean;
}

/**
 * Remembers the looks that found only runs which rates hold back. Until the first of these rates opens, the worker need
 * not look again, unless a change is reported: it then sends no more statements than an idle worker.
 */
export class QuietLooks {
  readonly #monotonic: () => number;
  readonly #isWatched: () => boolean;
  readonly #looks = new Map<string, Look>();

  constructor(monotonic: () => number, isWatched: () => boolean) {
    this.#monotonic = monotonic;
    this.#isWatched = isWatched;
  }

  /** Lets every worker look again: definitions may have changed. */
  clear(): void {
    this.#looks.clear();
  }

  /** Lets a worker that ends look again when it starts again: until then nothing is reported to it. */
  forget(worker: string): void {
    this.#looks.delete(worker);
  }

  /** Records the result of a look. `facts`: what it depended on besides the runs under limits. */
  looked(worker: string, claim: ClaimRequest, facts: unknown, result: LookResult): void {
    const { claimed, opening, isGateHeld = false, isUnfinished } = result;
    const isQuiet = claimed.length === 0 && opening.isAll && !isGateHeld && !isUnfinished;
    if (!isQuiet || opening.at === Number.POSITIVE_INFINITY) this.#looks.delete(worker);
    else {
      const basis = basisOf(claim, facts);
      this.#looks.set(worker, { at: opening.at, looked: this.#monotonic(), basis });
    }
  }

  /** Returns until when the worker need not look at runs under limits; null: it must look now. */
  until(worker: string, claim: ClaimRequest, facts: unknown, now: number): number | null {
    const look = this.#looks.get(worker);
    if (!look) return null;
    const longest = this.#isWatched() ? LONGEST : LONGEST_UNWATCHED;
    const holds =
      !claim.immediate &&
      now < look.at &&
      this.#monotonic() - look.looked < longest &&
      look.basis === basisOf(claim, facts);
    if (holds) return look.at;
    this.#looks.delete(worker);
    return null;
  }
}

/** Returns when a worker should claim again: for a run that is due, or when a rate opens. */
export function nextClaim(nextDue: number | null, { at }: NextOpening): number | null {
  return at === Number.POSITIVE_INFINITY ? nextDue : Math.min(nextDue ?? at, at);
}

function basisOf({ queues, exceptQueues, crashed, exclude }: ClaimRequest, facts: unknown): string {
  return JSON.stringify([queues, exceptQueues, crashed > 0, exclude, facts]);
}
