import { stateCodes } from "../../run/states.ts";
import type { ScheduleTicks, TickDecision, TickRequest, TickResult, TickRun } from "../definitions.ts";
import type { SqlContext } from "./context.ts";
import type { ColumnType } from "./database.ts";
import { insertion } from "./new-run.ts";

/**
 * Runs and missed ticks per schedule that a slice has time for, on average: after an outage one schedule may have
 * thousands.
 */
const TICKS_EACH = 20;

/** A row of `schedules` whose tick is due. */
interface DueRow {
  id: number;
  job: string;
  slot: string;
  last_tick: number | null;
  next_tick: number;
  resumed_at: number | null;
}

/** A due schedule, and what the ticker has decided about it. */
interface DecidedSchedule {
  row: DueRow;
  decision: TickDecision;
}

/**
 * Ticks one slice of the due schedules, the earliest first: moves their marks and inserts their runs in one
 * transaction. The cost of a slice does not grow with the number of due schedules.
 */
export async function tick(sql: SqlContext, request: TickRequest, now: number): Promise<TickResult> {
  const next = await earliestTick(sql, request);
  if (next === null || next > now) return { ticked: [], nextTick: next };
  return sql.transaction(async (tx) => {
    const due = await lockDue(tx, request, now);
    const facts = await readFacts(tx, due);
    const decided: DecidedSchedule[] = [];
    let work = 0;
    let hasMore = due.length === request.limit;
    for (const row of due) {
      if (work >= request.limit * TICKS_EACH) {
        hasMore = true;
        break;
      }
      const { fingerprint, hasWaitingRun } = facts.get(row.id)!;
      const decision = request.decide(
        {
          id: row.id,
          job: row.job,
          slot: row.slot,
          jobFingerprint: fingerprint,
          nextTick: row.next_tick,
          resumedAt: row.resumed_at,
          waiting: hasWaitingRun,
        },
        now,
      );
      if (!decision) continue;
      decided.push({ row, decision });
      work += decision.runs.length + decision.missed;
    }
    await moveMarks(tx, decided);
    const runs = await insertRuns(tx, decided, now);
    return {
      ticked: decided.map(
        ({ row, decision }): ScheduleTicks => ({
          schedule: row.id,
          job: row.job,
          runs: runs.get(row.id) ?? [],
          missed: decision.missed,
        }),
      ),
      nextTick: hasMore ? now : await earliestTick(tx, request),
    };
  });
}

/**
 * Returns `from` and `where` of the schedules that may tick. The job is read by a subquery, so that the database scans
 * the index of next ticks from its start and stops at the limit; with a join it would read every schedule.
 */
function tickableSchedules(sql: SqlContext, { exclude }: TickRequest): string {
  const { db, t } = sql;
  const foreign =
    exclude.length > 0 ? `and s.job not in (select v.job from ${db.rows({ job: "text" })} v)` : "";
  return `from ${t.schedules} s${db.using(t.schedules, "next")}
    where s.next_tick is not null and s.paused_at is null
      and (select j.paused_at from ${t.jobs} j where j.name = s.job) is null ${foreign}`;
}

/** Returns the parameters of `tickableSchedules`. */
function excludedJobs({ exclude }: TickRequest): string[] {
  return exclude.length > 0 ? [JSON.stringify(exclude.map((job) => [job]))] : [];
}

/** Returns the earliest next tick. */
async function earliestTick(sql: SqlContext, request: TickRequest): Promise<number | null> {
  const [row] = await sql.all<{ next: number }>(
    `select s.next_tick as next ${tickableSchedules(sql, request)} order by s.next_tick limit 1`,
    ...excludedJobs(request),
  );
  return row?.next ?? null;
}

/**
 * Locks due schedules, without the rows of their jobs, which others update each second. Skips those that another
 * worker ticks.
 */
async function lockDue(tx: SqlContext, request: TickRequest, now: number): Promise<DueRow[]> {
  const { db } = tx;
  const due = await tx.all<DueRow>(
    `select s.id, s.job, s.slot, s.last_tick, s.next_tick, s.resumed_at ${tickableSchedules(tx, request)}
      and s.next_tick <= ? order by s.next_tick limit ?${db.lockOnly(db.skipLocked, "s")}`,
    ...excludedJobs(request),
    now,
    request.limit,
  );
  return due.sort((a, b) => a.next_tick - b.next_tick || a.id - b.id);
}

/**
 * Reads, for each schedule, the fingerprint of its job and whether a run of an earlier tick waits. The schedules are
 * locked, so no worker can sync another definition meanwhile.
 */
async function readFacts(
  tx: SqlContext,
  due: DueRow[],
): Promise<Map<number, { fingerprint: string; hasWaitingRun: boolean }>> {
  const { db, t } = tx;
  if (due.length === 0) return new Map();
  const rows = await tx.all<{ id: number; fingerprint: string | null; first: number | null }>(
    // Not by `exists`, which MySQL may turn into a join that reads every run.
    `select v.id, (select j.fingerprint from ${t.jobs} j where j.name = v.job) as fingerprint,
            (select r.id from ${t.runs} r${db.using(t.runs, "tick")} where r.schedule = v.id and r.state in (0, 1) limit 1) as first
       from ${db.rows({ id: "integer", job: "text" })} v`,
    JSON.stringify(due.map(({ id, job }) => [id, job])),
  );
  return new Map(
    rows.map(({ id, fingerprint, first }) => [
      id,
      { fingerprint: fingerprint ?? "", hasWaitingRun: first !== null },
    ]),
  );
}

/** Moves the marks of schedules. A tick before the mark never happens again, even if its run is deleted. */
async function moveMarks(tx: SqlContext, decided: DecidedSchedule[]): Promise<void> {
  const { db, t } = tx;
  if (decided.length === 0) return;
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
      decided.map(({ row, decision: { last, next, missed } }) => [
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
  priority: "integer",
  run_at: "integer",
  state: "integer",
  args: "text",
  schedule: "integer",
  tick_at: "integer",
  created_at: "integer",
};

/** Inserts the runs of ticks that have none yet. Returns the new runs by schedule. */
async function insertRuns(
  tx: SqlContext,
  decided: DecidedSchedule[],
  now: number,
): Promise<Map<number, { id: number; tickAt: number }[]>> {
  const { db, t } = tx;
  const wanted = decided.flatMap(({ row, decision }) =>
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
  const tickKey = (schedule: number, tickAt: number) => `${schedule} ${tickAt}`;
  const made = new Set((await existing()).map(({ schedule, tick_at }) => tickKey(schedule, tick_at)));
  const missing = wanted.filter(({ run, schedule }) => !made.has(tickKey(schedule, run.tickAt)));
  if (missing.length === 0) return new Map();
  const ids = await db.newIds(tx, t, missing.length);
  const toRow = ({ run, schedule }: { run: TickRun; schedule: number }, index: number) => [
    ids[index]!,
    run.name,
    run.queue,
    run.lane,
    run.priority,
    run.tickAt,
    stateCodes.ready,
    run.args,
    schedule,
    run.tickAt,
    now,
  ];
  const { text, params } = insertion(db, t, TICK_RUN, missing.map(toRow));
  await tx.run(text, ...params);
  const runs = (await existing()).filter(({ schedule, tick_at }) => !made.has(tickKey(schedule, tick_at)));
  const bySchedule = Map.groupBy(runs, ({ schedule }) => schedule);
  return new Map(
    [...bySchedule].map(([schedule, of]) => [
      schedule,
      of.map(({ id, tick_at }) => ({ id, tickAt: tick_at })).sort((a, b) => a.tickAt - b.tickAt),
    ]),
  );
}
