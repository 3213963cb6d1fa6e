import type { Rate } from "./rate.ts";

/** The rates of a job; null: none. */
export interface JobRates {
  /** Of all its runs. */
  job: Rate | null;
  /** Of the runs of each key. */
  key: Rate | null;
  /** The named limit that its runs are under, which other jobs may share; absent: none. */
  under?: UnderLimit;
}

export interface UnderLimit {
  /** Name of the limit. */
  limit: string;
  /** Whether the job computes what the start of a run costs; false: each start costs 1. */
  hasCost: boolean;
}

/** The columns of a row of `jobs` that have its limits. */
export interface LimitColumns {
  lim: number;
  key_lim: number;
}

/** Added to the limit per key of a job with rates. */
const RATED = 2 ** 30;

/** The limit of a queue that has a rate and no limit. */
const NONE = 2 ** 31 - 1;

/**
 * Returns the columns for the limits of a job. Versions before schema 12 do not know rates. They find no room for any
 * run of a job with a negative limit, and put its runs under limits because of its limit per key. So they leave the
 * runs of a job with rates to newer workers, and nothing that reads the limit hint has to know of rates (note 61).
 */
export function storedLimits(limit: number, keyLimit: number, rates: JobRates | null): LimitColumns {
  if (!rates) return { lim: limit, key_lim: keyLimit };
  return { lim: -1 - limit, key_lim: RATED + Math.min(keyLimit, RATED - 1) };
}

/** Whether the job has rates. The column `rate` alone does not tell: an older worker that defines the job leaves it. */
export function hasRates({ lim }: Pick<LimitColumns, "lim">): boolean {
  return lim < 0;
}

export function jobLimitOf({ lim }: Pick<LimitColumns, "lim">): number {
  return lim < 0 ? -1 - lim : lim;
}

export function keyLimitOf({ lim, key_lim: keyLimit }: LimitColumns): number {
  return lim < 0 ? keyLimit - RATED : keyLimit;
}

/** Returns the column for the limit of a queue. With a rate it is above 0, so that its runs are under limits. */
export function storedQueueLimit(limit: number, rate: Rate | null): number {
  return rate && limit === 0 ? NONE : limit;
}

export function queueLimitOf(lim: number): number {
  return lim === NONE ? 0 : lim;
}

/** The rate of a job under a named limit, as code of schemas 12 to 14 reads it: it admits no run. */
const CLOSED: Rate = { limit: 0, per: 1000, burst: null };

/**
 * Returns the text for the rates of a job. Code of schemas 12 to 14 does not know named limits. It finds a rate there
 * that admits no run, and `own` has the one that the job has (note 64).
 */
export function writeRates(rates: JobRates | null): string | null {
  if (!rates?.under) return rates && JSON.stringify(rates);
  const { job, key, under } = rates;
  return JSON.stringify({ job: CLOSED, key, under, own: job });
}

export function readRates(text: string | null): JobRates | null {
  if (text === null) return null;
  const { own = null, ...rates } = JSON.parse(text) as JobRates & { own?: Rate | null };
  return rates.under ? { ...rates, job: own } : rates;
}

export function writeRate(rate: Rate | null): string | null {
  return rate && JSON.stringify(rate);
}

export function readRate(text: string | null): Rate | null {
  return text === null ? null : (JSON.parse(text) as Rate);
}
