import type { ScheduleRow } from "../records.ts";
import type { DueSchedule, ScheduleSync, TickedSchedule, TickRequest, TickResult } from "../store.ts";
import { type Database, first, marks, type Param, type Sql, type Tables } from "./database.ts";

interface Row {
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
  paused_at: number | null;
  missed: number;
}

/**
 * Makes the schedules of jobs what their definitions say, in the transaction that shows the definitions. A changed one
 * goes on from where it was: from its last tick, or from when a worker was last there to tick it.
 */
export async function syncSchedules(
  tx: Sql,
  t: Tables,
  jobs: { name: string; schedules: ScheduleSync[]; seenAt: number | null }[],
  now: number,
): Promise<void> {
  const rows = await tx.all<Row>(
    `select * from ${t.schedules} where job in (${marks(jobs)})`,
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

/** Ticks what is due: moves the schedule's mark and makes its runs, each schedule all or nothing. */
export async function tick(db: Database, t: Tables, request: TickRequest, now: number): Promise<TickResult> {
  const foreign = request.exclude.length > 0 ? `and s.job not in (${marks(request.exclude)})` : "";
  const ticking = `from ${t.schedules} s join ${t.jobs} j on j.name = s.job
    where s.next_tick is not null and s.paused_at is null and j.paused_at is null ${foreign}`;
  const soonest = async (sql: Sql) => {
    const [row] = await sql.all<{ next: number | null }>(
      `select min(s.next_tick) as next ${ticking}`,
      ...request.exclude,
    );
    return row?.next ?? null;
  };
  const next = await soonest(db);
  if (next === null || next > now) return { ticked: [], nextTick: next };
  return db.transaction(async (tx) => {
    const due = await tx.all<Row & { job_fingerprint: string }>(
      `select s.*, j.fingerprint as job_fingerprint ${ticking} and s.next_tick <= ?
        order by s.next_tick, s.id limit ?${db.skipLocked}`,
      ...request.exclude,
      now,
      request.limit,
    );
    const ticked: TickedSchedule[] = [];
    for (const row of due) {
      const one = await tickOne(tx, t, row, request, now);
      if (one) ticked.push(one);
    }
    return { ticked, nextTick: await soonest(tx) };
  });
}

async function tickOne(
  tx: Sql,
  t: Tables,
  row: Row & { job_fingerprint: string },
  request: TickRequest,
  now: number,
): Promise<TickedSchedule | null> {
  const waiting = await first(
    tx.all(`select 1 from ${t.runs} where schedule = ? and state in (0, 1) limit 1`, row.id),
  );
  const schedule: DueSchedule = {
    id: row.id,
    job: row.job,
    slot: row.slot,
    jobFingerprint: row.job_fingerprint,
    nextTick: row.next_tick!,
    resumedAt: row.resumed_at,
    waiting: waiting !== null,
  };
  const decision = request.decide(schedule, now);
  if (!decision) return null;
  // The mark moves only if it stands where it was read; what it has passed is never made again, whatever becomes of the runs.
  await tx.run(
    `update ${t.schedules} set last_tick = ?, next_tick = ?, missed = missed + ?, resumed_at = null where id = ? and next_tick = ?`,
    decision.last ?? row.last_tick,
    decision.next,
    decision.missed,
    row.id,
    row.next_tick,
  );
  const runs: { id: number; tickAt: number }[] = [];
  for (const run of decision.runs) {
    const made = await first(
      tx.all(`select 1 from ${t.runs} where schedule = ? and tick_at = ?`, row.id, run.tickAt),
    );
    if (made) continue;
    await tx.run(
      `insert into ${t.runs} (name, queue, lane, limited, priority, run_at, state, args, schedule, tick_at, attempts, crashes, created_at)
       values (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, 0, 0, ?)`,
      run.name,
      run.queue,
      run.lane,
      run.limited ? 1 : 0,
      run.priority,
      run.tickAt,
      run.args,
      row.id,
      run.tickAt,
      now,
    );
    const [inserted] = await tx.all<{ id: number }>(
      `select id from ${t.runs} where schedule = ? and tick_at = ?`,
      row.id,
      run.tickAt,
    );
    runs.push({ id: inserted!.id, tickAt: run.tickAt });
  }
  return { schedule: row.id, job: row.job, runs, missed: decision.missed };
}

export async function list(sql: Sql, t: Tables): Promise<ScheduleRow[]> {
  const rows = await sql.all<Row>(`select * from ${t.schedules} order by job, id`);
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
  }));
}

/** Ticks that fall into a pause are not missed: on resuming, the schedule goes on with the next one. */
export function pause(db: Database, t: Tables, id: number, paused: boolean, now: number): Promise<boolean> {
  return db.transaction(async (tx) => {
    const row = await first(tx.all<Row>(`select * from ${t.schedules} where id = ?`, id));
    if (!row) return false;
    if (paused) await tx.run(`update ${t.schedules} set paused_at = ? where id = ?`, now, id);
    else if (row.paused_at !== null) {
      await tx.run(`update ${t.schedules} set paused_at = null, resumed_at = ? where id = ?`, now, id);
    }
    return true;
  });
}

/** The schedules of a job that is resumed go on with their next ticks. */
export async function resumeSchedulesOf(tx: Sql, t: Tables, job: string, now: number): Promise<void> {
  await tx.run(`update ${t.schedules} set resumed_at = ? where job = ?`, now, job);
}
