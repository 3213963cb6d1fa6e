import { LAST, laneOf } from "../../run/lanes.ts";
import { jobLimitName, keyLimitName, queueLimitName } from "../chooser.ts";
import { EMPTY, opensAt, type Rate, readBucket, room, spentIn } from "../rate.ts";
import type { RateRecord } from "../records.ts";
import { readRate, readRates } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";
import { readBuckets } from "./rates.ts";

/** Most keys of a job to read. */
const MOST_KEYS = 100;

type Subject = Pick<RateRecord, "job" | "key" | "queue">;

/** Lists the rates of jobs and queues, and the keys of which runs have started lately, at most `most`. */
export async function listRates(sql: SqlContext, most: number, now: number): Promise<RateRecord[]> {
  const { t } = sql;
  const jobs = await sql.all<{ name: string; rate: string | null }>(
    `select name, rate from ${t.jobs} where lim < 0 order by name limit ${most}`,
  );
  const queues = await sql.all<{ name: string; rate: string | null }>(
    `select name, rate from ${t.queues} where rate is not null and lim > 0 order by name limit ${most}`,
  );
  const found: { limit: string; rate: Rate; subject: Subject }[] = [];
  for (const { name, rate } of jobs) {
    const { job, key } = readRates(rate) ?? { job: null, key: null };
    if (job)
      found.push({ limit: jobLimitName(name), rate: job, subject: { job: name, key: null, queue: null } });
    for (const one of key && found.length < most ? await keysOf(sql, name) : []) {
      const limit = keyLimitName({ name, lane: laneOf(name, one) });
      found.push({ limit, rate: key!, subject: { job: name, key: one, queue: null } });
    }
  }
  for (const { name, rate } of queues) {
    const subject = { job: null, key: null, queue: name };
    found.push({ limit: queueLimitName(name), rate: readRate(rate)!, subject });
  }
  const listed = found.slice(0, most);
  const buckets = await readBuckets(
    sql,
    listed.map(({ limit }) => limit),
  );
  return listed.map(({ limit, rate, subject }) => toRecord(subject, rate, buckets.get(limit), now));
}

/** Returns the keys of a job that have buckets. */
async function keysOf(sql: SqlContext, name: string): Promise<string[]> {
  const first = keyLimitName({ name, lane: laneOf(name, null) });
  const rows = await sql.all<{ name: string }>(
    `select name from ${sql.t.rates} where name > ? and name < ? order by name limit ${MOST_KEYS}`,
    first,
    first + LAST,
  );
  return rows.map((row) => row.name.slice(first.length));
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
  };
}
