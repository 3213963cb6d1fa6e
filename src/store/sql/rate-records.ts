import { LAST, laneOf } from "../../run/lanes.ts";
import { jobLimitName, keyLimitName, namedLimitName, queueLimitName } from "../chooser.ts";
import { admits, EMPTY, opensAt, type Rate, readBucket, shutUntil, spentIn } from "../rate.ts";
import type { RateKind, RateSearch } from "../reads.ts";
import type { RateRecord, RateSubject } from "../records.ts";
import { readRate, readRates } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";
import { readBuckets } from "./rates.ts";

/** Most keys of a job to list. */
const MOST_KEYS = 100;

/** Most keys of a job to look at: reading 1,000 buckets takes a few milliseconds, and a job may have 100,000. */
const KEYS_READ = 1000;

/** A row of a job, a queue or a named limit, with its rate as stored. */
interface RateRow {
  name: string;
  rate: string | null;
}

/** The rate of a named limit, and what the start of a run costs. */
interface NamedRate {
  name: string;
  rate: Rate | null;
  cost: number;
}

/** A rate whose bucket has not been read. */
interface ListedRate {
  limit: string;
  rate: Rate;
  subject: RateSubject;
}

/**
 * Lists the rates of jobs, queues and named limits, and those of the keys of which runs have started lately: of each
 * job, closed keys come first.
 */
export async function listRates(sql: SqlContext, search: RateSearch, now: number): Promise<RateRecord[]> {
  const { most } = search;
  const found: (ListedRate | RateRecord)[] = [];
  const under: string[] = [];
  for (const { name, rate } of await jobsWithRates(sql, search)) {
    const { job, key, under: named } = readRates(rate) ?? { job: null, key: null };
    if (named) under.push(named.limit);
    if (job && search.kind !== "key")
      found.push({ limit: jobLimitName(name), rate: job, subject: { job: name, key: null, queue: null } });
    if (key && search.kind !== "job" && found.length < most)
      for (const one of await keysOf(sql, name, key, now)) found.push(one);
  }
  for (const { name, rate } of await queuesWithRates(sql, search)) {
    const subject = { job: null, key: null, queue: name };
    found.push({ limit: queueLimitName(name), rate: readRate(rate)!, subject });
  }
  for (const { name, rate } of await limitsWithRates(sql, search, under)) {
    const subject = { job: null, key: null, queue: null, name };
    found.push({ limit: namedLimitName(name), rate: readRate(rate)!, subject });
  }
  const listed = found.slice(0, most);
  const unread = listed.flatMap((one) => ("subject" in one ? [one.limit] : []));
  const buckets = unread.length === 0 ? new Map<string, string>() : await readBuckets(sql, unread);
  return listed.map((one) =>
    "subject" in one ? toRecord(one.subject, one.rate, buckets.get(one.limit), { now }) : one,
  );
}

async function jobsWithRates(sql: SqlContext, search: RateSearch): Promise<RateRow[]> {
  if (!isSearched(search, "job") && !isSearched(search, "key")) return [];
  return definitions(sql, sql.t.jobs, "lim < 0", { most: search.most, name: search.job });
}

async function queuesWithRates(sql: SqlContext, search: RateSearch): Promise<RateRow[]> {
  if (!isSearched(search, "queue")) return [];
  return definitions(sql, sql.t.queues, "rate is not null and lim > 0", {
    most: search.most,
    name: search.queue,
  });
}

/** `under`: the limits that the jobs of the search are under. */
async function limitsWithRates(sql: SqlContext, search: RateSearch, under: string[]): Promise<RateRow[]> {
  const ofLimit = (name: string | undefined) =>
    definitions(sql, sql.t.limits, "rate is not null", { most: search.most, name });
  if (isSearched(search, "limit")) return ofLimit(search.name);
  return search.job !== undefined && search.kind === undefined && under[0] ? ofLimit(under[0]) : [];
}

/** Whether the search is for rates of this kind: it names one, or names none at all. */
function isSearched({ job, queue, name, kind }: RateSearch, wanted: RateKind): boolean {
  if (kind !== undefined && kind !== wanted) return false;
  const named = { job, key: job, queue, limit: name }[wanted];
  return named !== undefined || (job === undefined && queue === undefined && name === undefined);
}

function definitions(
  sql: SqlContext,
  table: string,
  where: string,
  { most, name }: { most: number; name: string | undefined },
): Promise<RateRow[]> {
  const [named, ...names] = name === undefined ? [""] : [" and name = ?", name];
  return sql.all(
    `select name, rate from ${table} where ${where}${named} order by name limit ${most}`,
    ...names,
  );
}

/** Returns the rates of the first keys of a job with buckets, closed ones first. */
async function keysOf(sql: SqlContext, name: string, rate: Rate, now: number): Promise<RateRecord[]> {
  const first = keyLimitName({ name, lane: laneOf(name, null) });
  const rows = await sql.all<{ name: string; starts: string }>(
    `select name, starts from ${sql.t.rates} where name > ? and name < ? and empty_at > ? order by name limit ${KEYS_READ}`,
    first,
    first + LAST,
    now,
  );
  const records = rows.map(({ name: limit, starts }) =>
    toRecord({ job: name, key: limit.slice(first.length), queue: null }, rate, starts, { now }),
  );
  const isClosed = ({ opensAt }: RateRecord) => opensAt !== null;
  return [...records.filter(isClosed), ...records.filter((one) => !isClosed(one))].slice(0, MOST_KEYS);
}

/** Returns the rates that a run is under. */
export async function ratesOfRun(
  sql: SqlContext,
  run: { name: string; queue: string; lane: string; key: string | null },
  rates: { job: Rate | null; key: Rate | null; queue: Rate | null; named: NamedRate | null },
  now: number,
): Promise<RateRecord[]> {
  const { name, queue, key } = run;
  const found = [
    { limit: jobLimitName(name), rate: rates.job, subject: { job: name, key: null, queue: null } },
    {
      limit: keyLimitName(run),
      rate: key === null ? null : rates.key,
      subject: { job: name, key, queue: null },
    },
    {
      limit: namedLimitName(rates.named?.name ?? ""),
      rate: rates.named?.rate ?? null,
      subject: { job: null, key: null, queue: null, name: rates.named?.name ?? "" },
      cost: rates.named?.cost ?? 1,
    },
    { limit: queueLimitName(queue), rate: rates.queue, subject: { job: null, key: null, queue } },
  ].filter(({ rate }) => rate !== null);
  if (found.length === 0) return [];
  const buckets = await readBuckets(
    sql,
    found.map(({ limit }) => limit),
  );
  return found.map(({ limit, rate, subject, cost }) =>
    toRecord(subject, rate!, buckets.get(limit), { now, ...(cost !== undefined && { cost }) }),
  );
}

function toRecord(
  subject: RateSubject,
  rate: Rate,
  text: string | undefined,
  { now, cost = 1 }: { now: number; cost?: number },
): RateRecord {
  const bucket = text === undefined ? EMPTY : readBucket(text);
  const isOpen = admits(rate, bucket, now, cost);
  return {
    ...subject,
    ...rate,
    spent: spentIn(rate, bucket, now),
    opensAt: isOpen ? null : opensAt(rate, bucket, now, cost),
    slowedUntil: shutUntil(bucket, now),
  };
}
