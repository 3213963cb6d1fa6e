import { HOUR } from "../../time.ts";
import type { DefinedJob, JobDetails, SyncRequest, SyncResult } from "../store.ts";
import { storedLimits, writeRates } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";
import { inGroups, namesAsJson, placeholders } from "./database.ts";
import { type Census, type Definers, readDefiners, releaseJobs, takeCensus } from "./definers.ts";
import { readFormerNames } from "./former-names.ts";
import {
  compareNames,
  deleteStubs,
  isDefined,
  JOB_COLUMNS,
  type JobRow,
  lockJobs,
  readJobs,
} from "./jobs.ts";
import { setLimitHint } from "./limit-hint.ts";
import { NAMED_LIMITS_SINCE, refuseOlderCode } from "./migrate.ts";
import { type MayDefine, syncNames } from "./renames.ts";
import { syncSchedules } from "./schedules.ts";
import { syncLimits, syncQueues } from "./sync-queues.ts";

type JobUpdate = Pick<DefinedJob, "name" | "fingerprint"> & JobDetails & { definedAt: number };

/** Jobs that are written by one statement: thousands of definitions must not take thousands of round trips. */
const JOBS_PER_STATEMENT = 100;

/** The start time of implicit definitions: before every worker's, so that any other definition replaces them. */
const IMPLICIT_START = 0;

/**
 * A worker writes `seen_at` of its jobs at least this often, although its heartbeats stand for them: processes of older
 * versions read the column alone.
 */
const REFRESHED_AFTER = HOUR;

/** The request of a sync, and the facts that its decisions depend on. */
interface Pass {
  sync: SyncRequest;
  definers: Definers;
  now: number;
  mayDefine(job: DefinedJob, row: JobRow | undefined): boolean;
}

/**
 * Writes the definitions of one worker. While workers run different versions of the code, the most recently started
 * live worker wins, so that rows do not change back and forth with each sync of an older one. Reads no job if the
 * census is that of the request.
 */
export async function syncJobs(sql: SqlContext, sync: SyncRequest, now: number): Promise<SyncResult> {
  const census = await takeCensus(sql, now);
  const { text, workers } = census;
  if (sync.census === text) return { workers, census: text, isUnchanged: true, undefinedLimits: [] };
  const write = (tx: SqlContext) => syncAll(tx, sync, census, now);
  const hasWritten = await sql.transaction(write, { lockTimeout: true });
  // The census is older than what the sync read: a change in between makes the next sync read the jobs again.
  const undefinedLimits = await findUndefined(sql, sync.jobs);
  return { workers, census: hasWritten ? null : text, isUnchanged: false, undefinedLimits };
}

/** Returns the named limits that jobs are under and that no process has defined. */
async function findUndefined(sql: SqlContext, jobs: DefinedJob[]): Promise<string[]> {
  const under = new Set(jobs.map((job) => job.under ?? null).filter((name) => name !== null));
  if (under.size === 0) return [];
  const { db, t } = sql;
  const rows = await sql.all<{ name: string }>(
    `select r.name from ${db.lookUp(db.rows({ name: "text" }), t.limits, "r.name = v.name")}`,
    namesAsJson([...under]),
  );
  const defined = new Set(rows.map(({ name }) => name));
  return [...under].filter((name) => !defined.has(name));
}

/** Returns whether anything was written. */
async function syncAll(tx: SqlContext, sync: SyncRequest, census: Census, now: number): Promise<boolean> {
  const definers = await readDefiners(tx, now);
  const isAlive = (id: string) => definers.isAlive(id);
  const mayDefine: MayDefine = (row) =>
    !row || row.defined_by === null || row.defined_at <= sync.startedAt || !isAlive(row.defined_by);
  const mayDefineImplicitly = (row: JobRow | undefined) =>
    !isDefined(row) ||
    (row.defined_at === IMPLICIT_START && (row.defined_by === sync.worker || !isAlive(row.defined_by!)));
  const pass: Pass = {
    sync,
    definers,
    now,
    mayDefine: (job, row) => (job.implicit ? mayDefineImplicitly(row) : mayDefine(row)),
  };
  const jobs = await definableJobs(tx, sync.jobs, mayDefine, now);
  let hasWritten = await syncLimits(tx, sync, mayDefine);
  let own = 0;
  for (const group of inGroups(jobs.sort(compareNames), JOBS_PER_STATEMENT)) {
    const synced = await syncGroup(tx, group, pass);
    own += synced.own;
    hasWritten ||= synced.hasWritten;
  }
  if (census.jobsOf(sync.worker) > own) {
    await releaseJobs(tx, sync.worker, definers.lastBeat(sync.worker), new Set(jobs.map(({ name }) => name)));
    hasWritten = true;
  }
  return (await syncQueues(tx, sync, mayDefine)) || hasWritten;
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

/**
 * Writes the definitions of some jobs that are new, changed or another worker's, and `seen_at` of the others unless the
 * heartbeats of their worker stand for it. Returns how many rows named this worker before.
 */
async function syncGroup(
  tx: SqlContext,
  defined: DefinedJob[],
  pass: Pass,
): Promise<{ own: number; hasWritten: boolean }> {
  const { sync, now } = pass;
  const rows = await readJobs(
    tx,
    defined.map(({ name }) => name),
  );
  const own = defined.filter(({ name }) => rows.get(name)?.defined_by === sync.worker).length;
  const mustWrite = defined.some((job) => {
    const row = rows.get(job.name);
    return needsUpdate(job, row, pass) || mustWriteSeen(row!, pass);
  });
  // Without locks: of a thousand workers that define the same jobs, almost all have nothing to write.
  if (!mustWrite) return { own, hasWritten: false };
  const { jobs, known } = await lockAll(tx, defined, now);
  const updates: JobUpdate[] = [];
  const seen: string[] = [];
  for (const job of jobs) {
    const row = known.get(job.name);
    const { name, fingerprint } = job;
    if (needsUpdate(job, row, pass))
      updates.push({ ...job.details(), name, fingerprint, definedAt: definedAt(job, sync) });
    else if (mustWriteSeen(row!, pass)) seen.push(name);
  }
  if (updates.length > 0) await updateJobs(tx, updates, known, pass);
  if (seen.length > 0) {
    const { t } = tx;
    await tx.run(`update ${t.jobs} set seen_at = ? where name in (${placeholders(seen)})`, now, ...seen);
  }
  return { own, hasWritten: true };
}

function definedAt({ implicit }: DefinedJob, { startedAt }: SyncRequest): number {
  return implicit ? IMPLICIT_START : startedAt;
}

/** Whether the definition of this worker belongs in the row, and is not there yet. */
function needsUpdate(job: DefinedJob, row: JobRow | undefined, { sync, mayDefine }: Pass): boolean {
  const isSame = row?.fingerprint === job.fingerprint && row.defined_by === sync.worker;
  const isCurrent =
    isSame && (row.defined_at === IMPLICIT_START) === (definedAt(job, sync) === IMPLICIT_START);
  return !isCurrent && mayDefine(job, row);
}

/** Whether `seen_at` must be written, because no heartbeat stands for it or for processes of older versions. */
function mustWriteSeen(row: JobRow, { sync, definers, now }: Pass): boolean {
  if (!definers.covers(row)) return true;
  return row.defined_by === sync.worker && (row.seen_at ?? 0) < now - REFRESHED_AFTER;
}

/** Writes definitions of this worker, whose rows are locked. */
async function updateJobs(
  tx: SqlContext,
  updates: JobUpdate[],
  known: ReadonlyMap<string, JobRow>,
  { sync: { worker }, definers, now }: Pass,
): Promise<void> {
  const { db, t } = tx;
  const columns = [...JOB_COLUMNS.split(", "), "seen_at", "created_at"];
  await tx.run(
    db.upsert({ table: t.jobs, key: ["name"], columns, update: columns.slice(1, -1), rows: updates.length }),
    ...updates.flatMap((job) => {
      const { lim, key_lim: keyLim } = storedLimits(job.limit, job.keyLimit, job.rates ?? null);
      const { name, queue, priority, cron, fingerprint, definedAt } = job;
      const rates = writeRates(job.rates ?? null);
      const under = job.rates?.under?.limit ?? null;
      return [
        ...[name, queue, priority, lim, keyLim, rates, under],
        ...[cron, fingerprint, definedAt, worker, now, now],
      ];
    }),
  );
  if (updates.some(({ rates }) => rates?.under)) await refuseOlderCode(tx, NAMED_LIMITS_SINCE);
  const lastSeen = ({ name }: JobUpdate) => {
    const row = known.get(name);
    return row ? definers.lastSeen(row) : null;
  };
  await syncSchedules(
    tx,
    updates.map((job) => ({ ...job, seenAt: lastSeen(job) })),
    now,
  );
  const limits = ({ limit, keyLimit, rates }: JobUpdate) => limit > 0 || keyLimit > 0 || rates;
  const wasLimited = ({ name }: JobUpdate) => {
    const row = known.get(name);
    return row !== undefined && (row.lim > 0 || row.key_lim > 0);
  };
  const newlyLimited = updates.filter((job) => limits(job) && !wasLimited(job)).map((job) => job.name);
  await setLimitHint(tx, "name", newlyLimited);
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
