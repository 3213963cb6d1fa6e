import { isChain } from "../../run/chains.ts";
import { isKeyed } from "../../run/lanes.ts";
import type { Rate } from "../rate.ts";
import type { NamedFacts, SlotUsage, SlowHook, WaitFacts } from "../records.ts";
import { jobLimitOf, keyLimitOf, readRate, type UnderLimit } from "../stored-limits.ts";
import { isolatedRuns } from "./active-runs.ts";
import { compareRuns } from "./claim.ts";
import type { SqlContext } from "./context.ts";
import { first, type Statement } from "./database.ts";
import { toJob } from "./jobs.ts";
import { toPause } from "./pause.ts";
import { ratesOfRun } from "./rate-records.ts";
import { find } from "./run-records.ts";
import { JOB_STATUS_COLUMNS, type JobStatusRow, jobsWithDefiners, queueSettings } from "./status.ts";
import { lastHeartbeats, liveWorkers } from "./workers.ts";

/** Most runs to count as ahead of a run. */
const MOST_AHEAD = 1000;

/** Most running runs to read of those that use a limit. */
const MOST_RUNNING = 10_000;

/** Most runs to name of those that use a limit. */
const MOST_HOLDERS = 3;

/** Reads everything that `why()` needs to explain a run. */
export async function waitFacts(sql: SqlContext, id: number, now: number): Promise<WaitFacts | null> {
  const { t } = sql;
  const run = await find(sql, id);
  if (!run) return null;
  const [unfinished] = await sql.all<{
    lane: string;
    hook: string | null;
    token: string | null;
    cost: number | null;
  }>(`select lane, hook, lease_token as token, cost from ${t.runs} where id = ?`, id);
  const usage = (where: string, ...params: string[]) => slotUsage(sql, where, params);
  const job = await first(
    sql.all<JobStatusRow>(
      `select ${JOB_STATUS_COLUMNS} from ${jobsWithDefiners(t)} where name = ?`,
      run.name,
    ),
  );
  const rates = (job && toJob(job).rates) ?? { job: null, key: null };
  const named = rates.under ? await namedFacts(sql, rates.under, unfinished?.cost ?? null) : null;
  const [queue] = await queueSettings(sql, now, run.queue);
  const alive = await liveWorkers(sql, now);
  const waits = run.state === "ready" && run.worker === null && run.owner === null;
  return {
    now,
    run,
    keyed: unfinished !== undefined && isKeyed(unfinished.lane, run.name),
    job: job && {
      limit: jobLimitOf(job),
      keyLimit: keyLimitOf(job),
      hasKeyRate: rates.key !== null,
      paused: job.paused_at !== null,
      pause: toPause(job),
      seenAt: job.seen_at,
    },
    queue: queue ?? null,
    runningOfJob: await usage("name = ?", run.name),
    runningOfLane: await usage("name = ? and lane = ?", run.name, unfinished?.lane ?? ""),
    runningOfQueue: await usage("queue = ?", run.queue),
    named,
    rates: await ratesOfRun(
      sql,
      { name: run.name, queue: run.queue, lane: unfinished?.lane ?? "", key: run.key },
      {
        ...rates,
        queue: queue?.rate ?? null,
        named: named && { name: named.name, rate: named.rate, cost: named.cost ?? 1 },
      },
      now,
    ),
    behind: unfinished?.token ? await behind(sql, run, unfinished.token) : null,
    ahead: waits ? await ahead(sql, run, queue?.fair ? (unfinished?.lane ?? null) : null) : 0,
    workers: alive,
    holder: run.worker === null ? null : ((await lastHeartbeats(sql, [run.worker])).get(run.worker) ?? null),
    isolated: await isolatedRuns(sql, now),
    slowHook: unfinished?.hook ? readSlowHook(unfinished.hook) : null,
    ownerAlive: run.owner !== null && alive.some((worker) => worker.id === run.owner),
  };
}

/** Reads the named limit that a job is under. */
async function namedFacts(
  sql: SqlContext,
  { limit: name, hasCost }: UnderLimit,
  cost: number | null,
): Promise<NamedFacts & { rate: Rate | null }> {
  const { t } = sql;
  const row = await first(
    sql.all<{ lim: number; rate: string | null }>(`select lim, rate from ${t.limits} where name = ?`, name),
  );
  const jobs = `select name from ${t.jobs} where under_limit = ? and lim < 0`;
  return {
    name,
    limit: row?.lim ?? null,
    rate: readRate(row?.rate ?? null),
    cost: hasCost ? cost : 1,
    running: await slotUsage(sql, `name in (${jobs})`, [name]),
  };
}

/** Reads which slots the running runs of a condition use. */
async function slotUsage(sql: SqlContext, where: string, params: string[]): Promise<SlotUsage> {
  const rows = await sql.all<{
    id: number;
    token: string;
    worker: string | null;
    priority: number;
    run_at: number;
  }>(
    `select id, lease_token as token, locked_by as worker, priority, run_at from ${sql.t.runs}
      where state = 2 and owner is null and ${where} limit ${MOST_RUNNING}`,
    ...params,
  );
  const slots = Map.groupBy(rows.sort(compareRuns), ({ id, token }) => (isChain(token) ? token : id));
  const named = [...slots.values()].slice(0, MOST_HOLDERS).map(([current]) => current!);
  const beats = await lastHeartbeats(sql, [...new Set(named.flatMap(({ worker }) => worker ?? []))]);
  return {
    slots: slots.size,
    holders: named.map(({ id, worker }) => ({ id, worker: beats.get(worker ?? "") ?? null })),
  };
}

export function writeSlowHook({ name, since, limit }: SlowHook): string {
  return JSON.stringify({ name, since, limit });
}

function readSlowHook(json: string): SlowHook {
  return JSON.parse(json) as SlowHook;
}

/** Returns the run of a chain that its worker executes before this one; null: none. */
async function behind(
  sql: SqlContext,
  { id, worker }: { id: number; worker: string | null },
  token: string,
): Promise<number | null> {
  const { db, t } = sql;
  if (!isChain(token) || worker === null) return null;
  const current = await first(
    sql.all<{ id: number }>(
      `select id from ${t.runs}${db.using(t.runs, "leased")} where state = 2 and locked_by = ? and lease_token = ?
        order by priority, run_at, id limit 1`,
      worker,
      token,
    ),
  );
  return current && current.id !== id ? current.id : null;
}

/**
 * Counts the ready runs of the same queue that are claimed before a run, up to `MOST_AHEAD`. Each part is one range of
 * an index, in its order: with one condition for all of them, every database reads the queue from its beginning.
 * `lane`: of the same priority only the runs of this lane count, because lanes take turns; null: they do not.
 */
async function ahead(
  sql: SqlContext,
  { queue, priority, runAt, id }: { queue: string; priority: number; runAt: number; id: number },
  lane: string | null,
): Promise<number> {
  const { db, t } = sql;
  const better: Statement = { text: "priority < ?", params: [priority] };
  const ofQueue: Statement[] = [
    { text: "priority = ? and run_at < ?", params: [priority, runAt] },
    { text: "priority = ? and run_at = ? and id < ?", params: [priority, runAt, id] },
  ];
  const ofLane: Statement[] = [
    { text: "priority = ? and lane = ? and run_at < ?", params: [priority, lane, runAt] },
    { text: "priority = ? and lane = ? and run_at = ? and id < ?", params: [priority, lane, runAt, id] },
  ];
  const part = (index: "ready" | "lanes", order: string, limited: number) => (range: Statement) => ({
    text: `select 1 as one from ${t.runs}${db.using(t.runs, index)}
              where state = 1 and limited = ${limited} and owner is null and queue = ? and ${range.text}
              order by ${order} ${db.upTo(MOST_AHEAD)}`,
    params: [queue, ...range.params],
  });
  const parts = [0, 1].flatMap((limited) => {
    const inQueue = part("ready", "priority, run_at, id", limited);
    if (lane === null) return [better, ...ofQueue].map(inQueue);
    return [inQueue(better), ...ofLane.map(part("lanes", "priority, lane, run_at, id", limited))];
  });
  const row = await first(
    sql.all<{ n: number }>(
      `select count(*) as n from (${parts
        .map(({ text }, n) => `select one from (${text}) as part_${n}`)
        .join(" union all ")}) as before_it`,
      ...parts.flatMap(({ params }) => params),
    ),
  );
  return Math.min(row?.n ?? 0, MOST_AHEAD);
}
