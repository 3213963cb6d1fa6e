import {
  GRAINS,
  MEASURES,
  type Measure,
  type NamedRollupRow,
  type RollupCount,
  type RollupRequest,
  type RollupRow,
  type RollupSurvey,
  SCOPES,
} from "../rollups.ts";
import type { SqlContext } from "./context.ts";
import { first, inGroups } from "./database.ts";

const KEY = ["grain", "scope", "name", "minute", "measure", "bucket"];

/** Rows of one statement. */
const ROWS = 100;

/** How long the counts of each grain are kept, in minutes. The coarsest is kept as long as the minutes of jobs. */
const KEPT = { 1: 6 * 60, 10: 2 * 24 * 60 };

/** Rows of this many minutes are deleted by one statement. */
const DELETED_AT_ONCE = { 1: 60, 10: 600, 60: 1440 };

const MEASURE_NAMES = Object.keys(MEASURES) as Measure[];

/** Adds counts. The caller gives them in the order of the key. */
export async function addRollups(tx: SqlContext, counts: RollupCount[]): Promise<void> {
  const { db, t } = tx;
  for (const group of inGroups(counts, ROWS)) {
    const add = [{ column: "total", to: `${t.rollups}.total + excluded.total` }];
    await tx.run(
      db.upsert({ table: t.rollups, key: KEY, columns: [...KEY, "total"], update: add, rows: group.length }),
      ...group.flatMap((one) => [
        one.grain,
        SCOPES[one.scope],
        one.name,
        one.minute,
        MEASURES[one.measure],
        one.bucket,
        one.count,
      ]),
    );
  }
}

/** Returns the counts of one subject, in order of time. Reads at most the rows of the spans asked for. */
export async function readRollups(
  sql: SqlContext,
  { grain, scope, name, from, to }: RollupRequest,
): Promise<RollupRow[]> {
  const rows = await sql.all<{ minute: number; measure: number; bucket: number; total: number }>(
    `select minute, measure, bucket, total from ${sql.t.rollups}
      where grain = ? and scope = ? and name = ? and minute >= ? and minute < ?
      order by minute, measure, bucket`,
    grain,
    SCOPES[scope],
    name,
    from,
    to,
  );
  return rows.map(({ minute, measure, bucket, total }) => ({
    minute,
    measure: MEASURE_NAMES[measure]!,
    bucket,
    count: total,
  }));
}

/** Returns the counts of every job or every queue, summed over longer spans, by name. */
export async function surveyRollups(
  sql: SqlContext,
  { grain, scope, from, to, step, limit }: RollupSurvey,
): Promise<NamedRollupRow[]> {
  const rows = await sql.all<{
    name: string;
    minute: number;
    measure: number;
    bucket: number;
    total: number | string;
  }>(
    `select name, minute - from_start as minute, measure, bucket, sum(total) as total
       from (select name, minute, (minute - ?) % ? as from_start, measure, bucket, total from ${sql.t.rollups}
              where grain = ? and minute >= ? and minute < ? and scope = ?) r
      group by name, minute - from_start, measure, bucket
      order by name, minute - from_start, measure, bucket limit ?`,
    from,
    step,
    grain,
    from,
    to,
    SCOPES[scope],
    limit,
  );
  // A sum of big integers is a decimal, which drivers return as text.
  return rows.map(({ name, minute, measure, bucket, total }) => ({
    name,
    minute: Number(minute),
    measure: MEASURE_NAMES[measure]!,
    bucket,
    count: Number(total),
  }));
}

/** Moves the counts of a job to its new name, and adds them to those that it has. */
export async function moveRollups(tx: SqlContext, from: string, to: string): Promise<void> {
  const { t } = tx;
  for (const grain of GRAINS) {
    const rows = await readRollups(tx, {
      grain,
      scope: "job",
      name: from,
      from: 0,
      to: Number.MAX_SAFE_INTEGER,
    });
    await addRollups(
      tx,
      rows.map((row) => ({ ...row, grain, scope: "job", name: to })),
    );
    await tx.run(
      `delete from ${t.rollups} where grain = ? and scope = ? and name = ?`,
      grain,
      SCOPES.job,
      from,
    );
  }
}

/** Deletes counts past their retention (`KEPT`). `before`: the minute before which the coarsest grain is deleted. */
export async function pruneRollups(sql: SqlContext, now: number, before: number): Promise<void> {
  const { t } = sql;
  const minute = Math.floor(now / 60_000);
  for (const grain of GRAINS) {
    const end = grain === 60 ? before : minute - KEPT[grain];
    for (;;) {
      const oldest = await first(
        sql.all<{ minute: number | null }>(
          `select min(minute) as minute from ${t.rollups} where grain = ?`,
          grain,
        ),
      );
      const from = oldest?.minute ?? end;
      if (from >= end) break;
      await sql.run(
        `delete from ${t.rollups} where grain = ? and minute < ?`,
        grain,
        Math.min(from + DELETED_AT_ONCE[grain], end),
      );
    }
  }
}
