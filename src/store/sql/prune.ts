import { type PruneReport, type PruneRequest, WORKER_DEAD_AFTER } from "../store.ts";
import { type Database, first, marks, type Param, type Tables } from "./database.ts";

/** Rollups by the minute are kept this long. */
const MINUTES_KEPT = 7 * 24 * 60;

/** Deletes in groups, each its own statement, so that nothing is locked for long. */
export async function prune(
  db: Database,
  t: Tables,
  request: PruneRequest,
  now: number,
): Promise<PruneReport> {
  let history = await pruneHistory(db, t, "keep_until <= ?", [now], request.batch);
  if (request.finishedFor !== null) {
    // A unique key that is held for a while is held by the run that has it.
    const old = "finished_at <= ? and (unique_until is null or unique_until <= ?)";
    history += await pruneHistory(db, t, old, [now - request.finishedFor, now], request.batch);
  }
  const jobs = request.jobsUnseenFor === null ? 0 : await pruneJobs(db, t, now - request.jobsUnseenFor);
  const gone = now - 10 * WORKER_DEAD_AFTER;
  const workers = await count(db, `select count(*) as n from ${t.workers} where seen_at < ?`, gone);
  if (workers > 0) await db.run(`delete from ${t.workers} where seen_at < ?`, gone);
  await db.run(`delete from ${t.minutes} where minute < ?`, Math.floor(now / 60_000) - MINUTES_KEPT);
  return { history, jobs, orphans: 0, workers };
}

async function pruneHistory(
  db: Database,
  t: Tables,
  where: string,
  params: number[],
  batch: number,
): Promise<number> {
  for (let total = 0; ; ) {
    const rows = await db.all<{ id: number }>(
      `select id from ${t.history} where ${where} limit ?`,
      ...params,
      batch,
    );
    if (rows.length === 0) return total;
    const ids = rows.map((row) => row.id);
    // By the condition once more: somebody may have brought one of them back meanwhile.
    const still = `id in (${marks(ids)}) and ${where}`;
    await db.transaction(async (tx) => {
      const attempts = `delete from ${t.attempts} where run_id in (select id from ${t.history} where ${still})`;
      await tx.run(attempts, ...ids, ...params);
      await tx.run(`delete from ${t.history} where ${still}`, ...ids, ...params);
    });
    total += ids.length;
  }
}

async function pruneJobs(db: Database, t: Tables, before: number): Promise<number> {
  const stale = `coalesce(seen_at, created_at) < ? and name not in (select name from ${t.runs})`;
  const found = await count(db, `select count(*) as n from ${t.jobs} where ${stale}`, before);
  if (found === 0) return 0;
  await db.transaction(async (tx) => {
    await tx.run(`delete from ${t.jobs} where ${stale}`, before);
    await tx.run(`delete from ${t.schedules} where job not in (select name from ${t.jobs})`);
  });
  return found;
}

async function count(db: Database, text: string, ...params: Param[]): Promise<number> {
  return (await first(db.all<{ n: number }>(text, ...params)))?.n ?? 0;
}
