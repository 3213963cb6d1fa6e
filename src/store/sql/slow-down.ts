import { keyIn } from "../../run/lanes.ts";
import { jobLimitName, keyLimitName, type LimitSubject, namedLimitName, queueLimitName } from "../chooser.ts";
import { EMPTY, emptyAt, type Rate, readBucket, shut, writeBucket } from "../rate.ts";
import type { BucketRow } from "../rate-spending.ts";
import { hasRates, readRate, readRates } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";
import { namesAsJson } from "./database.ts";
import { lockGates } from "./gates.ts";
import { bucketWrites, readBuckets } from "./rates.ts";

/** A run whose handler has slowed its rate down. */
export interface SlowedRun extends LimitSubject {
  /** How long the rate is to be closed, in milliseconds. */
  ms: number;
}

/** A rate to close. */
interface SlowedRate {
  rate: Rate;
  ms: number;
}

/**
 * Closes the rates of these runs: of each run the most specific one that it is under. Waits for their gates, because
 * only the holder of a gate may write what it guards. The caller locks no row after this that another transaction may
 * hold, so no holder of a gate waits for it.
 */
export async function slowDown(
  tx: SqlContext,
  runs: SlowedRun[],
  readTime: () => Promise<number>,
): Promise<void> {
  if (runs.length === 0) return;
  const rates = await ratesToClose(tx, runs);
  if (rates.size === 0) return;
  const names = [...rates.keys()];
  await lockGates(tx, names, tx.db.forUpdate);
  const buckets = await readBuckets(tx, names);
  // Read after the gates were locked: by an older time the bucket would look as if the clock had been set back.
  const now = await readTime();
  const rows = [...rates].map(([name, { rate, ms }]): BucketRow => {
    const text = buckets.get(name);
    const bucket = shut(text === undefined ? EMPTY : readBucket(text), now, ms);
    return {
      name,
      bucket: writeBucket(bucket),
      emptyAt: emptyAt(rate, bucket),
      isStored: text !== undefined,
    };
  });
  for (const { text, params } of bucketWrites(tx.t, rows)) await tx.run(text, ...params);
}

/** Returns the rates of the runs by the names of their limits, each with the longest time. */
async function ratesToClose(tx: SqlContext, runs: SlowedRun[]): Promise<Map<string, SlowedRate>> {
  const { db, t } = tx;
  const of = (table: string) => db.lookUp(db.rows({ name: "text" }), table, "r.name = v.name");
  const read = async (table: string, names: string[]) => {
    if (names.length === 0) return new Map<string, { lim: number; rate: string | null }>();
    const rows = await tx.all<{ name: string; lim: number; rate: string | null }>(
      `select r.name, r.lim, r.rate from ${of(table)}`,
      namesAsJson([...new Set(names)]),
    );
    return new Map(rows.map((row) => [row.name, row]));
  };
  const jobs = await read(
    t.jobs,
    runs.map(({ name }) => name),
  );
  const queues = await read(
    t.queues,
    runs.map(({ queue }) => queue),
  );
  const under = ({ name }: SlowedRun) => {
    const job = jobs.get(name);
    return job && hasRates(job) ? readRates(job.rate)?.under?.limit : undefined;
  };
  const limits = await read(
    t.limits,
    runs.flatMap((run) => under(run) ?? []),
  );
  const mostSpecific = (run: SlowedRun): [string, Rate] | null => {
    const { name, lane } = run;
    const job = jobs.get(name);
    const queue = queues.get(run.queue);
    const rates = job && hasRates(job) ? readRates(job.rate) : null;
    if (rates?.key && keyIn(lane, name) !== null) return [keyLimitName(run), rates.key];
    if (rates?.job) return [jobLimitName(name), rates.job];
    const named = rates?.under?.limit;
    const ofLimit = named === undefined ? null : readRate(limits.get(named)?.rate ?? null);
    if (named !== undefined && ofLimit) return [namedLimitName(named), ofLimit];
    const ofQueue = queue && queue.lim > 0 ? readRate(queue.rate) : null;
    return ofQueue && [queueLimitName(run.queue), ofQueue];
  };
  const found = new Map<string, SlowedRate>();
  for (const run of runs) {
    const [limit, rate] = mostSpecific(run) ?? [];
    // Absent: the rate was taken away since the claim.
    if (!limit || !rate) continue;
    found.set(limit, { rate, ms: Math.max(run.ms, found.get(limit)?.ms ?? 0) });
  }
  return found;
}
