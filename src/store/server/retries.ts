import { systemClock } from "../../time.ts";
import { RETRY_FOR } from "../sql/retry.ts";

/** Longest a read retries the first connection, in milliseconds: a server that never answered is likely mistyped. */
const FIRST_RETRY_FOR = 5000;

/**
 * How long a read-only server is retried before anything was written there, in milliseconds. Then it is likely a wrong
 * address. With the last wait and try, the caller gets the error within 5 s.
 */
const READ_ONLY_RETRY_FOR = 3500;

/** How long calls to a server are retried. */
export class RetryTimes {
  readonly #isPatient: () => boolean;
  #wasReached = false;
  #hasWritten = false;
  #readOnlySince: number | null = null;

  /** `isPatient`: see `OpenOptions`. */
  constructor(isPatient: () => boolean = () => false) {
    this.#isPatient = isPatient;
  }

  get wasReached(): boolean {
    return this.#wasReached;
  }

  reached(): void {
    this.#wasReached = true;
  }

  /** Records a successful write. From then on, a read-only server is an outage. */
  written(): void {
    this.#hasWritten = true;
  }

  get retryFor(): number {
    return this.#wasReached || this.#isPatient() ? RETRY_FOR : FIRST_RETRY_FOR;
  }

  /**
   * Records that a server refused a write because it is read-only. Returns whether the write may be retried. The time
   * is counted over all calls: the ones after it, such as the last writes of a worker that ends, are not retried again.
   */
  mayRetryReadOnly(): boolean {
    if (this.#hasWritten) return true;
    const now = systemClock.monotonic();
    this.#readOnlySince ??= now;
    return now - this.#readOnlySince < READ_ONLY_RETRY_FOR;
  }
}
