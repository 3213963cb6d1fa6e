import { type DefinedJob, type JobDetails, type SyncRequest, WORKER_DEAD_AFTER } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { inGroups, placeholders } from "./database.ts";
import { readFormerNames } from "./former-names.ts";
import { compareNames, deleteStubs, isDefined, JOB_COLUMNS, type JobRow, lockJobs } from "./jobs.ts";
import { setLimitHint } from "./limit-hint.ts";
import { type MayDefine, syncNames } from "./renames.ts";
import { syncSchedules } from "./schedules.ts";

type JobUpdate = Pick<DefinedJob, "name" | "fingerprint"> & JobDetails & { definedAt: number };

/** Jobs that are written by one statement: thousands of definitions must not take thousands of round trips. */
const JOBS_PER_STATEMENT = 100;

/** The start time of implicit definitions: before every worker's, so that any other definition replaces them. */
const IMPLICIT_START = 0;

/**
 * Writes the definitions of one worker. While workers run different versions of the code, the most recently started
 * live worker wins, so that rows do not change back and forth with each sync of an older one.
 */
export function syncJobs(sql: SqlContext, sync: SyncRequest, now: number): Promise<void> {
  const { t } = sql;
  const write = async (tx: SqlContext) => {
    const workers = await tx.all<{ id: string }>(
      `select id from ${t.workers} where seen_at > ?`,
      now - WORKER_DEAD_AFTER,
    );
    const alive = new Set(workers.map((row) => row.id));
    const mayDefine: MayDefine = (row) =>
      !row || row.defined_by === null || row.defined_at <= sync.startedAt || !alive.has(row.defined_by);
    const mayDefineImplicitly = (row: JobRow | undefined) =>
      !isDefined(row) ||
      (row.defined_at === IMPLICIT_START && (row.defined_by === sync.worker || !alive.has(row.defined_by!)));
    const jobs = await definableJobs(tx, sync.jobs, mayDefine, now);
    const mayDefineJob = (job: DefinedJob, row: JobRow | undefined) =>
      job.implicit ? mayDefineImplicitly(row) : mayDefine(row);
    for (const group of inGroups(jobs.sort(compareNames), JOBS_PER_STATEMENT)) {
      await syncGroup(tx, { ...sync, jobs: group }, mayDefineJob, now);
    }
    await syncQueues(tx, sync, mayDefine);
  };
  return sql.transaction(write, { lockTimeout: true });
}

/**
 * Applies renames and returns the jobs that this worker may define. An implicit job renames nothing, and is left out
 * if its name is a former name of another job.
 */
async function definableJobs(
  tx: SqlContext,
  all: DefinedJob[],
  mayDefine: MayDefine,
  now: number,
): Promise<DefinedJob[]> {
  const implicit = all.filter((job) => job.implicit);
  if (implicit.length === 0) return [...(await syncNames(tx, all, mayDefine, now))];
  const explicit = all.filter((job) => !job.implicit);
  const jobs = await syncNames(tx, explicit, mayDefine, now);
  const former = await readFormerNames(tx);
  return [...jobs, ...implicit.filter(({ name }) => !former.has(name))];
}

/** Writes the definitions of some jobs that are new, changed or another worker's, and marks the others as seen. */
async function syncGroup(
  tx: SqlContext,
  { worker, startedAt, jobs: defined }: SyncRequest,
  mayDefine: (job: DefinedJob, row: JobRow | undefined) => boolean,
  now: number,
): Promise<void> {
  const { db, t } = tx;
  const { jobs, known } = await lockAll(tx, defined, now);
  const definedAt = ({ implicit }: DefinedJob) => (implicit ? IMPLICIT_START : startedAt);
  const isCurrent = (job: DefinedJob) => {
    const row = known.get(job.name);
    const isSame = row?.fingerprint === job.fingerprint && row.defined_by === worker;
    return isSame && (row.defined_at === IMPLICIT_START) === (definedAt(job) === IMPLICIT_START);
  };
  const needsUpdate = (job: DefinedJob) => mayDefine(job, known.get(job.name)) && !isCurrent(job);
  const updates: JobUpdate[] = jobs.filter(needsUpdate).map((job) => ({
    ...job.details(),
    name: job.name,
    fingerprint: job.fingerprint,
    definedAt: definedAt(job),
  }));
  const seen = jobs.filter((job) => !needsUpdate(job)).map((job) => job.name);
  if (updates.length > 0) {
    const columns = [...JOB_COLUMNS.split(", "), "seen_at", "created_at"];
    await tx.run(
      db.upsert({
        table: t.jobs,
        key: ["name"],
        columns,
        update: columns.slice(1, -1),
        rows: updates.length,
      }),
      ...updates.flatMap((job) => [
        job.name,
        job.queue,
        job.priority,
        job.limit,
        job.keyLimit,
        job.cron,
        job.fingerprint,
        job.definedAt,
        worker,
        now,
        now,
      ]),
    );
    const lastSeen = (job: JobUpdate) => known.get(job.name)?.seen_at ?? null;
    await syncSchedules(
      tx,
      updates.map((job) => ({ ...job, seenAt: lastSeen(job) })),
      now,
    );
  }
  const limits = ({ limit, keyLimit }: JobUpdate) => limit > 0 || keyLimit > 0;
  const wasLimited = ({ name }: JobUpdate) => {
    const row = known.get(name);
    return row !== undefined && (row.lim > 0 || row.key_lim > 0);
  };
  const newlyLimited = updates.filter((job) => limits(job) && !wasLimited(job)).map((job) => job.name);
  await setLimitHint(tx, "name", newlyLimited);
  if (seen.length > 0) {
    await tx.run(`update ${t.jobs} set seen_at = ? where name in (${placeholders(seen)})`, now, ...seen);
  }
}

/** Locks the rows of jobs. Returns them, and the jobs that no other worker has renamed meanwhile. */
async function lockAll(
  tx: SqlContext,
  jobs: DefinedJob[],
  now: number,
): Promise<{ jobs: DefinedJob[]; known: Map<string, JobRow> }> {
  const { db } = tx;
  const { rows: known, stubs } = await lockJobs(
    tx,
    jobs.map(({ name }) => name),
    now,
  );
  if (db.forUpdate === "" || jobs.every(({ name }) => isDefined(known.get(name)))) return { jobs, known };
  const former = await readFormerNames(tx);
  const isFormer = (name: string) => former.has(name);
  await deleteStubs(tx, stubs.filter(isFormer));
  return { jobs: jobs.filter(({ name }) => !isFormer(name)), known };
}

/** Writes the limits of queues that are new, changed or another worker's. */
async function syncQueues(
  tx: SqlContext,
  { worker, startedAt, queues }: SyncRequest,
  mayDefine: MayDefine,
): Promise<void> {
  const { db, t } = tx;
  const columns = ["name", "lim", "defined_at", "defined_by"];
  for (const group of inGroups([...queues].sort(compareNames), JOBS_PER_STATEMENT)) {
    const rows = await tx.all<{
      name: string;
      lim: number;
      defined_at: number | null;
      defined_by: string | null;
    }>(
      `select name, lim, defined_at, defined_by from ${t.queues} where name in (${placeholders(group)}) order by name${db.forUpdate}`,
      ...group.map(({ name }) => name),
    );
    const known = new Map(rows.map((row) => [row.name, { ...row, defined_at: row.defined_at ?? 0 }]));
    const updates = group.filter(({ name, limit }) => {
      const row = known.get(name);
      return mayDefine(row) && !(row?.lim === limit && row.defined_by === worker);
    });
    if (updates.length === 0) continue;
    await tx.run(
      db.upsert({ table: t.queues, key: ["name"], columns, update: columns.slice(1), rows: updates.length }),
      ...updates.flatMap(({ name, limit }) => [name, limit, startedAt, worker]),
    );
    const newlyLimited = updates.filter(({ name, limit }) => limit > 0 && (known.get(name)?.lim ?? 0) === 0);
    await setLimitHint(
      tx,
      "queue",
      newlyLimited.map(({ name }) => name),
    );
  }
}
