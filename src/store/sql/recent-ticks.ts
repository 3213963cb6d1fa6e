import { stateName } from "../../run/states.ts";
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

const COLUMNS = "schedule, id, state, tick_at, started_at";

/**
 * Returns the runs of the last ticks of each schedule. Reads at most `each` rows of each table for each schedule, by the
 * index on schedule and tick. If history has none, reads the newest runs of the schedule's job.
 */
export async function recentTicks(sql: SqlContext, ids: number[], each: number): Promise<TickRecord[]> {
  const { db, t } = sql;
  const found: TickRecord[] = [];
  for (const group of inGroups([...new Set(ids)], SCHEDULES)) {
    const unfinished = await readAll(sql, group.map(bySchedule(t.runs, "null", each)));
    const finished = db.indexesLinks
      ? group.map(bySchedule(t.history, "finished_at", each))
      : await byJob(sql, group, each);
    // A run that finished between the two statements was found twice: the finished row counts.
    const rows = new Map(
      [...unfinished, ...(await readAll(sql, finished))].map((row) => [row.id, row] as const),
    );
    for (const of of Map.groupBy(rows.values(), ({ schedule }) => schedule).values()) {
      const newest = of.sort((a, b) => b.tick_at - a.tick_at).slice(0, each);
      for (const row of newest) found.push(toTick(row));
    }
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

async function byJob(sql: SqlContext, ids: number[], each: number): Promise<Statement[]> {
  const { db, t } = sql;
  const schedules = await sql.all<{ id: number; job: string }>(
    `select id, job from ${t.schedules} where id in (${placeholders(ids)})`,
    ...ids,
  );
  return schedules.map(({ id, job }) => ({
    text: `select * from (select ${COLUMNS}, finished_at from ${t.history}${db.using(t.history, "name")}
            where name = ? order by id desc limit ${each * READ_FOR_EACH}) as newest where schedule = ?`,
    params: [job, id],
  }));
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
