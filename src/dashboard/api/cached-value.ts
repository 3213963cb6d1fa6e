import type { Clock } from "../../time.ts";

/** A value that is read again only after some time; concurrent callers share one read. */
export class CachedValue<Value> {
  readonly #clock: Clock;
  readonly #keptFor: number;
  readonly #read: () => Promise<Value>;
  #value: { promise: Promise<Value>; until: number; stamp: unknown } | null = null;

  /** `keptFor` in milliseconds. */
  constructor(clock: Clock, keptFor: number, read: () => Promise<Value>) {
    this.#clock = clock;
    this.#keptFor = keptFor;
    this.#read = read;
  }

  /** Returns the value. It is read again earlier if `stamp` differs from the last call's. */
  get(stamp: unknown = null): Promise<Value> {
    const now = this.#clock.monotonic();
    if (this.#value !== null && now < this.#value.until && this.#value.stamp === stamp)
      return this.#value.promise;
    const promise = this.#read();
    const kept = { promise, until: now + this.#keptFor, stamp };
    this.#value = kept;
    promise.catch(() => {
      if (this.#value === kept) this.#value = null;
    });
    return promise;
  }
}
