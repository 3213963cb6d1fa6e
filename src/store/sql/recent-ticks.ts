import { stateName } from "../../run/states.ts";
import type { TickRecords } from "../reads.ts";
import type { TickRecord } from "../records.ts";
import type { SqlContext } from "./context.ts";
import { inGroups, placeholders, type Statement } from "./database.ts";

interface TickRow {
  schedule: number;
  id: number;
  state: number;
  tick_at: number;
  started_at: number | null;
  finished_at: number | null;
}

/** Schedules of one statement. */
const SCHEDULES = 50;

/** Without an index by schedule: how many runs of the schedule's job are read for each tick that is asked for. */
const READ_FOR_EACH = 10;

/** Without an index: runs that are read in addition for schedules with few ticks among the newest runs of their job. */
const READ_DEEPER = 50_000;

const COLUMNS = "schedule, id, state, tick_at, started_at";

/**
 * Returns the runs of the last ticks of each schedule. Reads at most `each` rows of each table for each schedule, by
 * the index on schedule and tick. If history has none, reads the newest runs of the schedule's job.
 */
export async function recentTicks(sql: SqlContext, ids: number[], each: number): Promise<TickRecords> {
  const { db, t } = sql;
  const found: TickRecords = { ticks: [], partial: [] };
  for (const group of inGroups([...new Set(ids)], SCHEDULES)) {
    const unfinished = await readAll(sql, group.map(bySchedule(t.runs, "null", each)));
    const finished = db.indexesLinks
      ? { rows: await readAll(sql, group.map(bySchedule(t.history, "finished_at", each))), partial: [] }
      : await readByJob(sql, group, each);
    // A run that finished between the two statements was found twice: the finished row counts.
    const rows = new Map([...unfinished, ...finished.rows].map((row) => [row.id, row] as const));
    for (const of of Map.groupBy(rows.values(), ({ schedule }) => schedule).values()) {
      const newest = of.sort((a, b) => b.tick_at - a.tick_at).slice(0, each);
      for (const row of newest) found.ticks.push(toTick(row));
    }
    found.partial = found.partial.concat(finished.partial);
  }
  return found;
}

function bySchedule(table: string, finished: string, each: number): (schedule: number) => Statement {
  return (schedule) => ({
    text: `select ${COLUMNS}, ${finished} as finished_at from ${table}
            where schedule = ? order by tick_at desc limit ${each}`,
    params: [schedule],
  });
}

/**
 * Reads ticks among the newest finished runs of the jobs: first among a few of each, then among more for schedules with
 * too few ticks. `partial`: the schedules that still have too few while their job has older runs.
 */
async function readByJob(
  sql: SqlContext,
  ids: number[],
  each: number,
): Promise<{ rows: TickRow[]; partial: number[] }> {
  const few = each * READ_FOR_EACH;
  let rows: TickRow[] = [];
  let open = await sql.all<{ id: number; job: string }>(
    `select id, job from ${sql.t.schedules} where id in (${placeholders(ids)})`,
    ...ids,
  );
  for (const isDeeper of [false, true]) {
    const most = isDeeper ? Math.floor(READ_DEEPER / open.length) : few;
    if (open.length === 0 || most < few) break;
    const found = await readAll(sql, open.map(amongNewest(sql, most)));
    const ticks = Map.groupBy(found, ({ schedule }) => schedule);
    const tooFew = open.filter(({ id }) => (ticks.get(id)?.length ?? 0) < each);
    const older = await jobsWithMore(sql, [...new Set(tooFew.map(({ job }) => job))], most);
    open = tooFew.filter(({ job }) => older.has(job));
    rows = rows.concat(found);
  }
  return { rows, partial: open.map(({ id }) => id) };
}

function amongNewest(
  { db, t }: SqlContext,
  most: number,
): (schedule: { id: number; job: string }) => Statement {
  return ({ id, job }) => ({
    text: `select * from (select ${COLUMNS}, finished_at from ${t.history}${db.using(t.history, "name")}
            where name = ? order by id desc limit ${most}) as newest where schedule = ?`,
    params: [job, id],
  });
}

/** Returns the jobs that have more than `most` finished runs. */
async function jobsWithMore(sql: SqlContext, jobs: string[], most: number): Promise<Set<string>> {
  if (jobs.length === 0) return new Set();
  const { db, t } = sql;
  const next = `select name from ${t.history}${db.using(t.history, "name")} where name = ? order by id desc limit 1 offset ${most}`;
  const rows = await sql.all<{ name: string }>(
    jobs.map((_, n) => `select name from (${next}) as j${n}`).join(" union all "),
    ...jobs,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Returns the rows of all statements, which are sent as one. */
async function readAll(sql: SqlContext, statements: Statement[]): Promise<TickRow[]> {
  if (statements.length === 0) return [];
  return sql.all<TickRow>(
    statements
      .map(({ text }, n) => `select ${COLUMNS}, finished_at from (${text}) as s${n}`)
      .join(" union all "),
    ...statements.flatMap(({ params }) => params),
  );
}

function toTick(row: TickRow): TickRecord {
  return {
    scheduleId: row.schedule,
    id: row.id,
    state: stateName(row.state),
    scheduledFor: row.tick_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  };
}
