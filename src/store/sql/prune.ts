import { yieldToEventLoop } from "../../time.ts";
import type { PruneForecast, PruneReport, PruneRequest } from "../maintenance.ts";
import { pruneAudit } from "./audit.ts";
import { pruneBatches } from "./batch-members.ts";
import type { SqlContext } from "./context.ts";
import { endRuns } from "./control.ts";
import { first, idsAsJson, inGroups, type Param, placeholders, type Statement } from "./database.ts";
import { inLightGroups, type LogSweeper } from "./logs.ts";
import { pruneMutes } from "./mutes.ts";

import {
  nextRows,
  type PruneSelection,
  selectByAge,
  selectBySurplus,
  selectFinished,
  selectOrphans,
  unseenJobs,
  unseenSince,
} from "./prune-selection.ts";
import { pruneRates } from "./rates.ts";
import { pruneRollups } from "./rollups.ts";
import { countDead, forgetDead } from "./workers.ts";

/** Counts of jobs by the minute are kept for a week; this is in minutes. */
const MINUTES_KEPT = 7 * 24 * 60;

/** Most finished runs to count. */
const MOST_COUNTED = 1_000_000;

/** Minutes whose counts one statement deletes. */
const MINUTES_AT_ONCE = 60;

/** Deletes in batches, each in its own transaction, so that no lock is held for long. */
export async function prune(
  sql: SqlContext,
  sweeper: LogSweeper,
  request: PruneRequest & { batches: Set<number> },
  now: number,
): Promise<PruneReport> {
  const { t } = sql;
  const report: PruneReport = { history: 0, jobs: 0, orphans: 0, workers: 0 };
  const { batch, jobsUnseenFor, orphansOlderThan, job, batches } = request;
  const each = async (
    selection: PruneSelection,
    end: (ids: number[]) => Promise<number>,
    what: "history" | "orphans",
  ) => {
    for await (const ids of groupsOf(sql, selection, batch)) {
      const ended = await end(ids);
      report[what] += ended;
      if (!(request.onBatch?.({ ...report }) ?? true)) return false;
      // Another transaction has locked all of them, and a search that does not move on would find them again.
      if (ended === 0 && !selection.scan) break;
    }
    return true;
  };
  if (!job) {
    for await (const selection of selectFinished(sql, request, now)) {
      if (!(await each(selection, (ids) => deleteFinished(sql, selection, ids), "history"))) return report;
    }
  }
  // Before the jobs: a job with waiting runs is kept.
  const orphans = selectOrphans(t, request, now);
  if (orphans && !(await each(orphans, (ids) => endOrphans(sql, orphans, ids, { now, batches }), "orphans")))
    return report;
  if (jobsUnseenFor !== null)
    report.jobs = await pruneJobs(sql, unseenJobs(t, { unseenFor: jobsUnseenFor, job }, now));
  if (job) return report;
  report.workers = await forgetDead(sql, now);
  const minutesBefore = Math.floor(now / 60_000) - MINUTES_KEPT;
  await pruneMinutes(sql, minutesBefore);
  await pruneRollups(sql, now, minutesBefore);
  await pruneAudit(sql, now);
  await pruneMutes(sql, now);
  await pruneBatches(sql, now);
  await pruneRates(sql, now);
  await sweeper.sweep(orphansOlderThan !== null);
  return report;
}

/** Counts what `prune` would delete. */
export async function forecast(sql: SqlContext, request: PruneRequest, now: number): Promise<PruneForecast> {
  const { t } = sql;
  const { jobsUnseenFor, job } = request;
  const history = job ? 0 : await countFinished(sql, request, now);
  const orphans = selectOrphans(t, request, now);
  const jobs = jobsUnseenFor === null ? null : unseenJobs(t, { unseenFor: jobsUnseenFor, job }, now, orphans);
  return {
    history: Math.min(history, MOST_COUNTED),
    capped: history > MOST_COUNTED,
    jobs: jobs
      ? await count(sql, `select count(*) as n from ${t.jobs} j where ${jobs.text}`, ...jobs.params)
      : 0,
    orphans: orphans
      ? await count(sql, `select count(*) as n from ${t.runs} where ${orphans.text}`, ...orphans.params)
      : 0,
    workers: job ? 0 : await countDead(sql, now),
  };
}

/** Counts the finished runs that `prune` would delete, up to one more than `MOST_COUNTED`. */
async function countFinished(sql: SqlContext, request: PruneRequest, now: number): Promise<number> {
  const { t } = sql;
  const enough = MOST_COUNTED + 1;
  const some = (text: string, params: Param[], limit: number) =>
    count(
      sql,
      `select count(*) as n from (select 1 as one from ${t.history} r where ${text} limit ?) as found`,
      ...params,
      limit,
    );
  if (typeof request.keep === "number") {
    let sum = 0;
    for await (const selection of selectBySurplus(sql, request, request.keep, now)) {
      const { text, params } = nextRows(0, selection);
      sum += await some(text, params, enough - sum);
      if (sum === enough) break;
    }
    return sum;
  }
  const which = selectByAge(t, request, now);
  const either = which.map(({ text }) => `(${text})`).join(" or ");
  return some(
    either,
    which.flatMap(({ params }) => params),
    enough,
  );
}

/** Reads the ids of a selection in batches. Does not lock: the delete checks the condition again. */
async function* groupsOf(
  sql: SqlContext,
  selection: PruneSelection,
  batch: number,
): AsyncGenerator<number[]> {
  for (let after = 0; ; ) {
    const { text, params } = nextRows(after, selection);
    const rows = await sql.all<{ id: number }>(
      `select r.id from ${selection.table} r where ${text} limit ?`,
      ...params,
      batch,
    );
    if (rows.length === 0) return;
    yield rows.map(({ id }) => id);
    after = rows.at(-1)!.id;
    // SQLite answers synchronously: without a pause, timers and signals would wait until all rows are deleted.
    await yieldToEventLoop();
  }
}

/** Deletes a batch of finished runs, in smaller groups if they have many log lines. */
async function deleteFinished(sql: SqlContext, selection: PruneSelection, ids: number[]): Promise<number> {
  let deleted = 0;
  for (const group of await inLightGroups(sql, ids)) deleted += await deleteGroup(sql, selection, group);
  return deleted;
}

/**
 * Locks and deletes finished runs that still satisfy the condition: one may have been revived meanwhile. Locks history
 * before other tables, as reviving and removing a run do. Leaves out runs that another transaction has locked: a frozen
 * worker may hold them.
 */
function deleteGroup(sql: SqlContext, { text, params }: PruneSelection, ids: number[]): Promise<number> {
  const { db, t } = sql;
  const list = db.rows({ id: "integer" });
  return sql.transaction(async (tx) => {
    const current = await tx.all<{ id: number }>(
      `select r.id from ${db.lookUp(list, t.history)}
        where ${text}${db.skipLocked && ` order by r.id${db.lockOnly(db.skipLocked, "r")}`}`,
      idsAsJson(ids),
      ...params,
    );
    const going = idsAsJson(current.map(({ id }) => id));
    await tx.run(db.deleteFrom(t.attempts, "run_id", list), going);
    await tx.run(db.deleteFrom(t.logs, "run_id", list), going);
    await tx.run(db.deleteFrom(t.history, "id", list), going);
    return current.length;
  });
}

/** Ends waiting runs whose job is gone, if they still satisfy the condition. */
function endOrphans(
  sql: SqlContext,
  { text, params }: PruneSelection,
  ids: number[],
  when: { now: number; batches: Set<number> },
): Promise<number> {
  const end = { state: "cancelled", error: null, keep: 0, ...when } as const;
  return sql.transaction(async (tx) => {
    let ended = 0;
    for (const group of inGroups(ids)) {
      const which = { text: `id in (${placeholders(group)}) and ${text}`, params: [...group, ...params] };
      ended += (await endRuns(tx, which, end, { lock: sql.db.skipLocked })).length;
    }
    return ended;
  });
}

async function pruneMinutes(sql: SqlContext, before: number): Promise<void> {
  const { t } = sql;
  for (;;) {
    const oldest = await first(
      sql.all<{ minute: number | null }>(`select min(minute) as minute from ${t.minutes}`),
    );
    const from = oldest?.minute ?? before;
    if (from >= before) return;
    await sql.run(`delete from ${t.minutes} where minute < ?`, Math.min(from + MINUTES_AT_ONCE, before));
    await yieldToEventLoop();
  }
}

/**
 * Deletes jobs with their schedules and former names. They are found by a plain read: MySQL locks every row that a
 * `delete` reads, and these would be all runs. A job that got a run since then stays, or the run would be without a
 * job.
 */
async function pruneJobs(sql: SqlContext, { text, params }: Statement): Promise<number> {
  const { db, t } = sql;
  const found = await sql.all<{ name: string }>(`select j.name from ${t.jobs} j where ${text}`, ...params);
  const [before] = params;
  let deleted = 0;
  for (const group of inGroups(found.map(({ name }) => name))) {
    deleted += await sql.transaction(async (tx) => {
      const stale = await tx.all<{ name: string }>(
        `select j.name from ${t.jobs} j where j.name in (${placeholders(group)}) and ${unseenSince(t)}
          order by j.name${db.lockOnly(db.forUpdate, "j")}`,
        ...group,
        before!,
        before!,
      );
      const runs = await tx.all<{ name: string }>(
        `select distinct name from ${t.runs} where name in (${placeholders(group)})`,
        ...group,
      );
      const used = new Set(runs.map(({ name }) => name));
      const names = stale.map(({ name }) => name).filter((name) => !used.has(name));
      if (names.length === 0) return 0;
      await tx.run(`delete from ${t.jobs} where name in (${placeholders(names)})`, ...names);
      for (const table of [t.schedules, t.aliases])
        await tx.run(`delete from ${table} where job in (${placeholders(names)})`, ...names);
      return names.length;
    });
  }
  return deleted;
}

async function count(sql: SqlContext, text: string, ...params: Param[]): Promise<number> {
  return (await first(sql.all<{ n: number }>(text, ...params)))?.n ?? 0;
}
