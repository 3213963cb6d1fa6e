import { formatValue, PunctualError } from "../errors.ts";
import type { DefinedJob } from "../status/report.ts";
import type { ReadLimits, StoreReads } from "../store/reads.ts";
import type { Store } from "../store/store.ts";
import { type Clock, type Duration, systemClock, toMilliseconds } from "../time.ts";
import { checkKeys } from "../validate/options.ts";
import { Reports } from "./reports.ts";
import type { ValueCache } from "./values.ts";

/** Options of `reading()`. */
export interface ReadingOptions {
  /** Longest time of one call, in seconds or as text such as `"2s"`. Default: 5 seconds; at most one minute. */
  timeout?: Duration | undefined;
  /** Aborts the calls that are under way. */
  signal?: AbortSignal | undefined;
}

/** The parts of an instance that a reading uses. */
export interface ReadingParts {
  readonly clock: Clock;
  readonly valueCache: ValueCache;
  openStore(): Promise<Store>;
  writeCounts(): Promise<void>;
  definitions(): readonly DefinedJob[];
}

const DEFAULT_TIMEOUT = 5;

/** The reads of an instance with a time limit for each call: see `reading()`. */
export class Reading extends Reports {
  readonly #parts: ReadingParts;
  readonly #limits: ReadLimits;

  constructor(parts: ReadingParts, options: ReadingOptions) {
    super();
    checkKeys(options, { timeout: true, signal: true }, "reading()");
    const timeout = toMilliseconds(options.timeout ?? DEFAULT_TIMEOUT, "reading() timeout");
    if (timeout < 1 || timeout > 60_000) {
      throw new PunctualError(
        "INVALID_OPTION",
        `reading() expected a timeout of 0.001 to 60 seconds, got ${formatValue(options.timeout)}.`,
      );
    }
    this.#parts = parts;
    this.#limits = { timeout, signal: options.signal };
  }

  protected override get clock(): Clock {
    return this.#parts.clock;
  }

  protected override get valueCache(): ValueCache {
    return this.#parts.valueCache;
  }

  override definitions(): readonly DefinedJob[] {
    return this.#parts.definitions();
  }

  protected override async openReads(): Promise<StoreReads> {
    this.#limits.signal?.throwIfAborted();
    const store = await this.#inTime(this.#parts.openStore());
    return store.limited(this.#limits);
  }

  /** Counts that cannot be written in time are written later: the report is a few seconds old. */
  protected override async writeCounts(): Promise<void> {
    await this.#inTime(this.#parts.writeCounts()).catch(() => {});
  }

  #inTime<Result>(work: Promise<Result>): Promise<Result> {
    const { timeout } = this.#limits;
    return new Promise((resolve, reject) => {
      const late = () =>
        reject(
          new PunctualError(
            "QUERY_TIMED_OUT",
            `The database could not be opened within ${timeout / 1000} s. Check that it is running, or allow more time.`,
          ),
        );
      const cancel = systemClock.after(timeout, late);
      work.then(resolve, reject).finally(cancel);
    });
  }
}
