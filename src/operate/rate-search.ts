import { formatValue, PunctualError } from "../errors.ts";
import type { RateKind, RateSearch } from "../store/reads.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";

/** Options of `rates()`. With `job` and `queue`, it lists the rates of both. */
export interface RatesOptions {
  /** Only the rates of this job. */
  job?: string | undefined;
  /** Only the rate of this queue. */
  queue?: string | undefined;
  /** Only rates of this kind. */
  kind?: RateKind | undefined;
  /** Most rates to list. Default: 1,000, which is also the maximum. */
  limit?: number | undefined;
}

/** Most rates that `rates()` returns. */
const MOST_RATES = 1000;

const KINDS: readonly RateKind[] = ["job", "key", "queue"];

export function toRateSearch(options: RatesOptions): RateSearch {
  checkKeys(options, { limit: true, job: true, queue: true, kind: true }, "rates()");
  const { limit = MOST_RATES, job, queue, kind } = options;
  if (kind !== undefined && !KINDS.includes(kind)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected the kind of rates() as one of ${KINDS.join(", ")}, got ${formatValue(kind)}.`,
    );
  }
  return { most: checkInteger(limit, "rates() limit", 1, MOST_RATES), job, queue, kind };
}
