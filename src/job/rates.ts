import { formatValue, PunctualError } from "../errors.ts";
import type { Rate } from "../store/rate.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import type { Settings } from "./settings.ts";

/** How many runs may start within a time: `{ limit: 500, per: "1m" }`. */
export interface RateOptions {
  /** Most starts in any window of the length `per`, wherever it begins. */
  limit: number;
  /** Length of the window, at least 10 ms. */
  per: Duration;
  /** Most starts ahead of an even pace, at most `limit`. Default: as many as the limit admits. */
  burst?: number | undefined;
}

/** Options of `rate()`. */
export interface JobRateOptions<Args> {
  /** Most starts ahead of an even pace, at most the limit. Default: as many as the limit admits. */
  burst?: number | undefined;
  /** Most starts of runs with the same key in the same time, or that and a burst. */
  perKey?: number | { limit: number; burst?: number | undefined } | undefined;
  /** Returns the key for the arguments, as in `concurrency()`; null or undefined: the run has none. */
  by?: ((args: Args) => string | number | bigint | null | undefined) | undefined;
}

/** Shorter windows are not worth the time that a claim takes. */
const SHORTEST = 10;

/** Checks the options of a rate. `what`: the call that they belong to. */
export function checkRate(options: RateOptions, what: string): Rate {
  checkKeys(options, { limit: true, per: true, burst: true }, what);
  const limit = checkInteger(options.limit, `the limit of ${what}`, 1);
  const per = toMilliseconds(options.per, `the time of ${what}`);
  if (per < SHORTEST) {
    throw refusal(
      `Expected the time of ${what} as at least ${SHORTEST} ms, got ${formatValue(options.per)}.`,
    );
  }
  if (options.burst === undefined) return { limit, per, burst: null };
  const burst = checkInteger(options.burst, `burst of ${what}`, 1);
  if (burst > limit) {
    throw refusal(
      `Expected burst of ${what} as at most the limit, ${limit}, got ${burst}: a burst is how many runs may start ahead of an even pace.`,
    );
  }
  return { limit, per, burst };
}

/** Checks the arguments of `rate()` and returns the settings that they change. */
export function toRates<Args>(
  limit: number | null,
  per: Duration,
  options: JobRateOptions<Args>,
  settings: Settings,
): Pick<Settings, "rates" | "keyOf"> {
  checkKeys(options, { burst: true, perKey: true, by: true }, "rate()");
  const { burst, perKey, by } = options;
  if (limit === null && perKey === undefined) {
    throw refusal("rate() expected a limit, or null and perKey, got null and no perKey.");
  }
  if (limit === null && burst !== undefined) {
    throw refusal(
      "burst of rate() belongs to a limit, got null as the limit. Write perKey: { limit, burst }.",
    );
  }
  if (by !== undefined && perKey === undefined) {
    throw refusal("by of rate() needs perKey: how many runs with the same key may start in the time.");
  }
  const job = limit === null ? null : checkRate({ limit, per, burst }, "rate()");
  const ofKey = typeof perKey === "object" ? perKey : { limit: perKey as number };
  if (perKey !== undefined) checkKeys(ofKey, { limit: true, burst: true }, "perKey of rate()");
  const key = perKey === undefined ? null : checkRate({ ...ofKey, per }, "perKey of rate()");
  const under = settings.rates?.under;
  return {
    rates: { job, key, ...(under && { under }) },
    keyOf: by === undefined ? settings.keyOf : checkKeyFunction(by, settings),
  };
}

/** Throws INVALID_OPTION unless `by` of `rate()` and `concurrency()` are the same function. */
export function checkSameKey(by: Settings["keyOf"], known: Settings["keyOf"]): void {
  if (known === null || by === null || by === known) return;
  throw refusal(
    "concurrency() and rate() of a job share one key, got two different functions as by. Give by once, or the same function twice.",
  );
}

function checkKeyFunction(by: unknown, { keyOf }: Settings): Settings["keyOf"] {
  if (typeof by !== "function") throw refusal(`by of rate() expected a function, got ${formatValue(by)}.`);
  checkSameKey(by as Settings["keyOf"], keyOf);
  return by as Settings["keyOf"];
}

function refusal(message: string): PunctualError {
  return new PunctualError("INVALID_OPTION", message);
}
