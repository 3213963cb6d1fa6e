import type { RateRecord } from "../store/records.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../time.ts";

/** A rate of a job, of a key, of a queue or of a named limit, and how much of it is spent. */
export interface RateInfo extends Omit<RateRecord, "opensAt" | "slowedUntil"> {
  /** When the next run may start; null: now. */
  opensAt: Date | null;
  /** Until when `run.slowDown()` of a handler has closed it; null: none has. */
  slowedUntil: Date | null;
}

export function toRateInfo({ opensAt, slowedUntil, ...rate }: RateRecord): RateInfo {
  const toDate = (time: number | null) => (time === null ? null : new Date(time));
  return { ...rate, opensAt: toDate(opensAt), slowedUntil: toDate(slowedUntil) };
}

/** Returns the owner of a rate in words: `job mail`, `job sync, key a`, `queue api`, `limit openai`. */
export function rateSubject({
  job,
  key,
  queue,
  name,
}: Pick<RateRecord, "job" | "key" | "queue" | "name">): string {
  if (name !== undefined) return `limit ${name}`;
  if (job === null) return `queue ${queue}`;
  return key === null ? `job ${job}` : `job ${job}, key ${key}`;
}

/** Returns a rate in words: `100 in 1 min`. */
export function rateText({ limit, per, burst }: Pick<RateRecord, "limit" | "per" | "burst">): string {
  return `${limit} in ${lengthText(per)}${burst === null ? "" : `, burst ${burst}`}`;
}

const UNITS = [
  [DAY, "d"],
  [HOUR, "h"],
  [MINUTE, "min"],
  [SECOND, "s"],
] as const;

/** Returns a duration in the largest unit of which it is a whole number. */
function lengthText(ms: number): string {
  const [size, unit] = UNITS.find(([size]) => ms % size === 0) ?? [1, "ms"];
  return `${ms / size} ${unit}`;
}
