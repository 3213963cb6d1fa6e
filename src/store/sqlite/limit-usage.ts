import { countSlots } from "../../run/chains.ts";
import { LIMIT_KINDS, type LimitUsage, type NamedLimit } from "../chooser.ts";
import { EMPTY, type Rate, readBucket } from "../rate.ts";
import type { Tables } from "../sql/database.ts";
import type { ClaimRequest } from "../store.ts";
import { hasRates, jobLimitOf, keyLimitOf, queueLimitOf, readRate, readRates } from "../stored-limits.ts";
import type { SqliteDatabase } from "./database.ts";

/** The parts of a claim that the usage of limits depends on. */
interface UsageBasis {
  request: Pick<ClaimRequest, "computesKey" | "computesCost">;
  /** Jobs of which the claim takes no run. */
  closed: Set<string>;
  now: number;
}

/**
 * Returns the usage of limits for one claim; each number is read when it is first needed. Every running run counts,
 * whether or not the limit existed when it was claimed; a chain counts once.
 */
export function readUsage(
  db: SqliteDatabase,
  t: Tables,
  { request, closed, now }: UsageBasis,
): LimitUsage & { isLimited(queue: string, name: string): boolean } {
  const limits = memoize((name: string) =>
    db.row<{ lim: number; key_lim: number }>(`select lim, key_lim from ${t.jobs} where name = ?`, name),
  );
  const queues = memoize((queue: string) =>
    db.row<{ lim: number; rate: string | null }>(`select lim, rate from ${t.queues} where name = ?`, queue),
  );
  const jobRates = memoize((name: string) => {
    const row = limits(name);
    if (!row || !hasRates(row)) return null;
    return readRates(
      db.row<{ rate: string | null }>(`select rate from ${t.jobs} where name = ?`, name)?.rate ?? null,
    );
  });
  const queueRate = memoize((queue: string) => {
    const row = queues(queue);
    return row && row.lim > 0 ? readRate(row.rate) : null;
  });
  const count = (where: string, ...params: string[]) =>
    countSlots(
      db
        .select<{ token: string }>(
          `select lease_token as token from ${t.runs} where state = 2 and owner is null and ${where}`,
          ...params,
        )
        .map(({ token }) => token),
    );
  const named = memoize((limit: string) =>
    db.row<{ lim: number; rate: string | null }>(`select lim, rate from ${t.limits} where name = ?`, limit),
  );
  const runningUnder = memoize((limit: string) =>
    count(`name in (select name from ${t.jobs} where under_limit = ? and lim < 0)`, limit),
  );
  const namedOf = memoize((name: string): NamedLimit | null => {
    const under = jobRates(name)?.under;
    if (!under) return null;
    const limit = named(under.limit)?.lim ?? null;
    const running = limit === null || limit === 0 ? 0 : runningUnder(under.limit);
    return { name: under.limit, limit, running, hasCost: under.hasCost };
  });
  const rateUsage = (limit: string, rate: Rate | null | undefined) => {
    if (!rate) return null;
    const row = db.row<{ starts: string }>(`select starts from ${t.rates} where name = ?`, limit);
    return { rate, bucket: row ? readBucket(row.starts) : EMPTY, isStored: row !== undefined, now };
  };
  return {
    // The same rule as the limit hint that an insert writes.
    isLimited(queue, name) {
      const job = limits(name);
      return (queues(queue)?.lim ?? 0) > 0 || (job?.lim ?? 0) > 0 || (job?.key_lim ?? 0) > 0;
    },
    isClosed: (name) => closed.has(name),
    computesKey: (name) => request.computesKey(name),
    computesCost: (name) => request.computesCost(name),
    jobLimit: (name) => (limits(name) ? jobLimitOf(limits(name)!) : 0),
    keyLimit: (name) => (limits(name) ? keyLimitOf(limits(name)!) : 0),
    queueLimit: (queue) => queueLimitOf(queues(queue)?.lim ?? 0),
    runningOfJob: (name) => count("name = ?", name),
    runningOfLane: (name, lane) => count("name = ? and lane = ?", name, lane),
    runningOfQueue: (queue) => count("queue = ?", queue),
    rates: {
      isByKey: (name) => (jobRates(name)?.key ?? null) !== null,
      of(limit, { name, queue }) {
        if (limit.startsWith(LIMIT_KINDS.job)) return rateUsage(limit, jobRates(name)?.job);
        if (limit.startsWith(LIMIT_KINDS.named))
          return rateUsage(limit, readRate(named(jobRates(name)!.under!.limit)?.rate ?? null));
        return rateUsage(limit, limit.startsWith(LIMIT_KINDS.key) ? jobRates(name)?.key : queueRate(queue));
      },
      named: namedOf,
    },
  };
}

export function memoize<Value>(find: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    if (!known.has(key)) known.set(key, find(key));
    return known.get(key)!;
  };
}
