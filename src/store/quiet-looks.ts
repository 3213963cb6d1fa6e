import type { NextOpening } from "./chooser.ts";
import type { ClaimRequest } from "./store.ts";

/** The opening of a claim that left no run because of a rate. */
export const NO_OPENING: NextOpening = { at: Number.POSITIVE_INFINITY, isAll: false };

/**
 * Longest that a worker does not look at runs that rates hold back, in milliseconds. A changed rate, or a run that
 * another worker gives back, is found after this time at the latest.
 */
const LONGEST_WATCHED = 30_000;

/** As `LONGEST_WATCHED`, while nothing tells the worker of new runs. */
const LONGEST_UNWATCHED = 2000;

/**
 * As `LONGEST_WATCHED`, while changes are reported to the worker that concern no run. After this time at the latest it
 * finds what the news of a look does not show: definitions, and operations on runs, of other processes.
 */
const LONGEST_WITHOUT_NEWS = 5000;

/** A look that found only runs which rates hold back. */
interface QuietLook {
  /** When the first of these rates opens. */
  opensAt: number;
  /** When the look was, on the monotonic clock. */
  lookedAt: number;
  /** The request and the facts that the look depended on besides the runs, as text. */
  basis: string;
  /** See `LookResult`. */
  news: string | null;
}

/** The result of one look. */
interface LookResult {
  claimed: unknown[];
  opening: NextOpening;
  isGateHeld?: boolean;
  isUnfinished: boolean;
  /**
   * A text that differs once another process has made a run ready, read together with the runs. Null: every report of a
   * change is news.
   */
  news?: string | null;
}

/**
 * Remembers the looks that found only runs which rates hold back. Until the first of these rates opens, the worker need
 * not look again, unless a change is reported: it then sends no more statements than an idle worker.
 */
export class QuietLooks {
  readonly #monotonic: () => number;
  readonly #isWatched: () => boolean;
  readonly #looks = new Map<string, QuietLook>();

  constructor(monotonic: () => number, isWatched: () => boolean) {
    this.#monotonic = monotonic;
    this.#isWatched = isWatched;
  }

  /** Lets every worker look again: definitions may have changed. */
  clear(): void {
    this.#looks.clear();
  }

  /** Lets a worker that ends look again when it starts again: no change is reported to it meanwhile. */
  forget(worker: string): void {
    this.#looks.delete(worker);
  }

  /** Records the result of a look. `facts`: what it depended on besides the runs under limits. */
  record(worker: string, claim: ClaimRequest, facts: unknown, result: LookResult): void {
    const { opening, isGateHeld = false, news = null } = result;
    if (!isQuiet(result) || isGateHeld || opening.at === Number.POSITIVE_INFINITY) this.#looks.delete(worker);
    else {
      const basis = basisOf(claim, facts);
      this.#looks.set(worker, { opensAt: opening.at, lookedAt: this.#monotonic(), basis, news });
    }
  }

  /**
   * Returns until when the worker need not look at runs under limits; null: it must look now. `readNews`: reads the
   * news of this moment, if the store has it.
   */
  until(
    worker: string,
    claim: ClaimRequest,
    facts: unknown,
    { now, readNews }: { now: number; readNews?: () => string },
  ): number | null {
    const look = this.#looks.get(worker);
    if (!look) return null;
    const longest = this.#isWatched() ? LONGEST_WATCHED : LONGEST_UNWATCHED;
    const age = this.#monotonic() - look.lookedAt;
    const holds =
      now < look.opensAt &&
      age < longest &&
      look.basis === basisOf(claim, facts) &&
      (!claim.immediate || (age < LONGEST_WITHOUT_NEWS && look.news !== null && look.news === readNews?.()));
    if (holds) return look.opensAt;
    this.#looks.delete(worker);
    return null;
  }
}

/** Whether a look found only runs that rates hold back, unless others held the gates. */
export function isQuiet({ claimed, opening, isUnfinished }: LookResult): boolean {
  return claimed.length === 0 && opening.isAll && !isUnfinished;
}

/** Returns when a worker should claim again: for a run that is due, or when a rate opens. */
export function nextClaim(nextDue: number | null, { at }: NextOpening): number | null {
  return at === Number.POSITIVE_INFINITY ? nextDue : Math.min(nextDue ?? at, at);
}

function basisOf({ queues, exceptQueues, crashed, exclude }: ClaimRequest, facts: unknown): string {
  return JSON.stringify([queues, exceptQueues, crashed > 0, exclude, facts]);
}
