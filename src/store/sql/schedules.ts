import type { PauseNote, ScheduleRow } from "../records.ts";
import type { ScheduleSync } from "../ticking.ts";
import { type Database, first, marks, type Param, type Sql, type Tables } from "./database.ts";
import { PAUSE, PAUSE_COLUMNS, type PausedRow, pauseValues, toPause } from "./pause.ts";

export interface Row extends PausedRow {
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

/** Named everywhere: a migration may add columns under a running worker, whose prepared statements would fail on `*`. */
export const SCHEDULE_COLUMNS: string[] = [
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

const COLUMNS = SCHEDULE_COLUMNS.join(", ");

/**
 * Makes the schedules of jobs what their definitions say, in the transaction that shows the definitions. A changed one
 * goes on from where it was: from its last tick, or from when a worker was last there to tick it.
 */
export async function syncSchedules(
  tx: Sql,
  db: Database,
  t: Tables,
  jobs: { name: string; schedules: ScheduleSync[]; seenAt: number | null }[],
  now: number,
): Promise<void> {
  // Locked, for a mark that somebody moves between the reading and the writing would be moved back, and tick twice.
  const rows = await tx.all<Row>(
    `select ${COLUMNS} from ${t.schedules} where job in (${marks(jobs)}) order by id${db.forUpdate}`,
    ...jobs.map((job) => job.name),
  );
  const left = new Map(rows.map((row) => [JSON.stringify([row.job, row.slot]), row]));
  const added: Param[][] = [];
  for (const { name, schedules, seenAt } of jobs) {
    for (const wanted of schedules) {
      const { slot, cron, timezone, args, queue, fingerprint } = wanted;
      const place = JSON.stringify([name, slot]);
      const row = left.get(place);
      left.delete(place);
      if (!row) {
        added.push([name, slot, cron, timezone, args, queue, fingerprint, wanted.next(now), 0, now]);
        continue;
      }
      const since = Math.max(row.last_tick ?? 0, seenAt ?? now);
      await tx.run(
        `update ${t.schedules} set cron = ?, timezone = ?, args = ?, queue = ?, fingerprint = ?, next_tick = ? where id = ?`,
        cron,
        timezone,
        args,
        queue,
        fingerprint,
        row.fingerprint === fingerprint ? row.next_tick : wanted.next(since),
        row.id,
      );
    }
  }
  if (added.length > 0) {
    await tx.run(
      `insert into ${t.schedules} (job, slot, cron, timezone, args, queue, fingerprint, next_tick, missed, created_at)
       values ${added.map((values) => `(${marks(values)})`).join(", ")}`,
      ...added.flat(),
    );
  }
  const gone = [...left.values()].map((row) => row.id);
  if (gone.length > 0) await tx.run(`delete from ${t.schedules} where id in (${marks(gone)})`, ...gone);
}

export async function list(sql: Sql, t: Tables): Promise<ScheduleRow[]> {
  const rows = await sql.all<Row>(`select ${COLUMNS} from ${t.schedules} order by job, id`);
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

/** Ticks that fall into a pause are not missed: on resuming, the schedule goes on with the next one. */
export function pause(
  db: Database,
  t: Tables,
  id: number,
  paused: boolean,
  now: number,
  note?: PauseNote,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const row = await first(tx.all<Row>(`select ${COLUMNS} from ${t.schedules} where id = ?`, id));
    if (!row) return false;
    const values = pauseValues(paused, now, note);
    if (paused) await tx.run(`update ${t.schedules} set ${PAUSE} where id = ?`, ...values, id);
    else if (row.paused_at !== null) {
      await tx.run(`update ${t.schedules} set ${PAUSE}, resumed_at = ? where id = ?`, ...values, now, id);
    }
    return true;
  });
}

/** The schedules of a job that is resumed go on with their next ticks. */
export async function resumeSchedulesOf(tx: Sql, t: Tables, job: string, now: number): Promise<void> {
  await tx.run(`update ${t.schedules} set resumed_at = ? where job = ?`, now, job);
}
