import type { Pause, PauseNote } from "../records.ts";
import type { SqlContext } from "./context.ts";
import { first, type Param } from "./database.ts";
import { setLimitHint } from "./limit-hint.ts";

/** The columns of a pause, in `jobs`, `queues` and `schedules`. */
export interface PausedRow {
  paused_at: number | null;
  paused_by: string | null;
  paused_reason: string | null;
}

export const PAUSE_COLUMNS: string[] = ["paused_at", "paused_by", "paused_reason"];

/** Pauses (with a note) or resumes. */
interface PauseChange {
  paused: boolean;
  note: PauseNote | undefined;
}

/** The `set` clause of a pause; its parameters are `pauseValues`. */
const PAUSE: string = PAUSE_COLUMNS.map((column) => `${column} = ?`).join(", ");

function pauseValues({ paused, note }: PauseChange, now: number): Param[] {
  return paused ? [now, note?.by ?? null, note?.reason ?? null] : [null, null, null];
}

export function toPause({ paused_at, paused_by, paused_reason }: PausedRow): Pause | null {
  return paused_at === null ? null : { since: paused_at, by: paused_by, reason: paused_reason };
}

/** Pauses or resumes a job; false: it does not exist. */
export function pauseJob(sql: SqlContext, name: string, change: PauseChange, now: number): Promise<boolean> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const known = await first(
      tx.all<{ paused_at: number | null }>(`select paused_at from ${t.jobs} where name = ?`, name),
    );
    if (!known) return false;
    await tx.run(`update ${t.jobs} set ${PAUSE} where name = ?`, ...pauseValues(change, now), name);
    if (!change.paused && known.paused_at !== null) await resumeSchedulesOf(tx, name, now);
    // The claim skips runs with the limit hint lane by lane, others one by one.
    if (change.paused) await setLimitHint(tx, "name", [name]);
    return true;
  });
}

/** Pauses a queue until a time, or until it is resumed; or resumes it. */
export async function pauseQueue(
  sql: SqlContext,
  name: string,
  change: PauseChange & { until: number | null },
  now: number,
): Promise<void> {
  const { db, t } = sql;
  const columns = [...PAUSE_COLUMNS, "paused_until"];
  await sql.run(
    db.upsert({ table: t.queues, key: ["name"], columns: ["name", ...columns], update: columns }),
    name,
    ...pauseValues(change, now),
    change.paused ? change.until : null,
  );
}

/** Pauses or resumes a schedule. Ticks that fell into the pause are skipped: the next one is after the resumption. */
export function pauseSchedule(
  sql: SqlContext,
  id: number,
  change: PauseChange,
  now: number,
): Promise<boolean> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const row = await first(
      tx.all<{ paused_at: number | null }>(`select paused_at from ${t.schedules} where id = ?`, id),
    );
    if (!row) return false;
    const values = pauseValues(change, now);
    if (change.paused) await tx.run(`update ${t.schedules} set ${PAUSE} where id = ?`, ...values, id);
    else if (row.paused_at !== null) {
      await tx.run(`update ${t.schedules} set ${PAUSE}, resumed_at = ? where id = ?`, ...values, now, id);
    }
    return true;
  });
}

/** Skips the ticks of a job's schedules that fell into its pause. */
async function resumeSchedulesOf(tx: SqlContext, job: string, now: number): Promise<void> {
  const { t } = tx;
  await tx.run(`update ${t.schedules} set resumed_at = ? where job = ?`, now, job);
}
