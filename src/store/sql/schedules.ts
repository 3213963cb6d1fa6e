import type { ScheduleSync } from "../definitions.ts";
import type { ScheduleRecord } from "../records.ts";
import type { SqlContext } from "./context.ts";
import { type ColumnType, idsAsJson, inGroups, namesAsJson, type Param } from "./database.ts";
import { PAUSE_COLUMNS, type PausedRow, toPause } from "./pause.ts";

interface ScheduleRow extends PausedRow {
  id: number;
  job: string;
  slot: string;
  cron: string;
  timezone: string;
  args: string | null;
  queue: string | null;
  fingerprint: string;
  last_tick: number | null;
  next_tick: number | null;
  resumed_at: number | null;
  missed: number;
}

/** Never `*`: a migration may add columns while workers run, and their prepared statements would fail. */
const SCHEDULE_COLUMNS: string[] = [
  "id",
  "job",
  "slot",
  "cron",
  "timezone",
  "args",
  "queue",
  "fingerprint",
  "last_tick",
  "next_tick",
  "resumed_at",
  "missed",
  ...PAUSE_COLUMNS,
];

const COLUMN_LIST = SCHEDULE_COLUMNS.join(", ");

/** Columns that a changed definition updates. */
const CHANGED: Record<string, ColumnType> = {
  cron: "text",
  timezone: "text",
  args: "text",
  queue: "text",
  fingerprint: "text",
  next_tick: "integer",
};

/** Columns of a new schedule. */
const ADDED: Record<string, ColumnType> = {
  job: "text",
  slot: "text",
  ...CHANGED,
  missed: "integer",
  created_at: "integer",
};

/**
 * Writes the schedules of jobs, in the transaction that writes the definitions. A changed schedule continues from its
 * last tick, or from the time when a worker last defined the job and could have ticked it.
 */
export async function syncSchedules(
  tx: SqlContext,
  jobs: { name: string; schedules: ScheduleSync[]; seenAt: number | null }[],
  now: number,
): Promise<void> {
  const { db, t } = tx;
  // Locked: otherwise a mark that a worker moves after this read would be moved back, and the tick happen twice.
  const rows = await tx.all<ScheduleRow>(
    `select ${SCHEDULE_COLUMNS.map((column) => `r.${column}`).join(", ")} from ${db.lookUp(db.rows({ name: "text" }), t.schedules, "r.job = v.name", "slot")}
      order by r.id${db.lockOnly(db.forUpdate, "r")}`,
    namesAsJson(jobs.map((job) => job.name)),
  );
  const left = new Map(rows.map((row) => [JSON.stringify([row.job, row.slot]), row]));
  const added: Param[][] = [];
  const changed: Param[][] = [];
  for (const { name, schedules, seenAt } of jobs) {
    for (const wanted of schedules) {
      const { slot, cron, timezone, args, queue, fingerprint } = wanted;
      const key = JSON.stringify([name, slot]);
      const row = left.get(key);
      left.delete(key);
      if (!row) {
        added.push([name, slot, cron, timezone, args, queue, fingerprint, wanted.next(now), 0, now]);
        continue;
      }
      const since = Math.max(row.last_tick ?? 0, seenAt ?? now);
      const next = row.fingerprint === fingerprint ? row.next_tick : wanted.next(since);
      const isSame =
        row.fingerprint === fingerprint && row.args === args && row.queue === queue && row.cron === cron;
      if (!isSame) changed.push([row.id, cron, timezone, args, queue, fingerprint, next]);
    }
  }
  for (const group of inGroups(added)) {
    const columns = Object.keys(ADDED);
    await tx.run(
      `insert into ${t.schedules} (${columns.join(", ")}) select ${columns.map((column) => `v.${column}`).join(", ")} from ${db.rows(ADDED)} v`,
      JSON.stringify(group),
    );
  }
  for (const group of inGroups(changed)) {
    const set = Object.fromEntries(Object.keys(CHANGED).map((column) => [column, `v.${column}`]));
    await tx.run(
      db.updateFrom(t.schedules, set, db.rows({ id: "integer", ...CHANGED })),
      JSON.stringify(group),
    );
  }
  const gone = [...left.values()].map((row) => row.id);
  if (gone.length > 0) {
    await tx.run(db.deleteFrom(t.schedules, "id", db.rows({ id: "integer" })), idsAsJson(gone));
  }
}

export async function list(sql: SqlContext): Promise<ScheduleRecord[]> {
  const { t } = sql;
  const rows = await sql.all<ScheduleRow>(`select ${COLUMN_LIST} from ${t.schedules} order by job, id`);
  return rows.map((row) => ({
    id: row.id,
    job: row.job,
    cron: row.cron,
    timezone: row.timezone,
    args: row.args,
    queue: row.queue,
    lastTick: row.last_tick,
    nextTick: row.next_tick,
    missed: row.missed,
    paused: row.paused_at !== null,
    pause: toPause(row),
  }));
}
