import { isChain } from "../../run/chains.ts";
import { isKeyed } from "../../run/lanes.ts";
import type { SlotUsage, SlowHook, WaitFacts } from "../records.ts";
import { isolatedRuns } from "./active-runs.ts";
import { compareRuns } from "./claim.ts";
import type { SqlContext } from "./context.ts";
import { first } from "./database.ts";
import { toPause } from "./pause.ts";
import { find } from "./run-records.ts";
import { JOB_STATUS_COLUMNS, type JobStatusRow, queueSettings } from "./status.ts";
import { lastHeartbeats, liveWorkers } from "./workers.ts";

/** Most runs to count as ahead of a run. */
const MOST_AHEAD = 1000;

/** Most runs to name of those that use a limit. */
const MOST_HOLDERS = 3;

/** Reads everything that `why()` needs to explain a run. */
export async function waitFacts(sql: SqlContext, id: number, now: number): Promise<WaitFacts | null> {
  const { t } = sql;
  const run = await find(sql, id);
  if (!run) return null;
  const [unfinished] = await sql.all<{ lane: string; hook: string | null; token: string | null }>(
    `select lane, hook, lease_token as token from ${t.runs} where id = ?`,
    id,
  );
  const usage = (where: string, ...params: string[]) => slotUsage(sql, where, params);
  const job = await first(
    sql.all<JobStatusRow>(`select ${JOB_STATUS_COLUMNS} from ${t.jobs} where name = ?`, run.name),
  );
  const [queue] = await queueSettings(sql, now, run.queue);
  const alive = await liveWorkers(sql, now);
  return {
    now,
    run,
    keyed: unfinished !== undefined && isKeyed(unfinished.lane, run.name),
    job: job && {
      limit: job.lim,
      keyLimit: job.key_lim,
      paused: job.paused_at !== null,
      pause: toPause(job),
      seenAt: job.seen_at,
    },
    queue: queue ?? null,
    runningOfJob: await usage("name = ?", run.name),
    runningOfLane: await usage("name = ? and lane = ?", run.name, unfinished?.lane ?? ""),
    runningOfQueue: await usage("queue = ?", run.queue),
    behind: unfinished?.token ? await behind(sql, run, unfinished.token) : null,
    ahead: await ahead(sql, run),
    workers: alive,
    holder: run.worker === null ? null : ((await lastHeartbeats(sql, [run.worker])).get(run.worker) ?? null),
    isolated: await isolatedRuns(sql, now),
    slowHook: unfinished?.hook ? readSlowHook(unfinished.hook) : null,
    ownerAlive: run.owner !== null && alive.some((worker) => worker.id === run.owner),
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
      where state = 2 and owner is null and ${where}`,
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

/** Counts the ready runs of the same queue that are claimed before a run. */
async function ahead(
  sql: SqlContext,
  run: { queue: string; priority: number; runAt: number; id: number },
): Promise<number> {
  const { t } = sql;
  const row = await first(
    sql.all<{ n: number }>(
      `select count(*) as n from (
         select 1 as one from ${t.runs}
          where state = 1 and owner is null and queue = ?
            and (priority < ? or (priority = ? and (run_at < ? or (run_at = ? and id < ?))))
          limit ${MOST_AHEAD}) as before_it`,
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
