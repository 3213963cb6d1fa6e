import { formatValue, PunctualError } from "../errors.ts";
import { toFailure } from "../run/failure.ts";
import type { DefinitionFacts } from "../status/report.ts";
import type { ReadLimits, StoreReads } from "../store/reads.ts";
import type { Store } from "../store/store.ts";
import { type Clock, type Duration, inTime, toMilliseconds } from "../time.ts";
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
  /** The error after which statements are being retried, as the driver threw it; null: the database answers. */
  databaseFault(): unknown;
  writeCounts(): Promise<void>;
  definitions(): readonly DefinitionFacts[];
}

const DEFAULT_TIMEOUT = 5;

/** Longest wait for counts, in milliseconds. In an outage they must not use up the time that the caller has. */
const LONGEST_FLUSH = 1000;

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

  override definitions(): readonly DefinitionFacts[] {
    return this.#parts.definitions();
  }

  protected override async openReads(): Promise<StoreReads> {
    this.#limits.signal?.throwIfAborted();
    const { timeout, signal } = this.#limits;
    const store = await inTime(this.#parts.openStore(), timeout, signal, () => this.#notOpened());
    return store.limited(this.#limits);
  }

  /** Counts that cannot be written in time are written later: the report is a few seconds old. */
  protected override async writeCounts(): Promise<void> {
    const longest = Math.min(LONGEST_FLUSH, this.#limits.timeout);
    await inTime(this.#parts.writeCounts(), longest, undefined, () => null).catch(() => {});
  }

  /** No query has been sent yet, so the database is to blame. */
  #notOpened(): PunctualError {
    const fault = this.#parts.databaseFault();
    const why = fault === null ? "Check that it is running." : toFailure(fault).message;
    const message = `The database could not be opened within ${this.#limits.timeout / 1000} s. ${why}`;
    return new PunctualError("DATABASE_UNAVAILABLE", message, fault === null ? {} : { cause: fault });
  }
}
