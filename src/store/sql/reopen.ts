import { LAST, laneOf } from "../../run/lanes.ts";
import { jobLimitName, keyLimitName, namedLimitName, queueLimitName } from "../chooser.ts";
import { readBucket, reopen, shutUntil, writeBucket } from "../rate.ts";
import type { RateSubject } from "../records.ts";
import type { SqlContext } from "./context.ts";
import type { Sql } from "./database.ts";
import { lockGates } from "./gates.ts";
import { readBuckets } from "./rates.ts";

/** Buckets that one transaction reopens: it holds their gates, and no run under them can start meanwhile. */
const REOPENED_AT_ONCE = 100;

/** Reopens rates that `slowDown()` has closed, of a job those of all its keys too. Returns their number. */
export async function reopenRates(
  sql: SqlContext,
  subject: RateSubject,
  readTime: (tx: Sql) => Promise<number>,
): Promise<number> {
  let reopened = 0;
  for await (const names of bucketNames(sql, subject))
    reopened += await sql.transaction((tx) => reopenOnce(tx, names, () => readTime(tx)));
  return reopened;
}

/** Lists the names of the buckets in groups. */
async function* bucketNames(sql: SqlContext, subject: RateSubject): AsyncGenerator<string[]> {
  const { job, key, queue, name } = subject;
  if (name !== undefined) return yield [namedLimitName(name)];
  if (job === null) return yield [queueLimitName(queue!)];
  if (key !== null) return yield [keyLimitName({ name: job, lane: laneOf(job, key) })];
  yield [jobLimitName(job)];
  const first = keyLimitName({ name: job, lane: laneOf(job, null) });
  for (let after = first; ; ) {
    const rows = await sql.all<{ name: string }>(
      `select name from ${sql.t.rates} where name > ? and name < ? order by name limit ${REOPENED_AT_ONCE}`,
      after,
      first + LAST,
    );
    if (rows.length === 0) return;
    yield rows.map(({ name }) => name);
    after = rows.at(-1)!.name;
  }
}

async function reopenOnce(tx: SqlContext, names: string[], readTime: () => Promise<number>): Promise<number> {
  const { t } = tx;
  await lockGates(tx, names, tx.db.forUpdate);
  const now = await readTime();
  const buckets = [...(await readBuckets(tx, names))].map(([name, text]) => ({
    name,
    bucket: readBucket(text),
  }));
  const shut = buckets.filter(({ bucket }) => shutUntil(bucket, now) !== null);
  // `empty_at` stays: until then the bucket is kept, which does no harm.
  for (const { name, bucket } of shut)
    await tx.run(`update ${t.rates} set starts = ? where name = ?`, writeBucket(reopen(bucket)), name);
  return shut.length;
}
