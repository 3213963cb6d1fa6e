import { stateCodes } from "../../run/states.ts";
import { yieldToEventLoop } from "../../time.ts";
import type { PruneForecast, PruneReport, PruneRequest } from "../maintenance.ts";
import type { SqlContext } from "./context.ts";
import { endRuns } from "./control.ts";
import {
  asJson,
  first,
  type IndexRange,
  inGroups,
  marks,
  type Param,
  type Statement,
  type Tables,
} from "./database.ts";
import { inLightGroups, type LogSweeper } from "./logs.ts";

import { countDead, forgetDead } from "./workers.ts";

/** Rollups by the minute are kept this long. */
const MINUTES_KEPT = 7 * 24 * 60;

/** How far finished runs are counted. */
const MOST_COUNTED = 1_000_000;

/** Rollups go by so many minutes at a time. */
const MINUTES_AT_ONCE = 60;

/** Deletes in groups, each its own transaction, so that nothing is locked for long. */
export async function prune(
  sql: SqlContext,
  sweeper: LogSweeper,
  request: PruneRequest,
  now: number,
): Promise<PruneReport> {
  const { t } = sql;
  const report: PruneReport = { history: 0, jobs: 0, orphans: 0, workers: 0 };
  const { batch, jobsUnseenFor, orphansOlderThan, job } = request;
  const each = async (walk: Walk, end: (ids: number[]) => Promise<number>, what: "history" | "orphans") => {
    for await (const ids of pages(sql, walk, batch)) {
      report[what] += await end(ids);
      if (!(request.onBatch?.({ ...report }) ?? true)) return false;
    }
    return true;
  };
  if (!job) {
    for await (const walk of finished(sql, request, now)) {
      if (!(await each(walk, (ids) => deleteFinished(sql, walk, ids), "history"))) return report;
    }
  }
  // Before the jobs: a job stays while runs of it wait.
  const orphans = orphaned(t, request, now);
  if (orphans && !(await each(orphans, (ids) => withdraw(sql, orphans, ids, now), "orphans"))) return report;
  if (jobsUnseenFor !== null) report.jobs = await pruneJobs(sql, unseen(t, jobsUnseenFor, job, now));
  if (job) return report;
  report.workers = await forgetDead(sql, now);
  await pruneMinutes(sql, Math.floor(now / 60_000) - MINUTES_KEPT);
  await sweeper.sweep(orphansOlderThan !== null);
  return report;
}

/** Rows of a table, as `r`, that go. */
interface Walk extends Statement {
  table: string;
  /**
   * Where no index leads to them: the way through the table, once from end to end and not from its beginning for each batch.
   * It is not asked for again when rows are deleted: PostgreSQL would read all that it leads to once more.
   */
  along?: (after: number) => IndexRange;
}

function byId(after: number): IndexRange {
  return { text: "r.id > ?", params: [after], order: ["r.id"] };
}

/** What is asked of the table to find rows of a walk that come after this one. */
function foundAfter(after: number, { text, params, along }: Walk): Statement {
  if (!along) return { text, params };
  const way = along(after);
  return {
    text: `${way.text} and ${text} order by ${way.order.join(", ")}`,
    params: [...way.params, ...params],
  };
}

/** Waiting runs whose job no worker has shown for the time of the request; null: none go. */
function orphaned(t: Tables, { orphansOlderThan, job }: PruneRequest, now: number): Walk | null {
  if (orphansOlderThan === null) return null;
  const before = now - orphansOlderThan;
  const [which, value] = job ? ["name = ?", job] : ["created_at < ?", before];
  const text = `state in (0, 1) and owner is null and ${which} and name not in (select name from ${t.jobs} where seen_at >= ?)`;
  return { table: t.runs, text, params: [value!, before], along: byId };
}

/** Jobs that no worker has shown for so long and that have no unfinished runs, apart from those that `but` excepts. */
function unseen(
  t: Tables,
  ms: number,
  job: string | null | undefined,
  now: number,
  but?: Walk | null,
): Statement {
  const kept = but ? ` where not (${but.text})` : "";
  return {
    text: `coalesce(seen_at, created_at) < ?${job ? " and name = ?" : ""} and name not in (select name from ${t.runs}${kept})`,
    params: [now - ms, ...(job ? [job] : []), ...(but?.params ?? [])],
  };
}

/** What would go. */
export async function forecast(sql: SqlContext, request: PruneRequest, now: number): Promise<PruneForecast> {
  const { t } = sql;
  const { jobsUnseenFor, job } = request;
  const history = job ? 0 : await countFinished(sql, request, now);
  const orphans = orphaned(t, request, now);
  const jobs = jobsUnseenFor === null ? null : unseen(t, jobsUnseenFor, job, now, orphans);
  return {
    history: Math.min(history, MOST_COUNTED),
    capped: history > MOST_COUNTED,
    jobs: jobs
      ? await count(sql, `select count(*) as n from ${t.jobs} where ${jobs.text}`, ...jobs.params)
      : 0,
    orphans: orphans
      ? await count(sql, `select count(*) as n from ${t.runs} where ${orphans.text}`, ...orphans.params)
      : 0,
    workers: job ? 0 : await countDead(sql, now),
  };
}

/** How many finished runs would go, up to one more than are counted. */
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
    for await (const walk of beyond(sql, request, request.keep, now)) {
      const { text, params } = foundAfter(0, walk);
      sum += await some(text, params, enough - sum);
      if (sum === enough) break;
    }
    return sum;
  }
  const which = byAge(t, request, now);
  const either = which.map(({ text }) => `(${text})`).join(" or ");
  return some(
    either,
    which.flatMap(({ params }) => params),
    enough,
  );
}

/** Which finished runs go: each of these is a walk of its own. */
async function* finished(sql: SqlContext, request: PruneRequest, now: number): AsyncGenerator<Walk> {
  const { t } = sql;
  const { keep } = request;
  if (typeof keep === "number") yield* beyond(sql, request, keep, now);
  else yield* byAge(t, request, now);
}

/** A unique key that is held for a while is held by the run that has it. */
const FREE = "(r.unique_until is null or r.unique_until <= ?)";

function byAge(t: Tables, { finishedFor, states }: PruneRequest, now: number): Walk[] {
  const table = t.history;
  const of = inStates(states);
  const over = { table, text: `r.keep_until <= ?${of}`, params: [now] };
  if (finishedFor === null) return [over];
  const old = `r.finished_at <= ? and ${FREE}${of}`;
  return [over, { table, text: old, params: [now - finishedFor, now], along: byId }];
}

/** A walk for each job that has more than are kept. */
async function* beyond(
  sql: SqlContext,
  { states, finishedFor }: PruneRequest,
  keep: number,
  now: number,
): AsyncGenerator<Walk> {
  const { db, t } = sql;
  const of = inStates(states);
  const old = finishedFor === null ? "" : " and r.finished_at <= ?";
  const params = [now, ...(finishedFor === null ? [] : [now - finishedFor])];
  for await (const { name, from } of surplus(sql, keep, of)) {
    const along = (after: number) => db.historyRange(name, after, from);
    yield { table: t.history, along, text: `${FREE}${of}${old}`, params };
    await yieldToEventLoop();
  }
}

/** Finished runs of one job that are more than so many: this one and those before it. */
interface Surplus {
  name: string;
  from: number;
}

/**
 * Of each name in history where the surplus begins: at the newest run after those that are kept. Of the runs only those that
 * fit the condition on `r` count. It goes along the index of names and ids, from name to name.
 */
async function* surplus(sql: SqlContext, keep: number, counted: string): AsyncGenerator<Surplus> {
  const { db, t } = sql;
  for (let after = ""; ; ) {
    const next = await first(
      sql.all<{ name: string }>(`select name from ${t.history} where name > ? order by name limit 1`, after),
    );
    if (!next) return;
    const { name } = next;
    const { text, params, order } = db.historyRange(name, 0, Number.MAX_SAFE_INTEGER);
    const begin = await first(
      sql.all<{ id: number }>(
        `select r.id from ${t.history} r where ${text}${counted} order by ${order.map((column) => `${column} desc`).join(", ")} limit 1 offset ?`,
        ...params,
        keep,
      ),
    );
    if (begin) yield { name, from: begin.id };
    after = name;
  }
}

function inStates(states: PruneRequest["states"]): string {
  if (!states) return "";
  return ` and r.state in (${states.map((state) => stateCodes[state]).join(", ") || "null"})`;
}

/** The ids of what goes, page by page. Only read: whoever deletes them looks once more. */
async function* pages(sql: SqlContext, walk: Walk, batch: number): AsyncGenerator<number[]> {
  for (let after = 0; ; ) {
    const { text, params } = foundAfter(after, walk);
    const rows = await sql.all<{ id: number }>(
      `select r.id from ${walk.table} r where ${text} limit ?`,
      ...params,
      batch,
    );
    if (rows.length === 0) return;
    yield rows.map(({ id }) => id);
    after = rows.at(-1)!.id;
    // SQLite answers in the same turn: nothing else would have its turn until all is gone, not even a signal.
    await yieldToEventLoop();
  }
}

/** A few runs that logged much are as much to delete as many others. */
async function deleteFinished(sql: SqlContext, walk: Walk, ids: number[]): Promise<number> {
  let deleted = 0;
  for (const group of await inLightGroups(sql, ids)) deleted += await deleteGroup(sql, walk, group);
  return deleted;
}

/** History first, as everybody who brings back or removes a run locks them, and by the condition once more: one may have been brought back. */
function deleteGroup(sql: SqlContext, { text, params }: Walk, ids: number[]): Promise<number> {
  const { db, t } = sql;
  const list = db.rows({ id: "integer" });
  return sql.transaction(async (tx) => {
    const still = await tx.all<{ id: number }>(
      `select r.id from ${db.lookUp(list, t.history)}
        where ${text}${db.forUpdate && ` order by r.id${db.lockOnly(db.forUpdate, "r")}`}`,
      asJson(ids),
      ...params,
    );
    const going = asJson(still.map(({ id }) => id));
    await tx.run(db.deleteFrom(t.attempts, "run_id", list), going);
    await tx.run(db.deleteFrom(t.logs, "run_id", list), going);
    await tx.run(db.deleteFrom(t.history, "id", list), going);
    return still.length;
  });
}

function withdraw(sql: SqlContext, { text, params }: Walk, ids: number[], now: number): Promise<number> {
  const end = { state: "cancelled", error: null, keep: 0, now } as const;
  return sql.transaction(async (tx) => {
    let ended = 0;
    for (const group of inGroups(ids)) {
      const which = { text: `id in (${marks(group)}) and ${text}`, params: [...group, ...params] };
      ended += (await endRuns(tx, which, end)).length;
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

/** Chosen by a plain read: MySQL locks every row that a `delete` looks at, and these would be all runs. */
async function pruneJobs(sql: SqlContext, { text, params }: Statement): Promise<number> {
  const { t } = sql;
  const found = await sql.all<{ name: string }>(`select name from ${t.jobs} where ${text}`, ...params);
  const [before] = params;
  for (const group of inGroups(found.map(({ name }) => name))) {
    await sql.transaction(async (tx) => {
      const these = `in (${marks(group)})`;
      const stale = `name ${these} and coalesce(seen_at, created_at) < ?`;
      await tx.run(`delete from ${t.jobs} where ${stale}`, ...group, before!);
      for (const table of [t.schedules, t.aliases]) {
        const left = `job ${these} and job not in (select name from ${t.jobs} where name ${these})`;
        await tx.run(`delete from ${table} where ${left}`, ...group, ...group);
      }
    });
  }
  return found.length;
}

async function count(sql: SqlContext, text: string, ...params: Param[]): Promise<number> {
  return (await first(sql.all<{ n: number }>(text, ...params)))?.n ?? 0;
}
