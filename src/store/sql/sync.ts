import { type JobDetails, type SyncRequest, WORKER_DEAD_AFTER } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { inGroups, marks } from "./database.ts";
import { readFormerNames } from "./former-names.ts";
import { byName, COLUMNS, deleteMade, isDefined, lockJobs, type Row } from "./jobs.ts";
import { markLimited } from "./limit-hint.ts";
import { syncNames } from "./renames.ts";
import { syncSchedules } from "./schedules.ts";

type Shown = SyncRequest["jobs"][number];

type Written = Pick<Shown, "name" | "fingerprint"> & JobDetails & { definedAt: number };

/** Jobs that share a statement: thousands of definitions must not take thousands of round trips. */
const GROUP = 100;

/** When an implicit definition counts as started: before every worker, so that any definition replaces it. */
const IMPLICIT = 0;

/** Whether this worker decides about a job or a queue: nobody else alive that started later has defined it. */
type Decides = (row: Pick<Row, "defined_at" | "defined_by"> | undefined) => boolean;

/**
 * Shows the jobs of one worker. Where versions of the code run side by side, the row follows the latest started of
 * those alive, so that it does not change back and forth while an old one goes on showing its own.
 */
export function syncJobs(sql: SqlContext, sync: SyncRequest, now: number): Promise<void> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const workers = await tx.all<{ id: string }>(
      `select id from ${t.workers} where seen_at > ?`,
      now - WORKER_DEAD_AFTER,
    );
    const alive = new Set(workers.map((row) => row.id));
    const decides: Decides = (row) =>
      !row || row.defined_by === null || row.defined_at <= sync.startedAt || !alive.has(row.defined_by);
    const takes = (row: Row | undefined) =>
      !isDefined(row) ||
      (row.defined_at === IMPLICIT && (row.defined_by === sync.worker || !alive.has(row.defined_by!)));
    const jobs = await definable(tx, sync.jobs, decides, now);
    const decidesAbout = (job: Shown, row: Row | undefined) => (job.implicit ? takes(row) : decides(row));
    for (const group of inGroups(jobs.sort(byName), GROUP)) {
      await syncGroup(tx, { ...sync, jobs: group }, decidesAbout, now);
    }
    await syncQueues(tx, sync, decides);
  });
}

/** The jobs that this worker may show. An implicit one renames nothing, and is left out where another job has its name. */
async function definable(tx: SqlContext, all: Shown[], decides: Decides, now: number): Promise<Shown[]> {
  const implicit = all.filter((job) => job.implicit);
  if (implicit.length === 0) return [...(await syncNames(tx, all, decides, now))];
  const explicit = all.filter((job) => !job.implicit);
  const jobs = await syncNames(tx, explicit, decides, now);
  const former = await readFormerNames(tx);
  return [...jobs, ...implicit.filter(({ name }) => !former.has(name))];
}

async function syncGroup(
  tx: SqlContext,
  { worker, startedAt, jobs: shown }: SyncRequest,
  decides: (job: Shown, row: Row | undefined) => boolean,
  now: number,
): Promise<void> {
  const { db, t } = tx;
  const { jobs, known } = await lock(tx, shown, now);
  const definedAt = ({ implicit }: Shown) => (implicit ? IMPLICIT : startedAt);
  const isShown = (job: Shown) => {
    const row = known.get(job.name);
    const isSame = row?.fingerprint === job.fingerprint && row.defined_by === worker;
    return isSame && (row.defined_at === IMPLICIT) === (definedAt(job) === IMPLICIT);
  };
  const isWritten = (job: Shown) => decides(job, known.get(job.name)) && !isShown(job);
  const written: Written[] = jobs.filter(isWritten).map((job) => ({
    ...job.details(),
    name: job.name,
    fingerprint: job.fingerprint,
    definedAt: definedAt(job),
  }));
  const seen = jobs.filter((job) => !isWritten(job)).map((job) => job.name);
  if (written.length > 0) {
    const columns = [...COLUMNS.split(", "), "seen_at", "created_at"];
    await tx.run(
      db.upsert(t.jobs, ["name"], columns, columns.slice(1, -1), written.length),
      ...written.flatMap((job) => [
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
    const lastSeen = (job: Written) => known.get(job.name)?.seen_at ?? null;
    await syncSchedules(
      tx,
      written.map((job) => ({ ...job, seenAt: lastSeen(job) })),
      now,
    );
  }
  const limits = ({ limit, keyLimit }: Written) => limit > 0 || keyLimit > 0;
  const wasLimited = ({ name }: Written) => {
    const row = known.get(name);
    return row !== undefined && (row.lim > 0 || row.key_lim > 0);
  };
  const newlyLimited = written.filter((job) => limits(job) && !wasLimited(job)).map((job) => job.name);
  await markLimited(tx, "name", newlyLimited);
  if (seen.length > 0) {
    await tx.run(`update ${t.jobs} set seen_at = ? where name in (${marks(seen)})`, now, ...seen);
  }
}

/** The rows of jobs, locked, and the jobs that are not renamed at this moment by another worker. */
async function lock(
  tx: SqlContext,
  jobs: Shown[],
  now: number,
): Promise<{ jobs: Shown[]; known: Map<string, Row> }> {
  const { db } = tx;
  const { rows: known, made } = await lockJobs(
    tx,
    jobs.map(({ name }) => name),
    now,
  );
  if (db.forUpdate === "" || jobs.every(({ name }) => isDefined(known.get(name)))) return { jobs, known };
  const former = await readFormerNames(tx);
  const isFormer = (name: string) => former.has(name);
  await deleteMade(tx, made.filter(isFormer));
  return { jobs: jobs.filter(({ name }) => !isFormer(name)), known };
}

async function syncQueues(
  tx: SqlContext,
  { worker, startedAt, queues }: SyncRequest,
  decides: Decides,
): Promise<void> {
  const { db, t } = tx;
  const columns = ["name", "lim", "defined_at", "defined_by"];
  for (const group of inGroups([...queues].sort(byName), GROUP)) {
    const rows = await tx.all<{
      name: string;
      lim: number;
      defined_at: number | null;
      defined_by: string | null;
    }>(
      `select name, lim, defined_at, defined_by from ${t.queues} where name in (${marks(group)}) order by name${db.forUpdate}`,
      ...group.map(({ name }) => name),
    );
    const known = new Map(rows.map((row) => [row.name, { ...row, defined_at: row.defined_at ?? 0 }]));
    const written = group.filter(({ name, limit }) => {
      const row = known.get(name);
      return decides(row) && !(row?.lim === limit && row.defined_by === worker);
    });
    if (written.length === 0) continue;
    await tx.run(
      db.upsert(t.queues, ["name"], columns, columns.slice(1), written.length),
      ...written.flatMap(({ name, limit }) => [name, limit, startedAt, worker]),
    );
    const newlyLimited = written.filter(({ name, limit }) => limit > 0 && (known.get(name)?.lim ?? 0) === 0);
    await markLimited(
      tx,
      "queue",
      newlyLimited.map(({ name }) => name),
    );
  }
}
