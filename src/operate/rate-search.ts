import { formatValue, PunctualError } from "../errors.ts";
import type { RateKind, RateSearch } from "../store/reads.ts";
import type { RateSubject } from "../store/records.ts";
import { checkName } from "../validate/names.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";

/** Options of `rates()`. With several of `job`, `queue` and `name`, it lists the rates of each. */
export interface RatesOptions {
  /** Only the rates of this job. */
  job?: string | undefined;
  /** Only the rate of this queue. */
  queue?: string | undefined;
  /** Only the rate of this named limit. */
  name?: string | undefined;
  /** Only rates of this kind. */
  kind?: RateKind | undefined;
  /** Most rates to list. Default: 1,000, which is also the maximum. */
  limit?: number | undefined;
}

/** Most rates that `rates()` returns. */
const MOST_RATES = 1000;

const KINDS: readonly RateKind[] = ["job", "key", "queue", "limit"];

export function toRateSearch(options: RatesOptions): RateSearch {
  checkKeys(options, { limit: true, job: true, queue: true, name: true, kind: true }, "rates()");
  const { limit = MOST_RATES, job, queue, name, kind } = options;
  if (kind !== undefined && !KINDS.includes(kind)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected the kind of rates() as one of ${KINDS.join(", ")}, got ${formatValue(kind)}.`,
    );
  }
  return { most: checkInteger(limit, "rates() limit", 1, MOST_RATES), job, queue, name, kind };
}

/** The rates that `reopenRate()` reopens: of a job and all its keys, of one key, of a queue or of a named limit. */
export type RateChoice =
  | { job: string; key?: string | undefined; queue?: undefined; name?: undefined }
  | { queue: string; job?: undefined; key?: undefined; name?: undefined }
  | { name: string; job?: undefined; key?: undefined; queue?: undefined };

export function toRateSubject(which: RateChoice): RateSubject {
  checkKeys(which, { job: true, key: true, queue: true, name: true }, "reopenRate()");
  const { job, key, queue, name } = which;
  const given = [job, queue, name].filter((one) => one !== undefined);
  if (given.length !== 1 || (job === undefined && key !== undefined)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `reopenRate() expected a job, a job and a key, a queue, or the name of a limit, got ${formatValue(which)}.`,
    );
  }
  return {
    job: job === undefined ? null : checkName(job, "a job name"),
    key: key === undefined ? null : checkName(key, "a key"),
    queue: queue === undefined ? null : checkName(queue, "a queue name"),
    ...(name !== undefined && { name: checkName(name, "the name of a limit") }),
  };
}
