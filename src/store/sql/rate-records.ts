import { LAST, laneOf } from "../../run/lanes.ts";
import { jobLimitName, keyLimitName, queueLimitName } from "../chooser.ts";
import { EMPTY, opensAt, type Rate, readBucket, room, shutUntil, spentIn } from "../rate.ts";
import type { RateSearch } from "../reads.ts";
import type { RateRecord } from "../records.ts";
import { readRate, readRates } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";
import { readBuckets } from "./rates.ts";

/** Most keys of a job to list. */
const MOST_KEYS = 100;

/** Most keys of a job to look at: reading 1,000 buckets takes a few milliseconds, and a job may have 100,000. */
const KEYS_READ = 1000;

type Subject = Pick<RateRecord, "job" | "key" | "queue">;

interface Definition {
  name: string;
  rate: string | null;
}

/** A rate whose bucket has not been read. */
interface Listed {
  limit: string;
  rate: Rate;
  subject: Subject;
}

/**
 * Lists the rates of jobs and queues, and those of the keys of which runs have started lately: of each job, closed keys
 * come first.
 */
export async function listRates(sql: SqlContext, search: RateSearch, now: number): Promise<RateRecord[]> {
  const { most } = search;
  const found: (Listed | RateRecord)[] = [];
  for (const { name, rate } of await jobsWithRates(sql, search)) {
    const { job, key } = readRates(rate) ?? { job: null, key: null };
    if (job && search.kind !== "key")
      found.push({ limit: jobLimitName(name), rate: job, subject: { job: name, key: null, queue: null } });
    if (key && search.kind !== "job" && found.length < most)
      for (const one of await keysOf(sql, name, key, now)) found.push(one);
  }
  for (const { name, rate } of await queuesWithRates(sql, search)) {
    const subject = { job: null, key: null, queue: name };
    found.push({ limit: queueLimitName(name), rate: readRate(rate)!, subject });
  }
  const listed = found.slice(0, most);
  const unread = listed.flatMap((one) => ("subject" in one ? [one.limit] : []));
  const buckets = unread.length === 0 ? new Map<string, string>() : await readBuckets(sql, unread);
  return listed.map((one) =>
    "subject" in one ? toRecord(one.subject, one.rate, buckets.get(one.limit), now) : one,
  );
}

async function jobsWithRates(sql: SqlContext, { most, job, queue, kind }: RateSearch): Promise<Definition[]> {
  if (kind === "queue" || (job === undefined && queue !== undefined)) return [];
  const [named, ...names] = job === undefined ? [""] : [" and name = ?", job];
  return sql.all(
    `select name, rate from ${sql.t.jobs} where lim < 0${named} order by name limit ${most}`,
    ...names,
  );
}

async function queuesWithRates(
  sql: SqlContext,
  { most, job, queue, kind }: RateSearch,
): Promise<Definition[]> {
  if (kind === "job" || kind === "key" || (queue === undefined && job !== undefined)) return [];
  const [named, ...names] = queue === undefined ? [""] : [" and name = ?", queue];
  return sql.all(
    `select name, rate from ${sql.t.queues} where rate is not null and lim > 0${named} order by name limit ${most}`,
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
    toRecord({ job: name, key: limit.slice(first.length), queue: null }, rate, starts, now),
  );
  const isClosed = ({ opensAt }: RateRecord) => opensAt !== null;
  return [...records.filter(isClosed), ...records.filter((one) => !isClosed(one))].slice(0, MOST_KEYS);
}

/** Returns the rates that a run is under. */
export async function ratesOfRun(
  sql: SqlContext,
  run: { name: string; queue: string; lane: string; key: string | null },
  rates: { job: Rate | null; key: Rate | null; queue: Rate | null },
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
    { limit: queueLimitName(queue), rate: rates.queue, subject: { job: null, key: null, queue } },
  ].filter(({ rate }) => rate !== null);
  if (found.length === 0) return [];
  const buckets = await readBuckets(
    sql,
    found.map(({ limit }) => limit),
  );
  return found.map(({ limit, rate, subject }) => toRecord(subject, rate!, buckets.get(limit), now));
}

function toRecord(subject: Subject, rate: Rate, text: string | undefined, now: number): RateRecord {
  const bucket = text === undefined ? EMPTY : readBucket(text);
  const isOpen = room(rate, bucket, now) > 0;
  return {
    ...subject,
    ...rate,
    spent: spentIn(rate, bucket, now),
    opensAt: isOpen ? null : opensAt(rate, bucket, now),
    slowedUntil: shutUntil(bucket, now),
  };
}
