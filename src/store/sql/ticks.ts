import { stateCodes } from "../../run/states.ts";
import type { TickDecision, TickedSchedule, TickRequest, TickResult, TickRun } from "../ticking.ts";
import { type ColumnType, type Database, marks, type Sql, type Tables } from "./database.ts";
import type { Row } from "./schedules.ts";

interface Ticked {
  row: Row;
  decision: TickDecision;
}

/** Ticks what is due: moves the marks of schedules and makes their runs, all or nothing. */
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
    const due = await tx.all<{ id: number; fingerprint: string }>(
      `select s.id, j.fingerprint ${ticking} and s.next_tick <= ? order by s.next_tick, s.id limit ?`,
      ...request.exclude,
      now,
      request.limit,
    );
    const rows = await lock(tx, db, t, due, now);
    const waiting = await whichWait(tx, db, t, rows);
    const fingerprints = new Map(due.map(({ id, fingerprint }) => [id, fingerprint]));
    const ticked: Ticked[] = [];
    for (const row of rows) {
      const decision = request.decide(
        {
          id: row.id,
          job: row.job,
          slot: row.slot,
          jobFingerprint: fingerprints.get(row.id)!,
          nextTick: row.next_tick!,
          resumedAt: row.resumed_at,
          waiting: waiting.has(row.id),
        },
        now,
      );
      if (decision) ticked.push({ row, decision });
    }
    await moveMarks(tx, db, t, ticked);
    const runs = await makeRuns(tx, db, t, ticked, now);
    return {
      ticked: ticked.map(
        ({ row, decision }): TickedSchedule => ({
          schedule: row.id,
          job: row.job,
          runs: runs.get(row.id) ?? [],
          missed: decision.missed,
        }),
      ),
      nextTick: await soonest(tx),
    };
  });
}

/** The schedules alone, not their jobs' rows, which others write each second. One that another has locked is being ticked. */
async function lock(tx: Sql, db: Database, t: Tables, due: { id: number }[], now: number): Promise<Row[]> {
  const rows = await tx.all<Row>(
    `select r.* from ${db.lookUp(db.rows({ id: "integer" }), t.schedules)}
      where r.next_tick <= ? and r.paused_at is null${db.lockOnly(db.skipLocked, "r")}`,
    JSON.stringify(due.map(({ id }) => [id])),
    now,
  );
  return rows.sort((a, b) => a.next_tick! - b.next_tick! || a.id - b.id);
}

/** Schedules of which a run of an earlier tick has not started yet. */
async function whichWait(tx: Sql, db: Database, t: Tables, rows: Row[]): Promise<Set<number>> {
  if (rows.length === 0) return new Set();
  const waiting = await tx.all<{ id: number; first: number | null }>(
    // Not by `exists`, which MySQL may turn into a join that reads all runs.
    `select v.id, (select r.id from ${t.runs} r${db.using(t.runs, "tick")} where r.schedule = v.id and r.state in (0, 1) limit 1) as first
       from ${db.rows({ id: "integer" })} v`,
    JSON.stringify(rows.map(({ id }) => [id])),
  );
  return new Set(waiting.filter(({ first }) => first !== null).map(({ id }) => id));
}

/** What a mark has passed is never made again, whatever becomes of the runs. */
async function moveMarks(tx: Sql, db: Database, t: Tables, ticked: Ticked[]): Promise<void> {
  if (ticked.length === 0) return;
  await tx.run(
    db.updateFrom(
      t.schedules,
      {
        last_tick: "v.last",
        next_tick: "v.next",
        missed: "r.missed + v.more_missed",
        resumed_at: "null",
      },
      db.rows({ id: "integer", last: "integer", next: "integer", more_missed: "integer" }),
    ),
    JSON.stringify(
      ticked.map(({ row, decision: { last, next, missed } }) => [
        row.id,
        last ?? row.last_tick,
        next,
        missed,
      ]),
    ),
  );
}

const TICK_RUN: Record<string, ColumnType> = {
  id: "integer",
  name: "text",
  queue: "text",
  lane: "text",
  limited: "integer",
  priority: "integer",
  run_at: "integer",
  state: "integer",
  args: "text",
  schedule: "integer",
  tick_at: "integer",
  created_at: "integer",
};

async function makeRuns(
  tx: Sql,
  db: Database,
  t: Tables,
  ticked: Ticked[],
  now: number,
): Promise<Map<number, { id: number; tickAt: number }[]>> {
  const wanted = ticked.flatMap(({ row, decision }) =>
    decision.runs.map((run) => ({ run, schedule: row.id })),
  );
  if (wanted.length === 0) return new Map();
  const moments = JSON.stringify(wanted.map(({ run, schedule }) => [schedule, run.tickAt]));
  const moment = db.rows({ schedule_id: "integer", moment: "integer" });
  const existing = () =>
    tx.all<{ id: number; schedule: number; tick_at: number }>(
      `select r.id, r.schedule, r.tick_at
         from ${db.lookUp(moment, t.runs, "r.schedule = v.schedule_id and r.tick_at = v.moment", "tick")}`,
      moments,
    );
  const place = (schedule: number, tickAt: number) => `${schedule} ${tickAt}`;
  const made = new Set((await existing()).map(({ schedule, tick_at }) => place(schedule, tick_at)));
  const missing = wanted.filter(({ run, schedule }) => !made.has(place(schedule, run.tickAt)));
  if (missing.length === 0) return new Map();
  const ids = await db.newIds(tx, t, missing.length);
  const columns = Object.keys(TICK_RUN);
  const toRow = ({ run, schedule }: { run: TickRun; schedule: number }, index: number) => [
    ids[index],
    run.name,
    run.queue,
    run.lane,
    run.limited ? 1 : 0,
    run.priority,
    run.tickAt,
    stateCodes.ready,
    run.args,
    schedule,
    run.tickAt,
    now,
  ];
  await tx.run(
    `insert into ${t.runs} (${columns.join(", ")}) select ${columns.map((column) => `v.${column}`).join(", ")} from ${db.rows(TICK_RUN)} v`,
    JSON.stringify(missing.map(toRow)),
  );
  const runs = (await existing()).filter(({ schedule, tick_at }) => !made.has(place(schedule, tick_at)));
  const bySchedule = Map.groupBy(runs, ({ schedule }) => schedule);
  return new Map(
    [...bySchedule].map(([schedule, of]) => [
      schedule,
      of.map(({ id, tick_at }) => ({ id, tickAt: tick_at })).sort((a, b) => a.tickAt - b.tickAt),
    ]),
  );
}
