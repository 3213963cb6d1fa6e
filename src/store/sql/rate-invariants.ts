import { keyIn } from "../../run/lanes.ts";
import { yieldToEventLoop } from "../../time.ts";
import { jobLimitName, namedLimitName, queueLimitName } from "../chooser.ts";
import { type Findings, SYNCED_WITHIN, seconds, type Violation } from "../invariants.ts";
import { type Bucket, type Rate, readBucket } from "../rate.ts";
import { readRate, readRates } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";

/** Buckets that one statement reads. */
const SLICE = 1000;

/** Nodes of a cluster, and a clock that is corrected, differ by less. */
const AHEAD_BY = 60_000;

/** A rate, and the start of the process that defined it. */
interface DefinedRate {
  rate: Rate;
  definedAt: number;
}

interface DefinedRates {
  /** By the name of the limit. */
  limits: Map<string, DefinedRate>;
  /** The rates of each key, by the job. */
  keys: Map<string, DefinedRate>;
}

/** Checks the buckets of rates, reading at most `most`. Returns false if it left some out. */
export async function checkRates(
  sql: SqlContext,
  { most, now, findings }: { most: number; now: () => Promise<number>; findings: Findings },
): Promise<boolean> {
  const { t } = sql;
  const read = (after: string, limit: number) =>
    sql.all<{ name: string; starts: string }>(
      `select name, starts from ${t.rates} where name > ? order by name limit ?`,
      after,
      limit,
    );
  let defined: DefinedRates | null = null;
  for (let after = "", left = most; ; ) {
    const rows = await read(after, Math.max(1, Math.min(SLICE, left)));
    if (rows.length === 0) return true;
    if (left === 0) return false;
    defined ??= await readDefinedRates(sql);
    const time = await now();
    for (const { name, starts } of rows) findings.add(violationsOf(name, readBucket(starts), defined, time));
    left -= rows.length;
    after = rows.at(-1)!.name;
    await yieldToEventLoop();
  }
}

async function readDefinedRates(sql: SqlContext): Promise<DefinedRates> {
  const { t } = sql;
  const read = (table: string, where: string) =>
    sql.all<{ name: string; rate: string | null; defined_at: number | null }>(
      `select name, rate, defined_at from ${table} where ${where}`,
    );
  const limits = new Map<string, DefinedRate>();
  const keys = new Map<string, DefinedRate>();
  for (const { name, rate, defined_at: at } of await read(t.jobs, "lim < 0")) {
    const { job = null, key = null } = readRates(rate) ?? {};
    if (job) limits.set(jobLimitName(name), { rate: job, definedAt: at ?? 0 });
    if (key) keys.set(name, { rate: key, definedAt: at ?? 0 });
  }
  for (const { name, rate, defined_at: at } of await read(t.queues, "rate is not null and lim > 0"))
    limits.set(queueLimitName(name), { rate: readRate(rate)!, definedAt: at ?? 0 });
  for (const { name, rate, defined_at: at } of await read(t.limits, "rate is not null"))
    limits.set(namedLimitName(name), { rate: readRate(rate)!, definedAt: at ?? 0 });
  return { limits, keys };
}

function violationsOf(name: string, bucket: Bucket, defined: DefinedRates, now: number): Violation[] {
  const { what, rate } = describe(name, defined);
  const last = bucket.spent.at(-1)?.[0] ?? 0;
  const faults: string[] = [];
  if (last > now + AHEAD_BY)
    faults.push(
      `has a start that is ${seconds(last - now)} in the future: the clock of the database was set back`,
    );
  if (rate) {
    const { limit, per } = rate.rate;
    // Starts that were counted before the rate was lowered may exceed it.
    const since = Math.max(last - per, rate.definedAt + SYNCED_WITHIN);
    const starts = bucket.spent.reduce((sum, [at, count]) => (at > since ? sum + count : sum), 0);
    if (starts > limit)
      faults.push(`has counted ${starts} starts within ${seconds(per)}, and admits ${limit}`);
  }
  return faults.map((fault) => ({
    invariant: "rates",
    subject: `rate ${name}`,
    message: `The rate of ${what} ${fault}.`,
  }));
}

/** Returns what a bucket is of, by its name, and its rate; null: it has none any more. */
function describe(name: string, { limits, keys }: DefinedRates): { what: string; rate: DefinedRate | null } {
  const ofKey = /^k:(\d+):/.exec(name);
  if (ofKey) {
    const lane = name.slice(ofKey[0].length);
    const job = lane.slice(0, Number(ofKey[1]));
    return { what: `the job "${job}" with the key "${keyIn(lane, job)}"`, rate: keys.get(job) ?? null };
  }
  const kind = { j: "job", q: "queue", r: "limit" }[name[0]!];
  return { what: `the ${kind} "${name.slice(2)}"`, rate: limits.get(name) ?? null };
}
