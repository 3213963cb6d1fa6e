import type {
  JobStatus,
  LateSchedule,
  LimitStatus,
  QueueStatus,
  SilentWorker,
  Status,
  WorkerRecord,
} from "../records.ts";
import { LATE_AFTER } from "../search.ts";
import { queueLimitOf, readRate } from "../stored-limits.ts";
import { ActiveRuns } from "./active-runs.ts";
import type { SqlContext } from "./context.ts";
import type { Tables } from "./database.ts";
import { joinDefiner, SEEN_AT } from "./definers.ts";
import { JOB_COLUMNS, readErrors, toJob } from "./jobs.ts";
import { mutes } from "./mutes.ts";
import { PAUSE_COLUMNS, type PausedRow, toPause } from "./pause.ts";
import { toQueueOrder } from "./queue-orders.ts";
import { lastHeartbeats, liveWorkers } from "./workers.ts";

export type JobStatusRow = Parameters<typeof toJob>[0] &
  PausedRow & {
    last_run: number | null;
    last_failure: number | null;
    last_error: string | null;
    errors: string | null;
    fail_count: number;
    seen_at: number | null;
  };

export const JOB_STATUS_COLUMNS: string = [
  JOB_COLUMNS,
  ...PAUSE_COLUMNS,
  "last_run",
  "last_failure",
  "last_error",
  "errors",
  "fail_count",
  `${SEEN_AT} as seen_at`,
].join(", ");

/** The tables that `JOB_STATUS_COLUMNS` are read from. */
export function jobsWithDefiners(t: Tables): string {
  return `${t.jobs} j ${joinDefiner(t)}`;
}

/** Counts runs and lists workers and problems. Its cost does not grow with the backlog. */
export async function status(sql: SqlContext, now: number): Promise<Status> {
  const { t } = sql;
  const jobs = await sql.all<JobStatusRow>(
    `select ${JOB_STATUS_COLUMNS} from ${jobsWithDefiners(t)} order by name`,
  );
  const active = await new ActiveRuns(sql).count(now);
  const alive = await liveWorkers(sql, now);
  const ticks = await sql.all<{ job: string; next: number | null }>(
    `select job, min(next_tick) as next from ${t.schedules} where paused_at is null group by job`,
  );
  const nextRun = new Map(ticks.map(({ job, next }) => [job, next]));
  const statuses = withMissing(jobs, active).map(
    (row): JobStatus => ({
      ...toJob(row),
      paused: row.paused_at !== null,
      pause: toPause(row),
      running: 0,
      waiting: 0,
      leasedUntil: null,
      leasedBy: null,
      ...active.jobs.get(row.name),
      lastRun: row.last_run,
      lastFailure: row.last_failure,
      lastError: row.last_error,
      errors: readErrors(row.errors).filter(({ at }) => at > (row.last_run ?? 0)),
      fails: row.fail_count,
      seenAt: row.seen_at,
      nextRun: row.paused_at === null ? (nextRun.get(row.name) ?? null) : null,
    }),
  );
  return {
    now,
    jobs: statuses,
    queues: await queues(sql, jobs, active, now),
    limits: await namedLimits(sql, statuses),
    workers: alive,
    late: await late(sql, now),
    silent: await silent(sql, active, alive),
    expired: active.expired,
    isolated: active.isolated,
    mutes: await mutes(sql, now),
    capped: active.capped,
  };
}

/** Returns the named limits, also those that jobs are under and no process has defined. */
async function namedLimits(sql: SqlContext, jobs: JobStatus[]): Promise<LimitStatus[]> {
  const rows = await sql.all<{ name: string; lim: number; rate: string | null }>(
    `select name, lim, rate from ${sql.t.limits}`,
  );
  const defined = new Map(rows.map((row) => [row.name, row]));
  const byLimit = Map.groupBy(jobs, ({ rates }) => rates?.under?.limit);
  const names = new Set([...defined.keys(), ...byLimit.keys()].filter((name) => name !== undefined));
  return [...names].sort().map((name) => {
    const row = defined.get(name);
    const under = byLimit.get(name) ?? [];
    return {
      name,
      limit: row?.lim ?? null,
      rate: readRate(row?.rate ?? null),
      jobs: under.map((job) => job.name),
      running: under.reduce((sum, { running }) => sum + running, 0),
    };
  });
}

/**
 * Returns the jobs, including those that have runs and no row: an insert makes the row, but a prune may delete it at
 * the same moment.
 */
function withMissing(jobs: JobStatusRow[], { placements }: ActiveRuns): JobStatusRow[] {
  const known = new Set(jobs.map(({ name }) => name));
  const missing = [...placements].filter(([name]) => !known.has(name));
  if (missing.length === 0) return jobs;
  const rows = missing.map(([name, placement]) => ({ ...UNKNOWN_JOB, ...placement, name }));
  return [...jobs, ...rows].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const UNKNOWN_JOB: Omit<JobStatusRow, "name" | "queue" | "priority"> = {
  lim: 0,
  key_lim: 0,
  rate: null,
  under_limit: null,
  cron: null,
  fingerprint: "",
  defined_at: 0,
  defined_by: null,
  seen_at: null,
  paused_at: null,
  paused_by: null,
  paused_reason: null,
  last_run: null,
  last_failure: null,
  last_error: null,
  errors: null,
  fail_count: 0,
};

type QueueRow = PausedRow & {
  name: string;
  lim: number;
  rate: string | null;
  fair: number;
  patience: number | null;
  paused_until: number | null;
};

/** Returns the limits and pauses of queues. Most queues have no row, and so no settings. */
export async function queueSettings(
  sql: SqlContext,
  now: number,
  only?: string,
): Promise<
  Pick<QueueStatus, "name" | "limit" | "rate" | "fair" | "patience" | "paused" | "pausedUntil" | "pause">[]
> {
  const { t } = sql;
  const rows = await sql.all<QueueRow>(
    `select name, lim, rate, fair, patience, ${PAUSE_COLUMNS.join(", ")}, paused_until from ${t.queues}${only === undefined ? "" : " where name = ?"}`,
    ...(only === undefined ? [] : [only]),
  );
  return rows.map((row) => {
    const paused = row.paused_at !== null && (row.paused_until === null || row.paused_until > now);
    const pausedUntil = paused ? row.paused_until : null;
    const pause = paused ? toPause(row) : null;
    const limits = { limit: queueLimitOf(row.lim), rate: row.lim > 0 ? readRate(row.rate) : null };
    return { name: row.name, ...limits, ...toQueueOrder(row), paused, pausedUntil, pause };
  });
}

/** Lists the queues that have runs or settings, and the queues of jobs, also if they are idle now. */
async function queues(
  sql: SqlContext,
  jobs: { queue: string }[],
  active: ActiveRuns,
  now: number,
): Promise<QueueStatus[]> {
  const settings = new Map((await queueSettings(sql, now)).map((one) => [one.name, one]));
  const ofJobs = jobs.map(({ queue }) => queue);
  const names = [...new Set([...settings.keys(), ...active.queues.keys(), ...ofJobs])];
  return names
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => ({
      name,
      limit: 0,
      rate: null,
      fair: false,
      patience: null,
      paused: false,
      pausedUntil: null,
      pause: null,
      ...settings.get(name),
      ready: 0,
      scheduled: 0,
      due: 0,
      running: 0,
      oldest: null,
      ...active.queues.get(name),
      capped: active.isLeftOut(name) || (active.queues.get(name)?.capped ?? false),
    }));
}

/** Most late schedules to list. */
const MOST_LATE = 100;

/** Lists schedules whose tick is overdue. */
async function late(sql: SqlContext, now: number): Promise<LateSchedule[]> {
  const { t } = sql;
  return sql.all<LateSchedule>(
    `select s.id, s.job, s.next_tick as "nextTick" from ${t.schedules} s join ${t.jobs} j on j.name = s.job
      where s.next_tick < ? and s.paused_at is null and j.paused_at is null
      order by s.next_tick limit ${MOST_LATE}`,
    now - LATE_AFTER,
  );
}

/** Lists the workers that hold runs and are not alive. */
async function silent(sql: SqlContext, { held }: ActiveRuns, alive: WorkerRecord[]): Promise<SilentWorker[]> {
  const living = new Set(alive.map(({ id }) => id));
  const ids = [...held.keys()].filter((id) => !living.has(id)).sort();
  const known = ids.length > 0 ? await lastHeartbeats(sql, ids) : null;
  return ids.map((id) => {
    const { jobs, ...rest } = held.get(id)!;
    return { id, trace: known!.get(id) ?? null, jobs: [...jobs].sort(), ...rest };
  });
}
