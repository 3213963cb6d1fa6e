import type { JobStatus, QueueStatus, Status, WaitFacts } from "../records.ts";
import { WORKER_DEAD_AFTER } from "../store.ts";
import { first, type Sql, type Tables } from "./database.ts";
import { toJob } from "./jobs.ts";
import { find } from "./reads.ts";
import { toWorker, WORKER_COLUMNS } from "./workers.ts";

type JobsRow = Parameters<typeof toJob>[0] & {
  paused_at: number | null;
  last_run: number | null;
  last_error: string | null;
  fail_count: number;
  seen_at: number | null;
};

export async function status(sql: Sql, t: Tables, now: number): Promise<Status> {
  const jobs = await sql.all<JobsRow>(`select * from ${t.jobs} order by name`);
  const active = await sql.all<{ name: string; state: number; n: number; until: number | null }>(
    `select name, state, count(*) as n, max(locked_until) as until from ${t.runs} where owner is null group by name, state`,
  );
  const byJob = new Map<string, { running: number; waiting: number; leasedUntil: number | null }>();
  for (const { name, state, n, until } of active) {
    const counts = byJob.get(name) ?? { running: 0, waiting: 0, leasedUntil: null };
    if (state === 2) Object.assign(counts, { running: n, leasedUntil: until });
    else counts.waiting += n;
    byJob.set(name, counts);
  }
  const ticks = await sql.all<{ job: string; next: number | null }>(
    `select job, min(next_tick) as next from ${t.schedules} where paused_at is null group by job`,
  );
  const nextRun = new Map(ticks.map(({ job, next }) => [job, next]));
  return {
    now,
    jobs: jobs.map(
      (row): JobStatus => ({
        ...toJob(row),
        paused: row.paused_at !== null,
        running: 0,
        waiting: 0,
        leasedUntil: null,
        ...byJob.get(row.name),
        lastRun: row.last_run,
        lastError: row.last_error,
        fails: row.fail_count,
        seenAt: row.seen_at,
        nextRun: row.paused_at === null ? (nextRun.get(row.name) ?? null) : null,
      }),
    ),
    queues: await queues(sql, t, now),
    workers: await workers(sql, t, now),
  };
}

async function queues(sql: Sql, t: Tables, now: number): Promise<QueueStatus[]> {
  const found = new Map<string, QueueStatus>();
  const at = (name: string): QueueStatus => {
    const known = found.get(name);
    if (known) return known;
    const fresh = { name, limit: 0, paused: false, pausedUntil: null, ready: 0, scheduled: 0, running: 0 };
    found.set(name, fresh);
    return fresh;
  };
  const rows = await sql.all<{
    name: string;
    lim: number;
    paused_at: number | null;
    paused_until: number | null;
  }>(`select name, lim, paused_at, paused_until from ${t.queues}`);
  for (const row of rows) {
    const paused = row.paused_at !== null && (row.paused_until === null || row.paused_until > now);
    Object.assign(at(row.name), { limit: row.lim, paused, pausedUntil: paused ? row.paused_until : null });
  }
  const counts = await sql.all<{ queue: string; state: number; n: number }>(
    `select queue, state, count(*) as n from ${t.runs} group by queue, state`,
  );
  for (const { queue, state, n } of counts) {
    at(queue)[state === 0 ? "scheduled" : state === 1 ? "ready" : "running"] = n;
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function workers(sql: Sql, t: Tables, now: number): Promise<Status["workers"]> {
  const rows = await sql.all<Parameters<typeof toWorker>[0]>(
    `select ${WORKER_COLUMNS} from ${t.workers} where seen_at > ? order by started_at, id`,
    now - WORKER_DEAD_AFTER,
  );
  return rows.map(toWorker);
}

/** How far "ahead of it" is counted. */
const AHEAD = 1000;

export async function waitFacts(sql: Sql, t: Tables, id: number, now: number): Promise<WaitFacts | null> {
  const run = await find(sql, t, id);
  if (!run) return null;
  const [hot] = await sql.all<{ lane: string; limited: number }>(
    `select lane, limited from ${t.runs} where id = ?`,
    id,
  );
  const count = async (where: string, ...params: (string | number)[]) =>
    (await first(sql.all<{ n: number }>(`select count(*) as n from ${t.runs} where ${where}`, ...params)))!.n;
  const job = await first(sql.all<JobsRow>(`select * from ${t.jobs} where name = ?`, run.name));
  const queue = (await queues(sql, t, now)).find((one) => one.name === run.queue);
  const alive = await workers(sql, t, now);
  return {
    now,
    run,
    limited: hot?.limited === 1,
    job: job && {
      limit: job.lim,
      keyLimit: job.key_lim,
      paused: job.paused_at !== null,
      seenAt: job.seen_at,
    },
    queue: queue ?? null,
    runningOfJob: await count("state = 2 and name = ? and owner is null", run.name),
    runningOfLane: await count("state = 2 and name = ? and lane = ?", run.name, hot?.lane ?? ""),
    runningOfQueue: await count("state = 2 and queue = ? and limited = 1", run.queue),
    ahead: await ahead(sql, t, run),
    workers: alive,
    ownerAlive: run.owner !== null && alive.some((worker) => worker.id === run.owner),
  };
}

async function ahead(
  sql: Sql,
  t: Tables,
  run: { queue: string; priority: number; runAt: number; id: number },
): Promise<number> {
  const row = await first(
    sql.all<{ n: number }>(
      `select count(*) as n from (
         select 1 as one from ${t.runs}
          where state = 1 and owner is null and queue = ?
            and (priority < ? or (priority = ? and (run_at < ? or (run_at = ? and id < ?))))
          limit ${AHEAD}) as before_it`,
      run.queue,
      run.priority,
      run.priority,
      run.runAt,
      run.runAt,
      run.id,
    ),
  );
  return row?.n ?? 0;
}
