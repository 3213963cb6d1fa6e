import { stateName } from "../../run/states.ts";
import type { TickRecord } from "../records.ts";
import type { SqlContext } from "./context.ts";
import { inGroups } from "./database.ts";

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

/**
 * Returns the runs of the last ticks of each schedule. Reads at most `each` rows of each table for each schedule, by the
 * index on schedule and tick.
 */
export async function recentTicks(sql: SqlContext, ids: number[], each: number): Promise<TickRecord[]> {
  const { t } = sql;
  const found: TickRecord[] = [];
  for (const group of inGroups([...new Set(ids)], SCHEDULES)) {
    const rows = new Map<number, TickRow>();
    const tables = [
      { table: t.runs, finished: "null" },
      { table: t.history, finished: "finished_at" },
    ];
    for (const { table, finished } of tables) {
      const columns = "schedule, id, state, tick_at, started_at";
      const parts = group.map(
        (_, n) =>
          `select ${columns}, finished_at from (select ${columns}, ${finished} as finished_at from ${table}
             where schedule = ? order by tick_at desc limit ${each}) as s${n}`,
      );
      // A run that finished between the two statements was found twice: the finished row counts.
      for (const row of await sql.all<TickRow>(parts.join(" union all "), ...group)) rows.set(row.id, row);
    }
    const bySchedule = Map.groupBy(rows.values(), ({ schedule }) => schedule);
    for (const of of bySchedule.values()) {
      const newest = of.sort((a, b) => b.tick_at - a.tick_at).slice(0, each);
      for (const row of newest) found.push(toTick(row));
    }
  }
  return found;
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
