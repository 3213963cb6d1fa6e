import type { Clock } from "../../time.ts";
import { SECOND } from "../../time.ts";
import { HttpProblem } from "../server/problem.ts";

/** How long a result is shared with later requests. A page polls every two seconds at most. */
const SHARED_FOR: number = SECOND;

/** Longest time of one call to the store, which cancels the statement then, or reports that the database is down. */
export const STORE_TIMEOUT: number = 5 * SECOND;

/**
 * Longest wait for a response. The store knows best why it has no answer, so this wait must outlast its timeout: a
 * response may need two calls, the first of which may be slow, and up to a second for the counts of this process.
 */
const LONGEST_READ: number = 2 * STORE_TIMEOUT + 2 * SECOND;

interface Entry {
  startedAt: number;
  value: Promise<unknown>;
}

/**
 * Lets equal reads share one result: requests that arrive while a read is under way wait for it, requests within a
 * second after it get the same result. Any number of open pages costs the database as much as one.
 */
export class SharedReads {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the result of `read`, or of an equal read. Throws QUERY_TIMED_OUT after `LONGEST_READ`. */
  get<Value>(key: string, read: () => Promise<Value>): Promise<Value> {
    const known = this.#entries.get(key) ?? this.#start(key, read);
    return this.#inTime(known) as Promise<Value>;
  }

  /**
   * Forgets all results, when something has changed: after an action its caller must see the effect, after an event its
   * receivers. Reads under way are not joined any more.
   */
  forget(): void {
    this.#entries.clear();
  }

  #start(key: string, read: () => Promise<unknown>): Entry {
    const entry: Entry = { startedAt: this.#clock.monotonic(), value: read() };
    this.#entries.set(key, entry);
    const drop = () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    };
    // A read that timed out stays until it ends: it is not started again while the database works on it.
    entry.value.then(() => this.#clock.after(SHARED_FOR, drop, { background: true }), drop);
    return entry;
  }

  #inTime({ startedAt, value }: Entry): Promise<unknown> {
    const left = startedAt + LONGEST_READ - this.#clock.monotonic();
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(Math.max(0, left), () => reject(timedOut()), { background: true });
      value.finally(cancel).then(resolve, reject);
    });
  }
}

function timedOut(): HttpProblem {
  return new HttpProblem({
    code: "QUERY_TIMED_OUT",
    detail: `The database did not answer within ${LONGEST_READ / SECOND} seconds.`,
    hint: "Narrow the filter: last 24 h, one queue or one job.",
  });
}
