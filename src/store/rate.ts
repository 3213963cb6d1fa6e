/** How many runs may start within a time. Times are milliseconds. */
export interface Rate {
  /** Most starts in any window of the length `per`, wherever it begins. */
  limit: number;
  per: number;
  /** Most starts ahead of an even pace of `limit` in `per`; null: as many as the limit admits. */
  burst: number | null;
}

/** The starts that count towards a rate, by the database's clock. */
export interface Bucket {
  /** Starts, the oldest first: a time and how many. Times ascend. A count of 0 is the time of a `shut`. */
  spent: readonly StartCount[];
  /** When an even pace has caught up with the starts, in microseconds. 0: there is no burst, or it has. */
  paced: number;
  /** Nothing starts before this time, whatever the rate. 0: no such time. */
  shutUntil: number;
}

type StartCount = readonly [at: number, count: number];

export const EMPTY: Bucket = { spent: [], paced: 0, shutUntil: 0 };

/** Most entries of a bucket. Windows are exact for as many claims; with more claims, some starts count for longer. */
const MOST_ENTRIES = 128;

/** Parts of a window in which starts are counted together, if there are too many entries. */
const PARTS = 64;

/**
 * A clock that is behind the last start by more than this was set back. By less, it may be the clock of another node of
 * a cluster: if each of two nodes moved the starts to its own time, they would be forgotten too early.
 */
const SET_BACK = 5000;

/**
 * Whether the clock was set back since the last start. The starts then move along with the clock; the bucket must be
 * written, because the time from now on is counted from there.
 */
export function isSetBack({ spent }: Bucket, clock: number): boolean {
  return (spent.at(-1)?.[0] ?? 0) - clock > SET_BACK;
}

/** Returns the bucket as it counts at a time, without the starts that no window from now on contains. */
export function settle(rate: Rate, bucket: Bucket, clock: number): { bucket: Bucket; now: number } {
  const { bucket: current, now } = follow(bucket, clock);
  const spent = current.spent.filter(([at]) => at + rate.per > now);
  return { bucket: { ...current, spent }, now };
}

/** Returns the bucket with its times moved along with a clock that was set back. */
function follow(bucket: Bucket, clock: number): { bucket: Bucket; now: number } {
  const last = bucket.spent.at(-1)?.[0] ?? 0;
  // The time since the last start is unknown, and at least 0.
  const back = isSetBack(bucket, clock) ? last - clock : 0;
  const now = Math.max(clock, last - back);
  const spent = bucket.spent.map(([at, count]): StartCount => [at - back, count]);
  const paced = Math.max(0, bucket.paced - back * 1000);
  const shutUntil = Math.max(0, bucket.shutUntil - back);
  return { bucket: { spent, paced, shutUntil }, now };
}

/** Returns how many runs may start now. */
export function room(rate: Rate, bucket: Bucket, clock: number): number {
  const { bucket: current, now } = settle(rate, bucket, clock);
  if (current.shutUntil > now) return 0;
  const free = rate.limit - sum(current.spent);
  if (rate.burst === null) return Math.max(0, free);
  const ahead = Math.max(0, current.paced - now * 1000);
  return Math.max(0, Math.min(free, Math.floor((rate.burst * pace(rate) - ahead) / pace(rate))));
}

/** Returns the bucket after `count` runs have started now, or runs that cost as much. */
export function spend(rate: Rate, bucket: Bucket, clock: number, count: number): Bucket {
  const { bucket: current, now } = settle(rate, bucket, clock);
  if (count === 0) return current;
  const spent = [...current.spent];
  const last = spent.at(-1);
  if (last?.[0] === now) spent[spent.length - 1] = [now, last[1] + count];
  else spent.push([now, count]);
  const paced = rate.burst === null ? 0 : Math.max(current.paced, now * 1000) + count * pace(rate);
  return {
    spent: spent.length > MOST_ENTRIES ? compact(spent, rate.per) : spent,
    paced,
    shutUntil: current.shutUntil,
  };
}

/** Returns a bucket with the starts of both. */
export function join(one: Bucket, other: Bucket): Bucket {
  return {
    spent: [...one.spent, ...other.spent].sort(([a], [b]) => a - b),
    paced: Math.max(one.paced, other.paced),
    shutUntil: Math.max(one.shutUntil, other.shutUntil),
  };
}

/**
 * Returns the bucket, closed for at least `ms` from now on. It keeps all starts, whatever the rate, and the time of
 * this call: if the clock is set back, the bucket is closed for as long as it was to be, and not until that time.
 */
export function shut(bucket: Bucket, clock: number, ms: number): Bucket {
  const { bucket: current, now } = follow(bucket, clock);
  const starts = current.spent.filter(([, count]) => count > 0);
  const isNoted = starts.at(-1)?.[0] === now;
  return {
    ...current,
    spent: isNoted ? starts : [...starts, [now, 0]],
    shutUntil: Math.max(current.shutUntil, now + ms),
  };
}

/** Returns the bucket without the time before which nothing starts. Its starts still count. */
export function reopen(bucket: Bucket): Bucket {
  return { ...bucket, shutUntil: 0 };
}

/** Returns until when the bucket is shut, whatever the rate; null: it is not. */
export function shutUntil(bucket: Bucket, clock: number): number | null {
  const { bucket: current, now } = follow(bucket, clock);
  return current.shutUntil > now ? current.shutUntil : null;
}

/** Returns the first time from now on at which `wanted` runs may start, or a run that costs as much. */
export function opensAt(rate: Rate, bucket: Bucket, clock: number, wanted = 1): number {
  const { bucket: current, now } = settle(rate, bucket, clock);
  let excess = sum(current.spent) + Math.min(wanted, rate.limit) - rate.limit;
  let at = Math.max(now, current.shutUntil);
  for (const [time, count] of current.spent) {
    if (excess <= 0) break;
    excess -= count;
    at = Math.max(at, time + rate.per);
  }
  if (rate.burst === null) return at;
  const ahead = (rate.burst - Math.min(wanted, rate.burst)) * pace(rate);
  return Math.max(at, Math.ceil((current.paced - ahead) / 1000));
}

/** Whether a start that costs this much may happen now. More than the limit costs as much as the limit. */
export function admits(rate: Rate, bucket: Bucket, clock: number, cost: number): boolean {
  return opensAt(rate, bucket, clock, cost) <= settle(rate, bucket, clock).now;
}

/** Returns the time from which on the bucket is as good as empty. */
export function emptyAt(rate: Rate, { spent, paced, shutUntil }: Bucket): number {
  return Math.max((spent.at(-1)?.[0] ?? 0) + rate.per, Math.ceil(paced / 1000), shutUntil);
}

/** Returns how many starts the bucket has in the window that ends now. */
export function spentIn(rate: Rate, bucket: Bucket, clock: number): number {
  return sum(settle(rate, bucket, clock).bucket.spent);
}

/** Microseconds between two starts at an even pace, rounded up. */
function pace({ limit, per }: Rate): number {
  return Math.ceil((per * 1000) / limit);
}

function sum(spent: readonly StartCount[]): number {
  return spent.reduce((total, [, count]) => total + count, 0);
}

/**
 * Joins the starts of each part of the window, at the last of their times: no start is forgotten too early, and none
 * counts for longer than the length of a part. The parts are the same for every call, so no start moves twice.
 */
function compact(spent: readonly StartCount[], per: number): StartCount[] {
  const parts = Map.groupBy(spent, ([at]) => Math.floor((at * PARTS) / per));
  return [...parts.values()].map((part) => [part.at(-1)![0], sum(part)]);
}

/** Returns a bucket as text. Times are the differences to the first one. */
export function writeBucket({ spent, paced, shutUntil }: Bucket): string {
  const first = spent[0]?.[0] ?? 0;
  return JSON.stringify([first, spent.flatMap(([at, count]) => [at - first, count]), paced, shutUntil]);
}

export function readBucket(text: string): Bucket {
  const [first, flat, paced, shutUntil] = JSON.parse(text) as [number, number[], number, number];
  const spent: StartCount[] = [];
  for (let index = 0; index < flat.length; index += 2) spent.push([first + flat[index]!, flat[index + 1]!]);
  return { spent, paced, shutUntil };
}
