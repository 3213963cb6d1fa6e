import { type JobDetails, type JobSync, WORKER_DEAD_AFTER } from "../store.ts";
import { type Database, first, inGroups, marks, type Sql, type Tables } from "./database.ts";
import { byName, COLUMNS, type Row } from "./jobs.ts";
import { markLimited } from "./limited.ts";
import { syncSchedules } from "./schedules.ts";

type Shown = JobSync["jobs"][number];

type Written = Pick<Shown, "name" | "fingerprint"> & JobDetails;

/** So many jobs share a statement: thousands of definitions must not take thousands of round trips. */
const GROUP = 100;

/**
 * Shows the jobs of one worker. Where versions of the code run side by side, the row follows the latest started of
 * those alive, so that it does not change back and forth while an old one goes on showing its own.
 */
export function syncJobs(db: Database, t: Tables, sync: JobSync, now: number): Promise<void> {
  return db.transaction(async (tx) => {
    for (const job of sync.jobs) {
      for (const old of job.formerly) await rename(db, tx, t, old, job.name);
    }
    const workers = await tx.all<{ id: string }>(
      `select id from ${t.workers} where seen_at > ?`,
      now - WORKER_DEAD_AFTER,
    );
    const alive = new Set(workers.map((row) => row.id));
    // In order of name, so that two workers that start together do not wait for each other.
    for (const group of inGroups([...sync.jobs].sort(byName), GROUP)) {
      await syncGroup(db, tx, t, { ...sync, jobs: group }, alive, now);
    }
    await syncQueues(db, tx, t, sync, alive);
  });
}

async function syncGroup(
  db: Database,
  tx: Sql,
  t: Tables,
  { worker, startedAt, jobs }: JobSync,
  alive: Set<string>,
  now: number,
): Promise<void> {
  const rows = await lock(db, tx, t, jobs, now);
  const known = new Map(rows.map((row) => [row.name, row]));
  const hasTheSay = ({ name }: Shown) => {
    const row = known.get(name);
    return !row || row.defined_by === null || row.defined_at <= startedAt || !alive.has(row.defined_by);
  };
  const isShown = ({ name, fingerprint }: Shown) => {
    const row = known.get(name);
    return row?.fingerprint === fingerprint && row.defined_by === worker;
  };
  const isWritten = (job: Shown) => hasTheSay(job) && !isShown(job);
  const written: Written[] = jobs
    .filter(isWritten)
    .map((job) => ({ name: job.name, fingerprint: job.fingerprint, ...job.details() }));
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
        startedAt,
        worker,
        now,
        now,
      ]),
    );
    const lastSeen = (job: Written) => known.get(job.name)?.seen_at ?? null;
    await syncSchedules(
      tx,
      db,
      t,
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
  await markLimited(tx, db, t, "name", newlyLimited);
  if (seen.length > 0) {
    await tx.run(`update ${t.jobs} set seen_at = ? where name in (${marks(seen)})`, now, ...seen);
  }
}

/**
 * The rows of jobs, which nobody else shows until this transaction ends. Rows that are missing are made first: what is
 * not there cannot be locked, and of two that start together the older might write last.
 */
async function lock(db: Database, tx: Sql, t: Tables, jobs: Shown[], now: number): Promise<Row[]> {
  const read = (lock: string) =>
    tx.all<Row>(
      `select ${COLUMNS}, seen_at from ${t.jobs} where name in (${marks(jobs)})${lock && ` order by name${lock}`}`,
      ...jobs.map((job) => job.name),
    );
  const rows = await read("");
  // The write lock of SQLite has locked what is not there as well.
  if (db.forUpdate === "") return rows;
  const known = new Set(rows.map(({ name }) => name));
  const missing = jobs.filter(({ name }) => !known.has(name));
  if (missing.length > 0) {
    const columns = [
      "name",
      "queue",
      "priority",
      "lim",
      "key_lim",
      "fingerprint",
      "defined_at",
      "created_at",
    ];
    await tx.run(
      db.upsert(t.jobs, ["name"], columns, [], missing.length),
      ...missing.flatMap(({ name }) => [name, "", 0, 0, 0, "", 0, now]),
    );
  }
  return read(db.forUpdate);
}

async function syncQueues(
  db: Database,
  tx: Sql,
  t: Tables,
  sync: JobSync,
  alive: Set<string>,
): Promise<void> {
  const upsert = db.upsert(
    t.queues,
    ["name"],
    ["name", "lim", "defined_at", "defined_by"],
    ["lim", "defined_at", "defined_by"],
  );
  for (const queue of [...sync.queues].sort(byName)) {
    const row = await first(
      tx.all<{ lim: number; defined_at: number | null; defined_by: string | null }>(
        `select lim, defined_at, defined_by from ${t.queues} where name = ?${db.forUpdate}`,
        queue.name,
      ),
    );
    const newer = row?.defined_by && alive.has(row.defined_by) && (row.defined_at ?? 0) > sync.startedAt;
    if (newer || (row?.lim === queue.limit && row.defined_by === sync.worker)) continue;
    await tx.run(upsert, queue.name, queue.limit, sync.startedAt, sync.worker);
    if (queue.limit > 0 && (row?.lim ?? 0) === 0) await markLimited(tx, db, t, "queue", [queue.name]);
  }
}

/** Everything a job has goes with it to its new name. Nothing happens where the old name is not known. */
async function rename(db: Database, tx: Sql, t: Tables, from: string, to: string): Promise<void> {
  const old = await first(tx.all(`select 1 from ${t.jobs} where name = ?`, from));
  if (!old) return;
  const taken = await first(tx.all(`select 1 from ${t.jobs} where name = ?`, to));
  for (const [table, column] of [
    [t.jobs, "name"],
    [t.schedules, "job"],
  ]) {
    if (taken) await tx.run(`delete from ${table} where ${column} = ?`, from);
    else await tx.run(`update ${table} set ${column} = ? where ${column} = ?`, to, from);
  }
  for (const table of [t.runs, t.history]) {
    await tx.run(
      `update ${table} set lane = concat(${db.text}, substr(lane, ?)), name = ?
        where name = ? and owner is null`,
      to,
      [...from].length + 1,
      to,
      from,
    );
  }
  await tx.run(
    `delete from ${t.minutes} where name = ? and minute in (select minute from (select minute from ${t.minutes} where name = ?) taken)`,
    from,
    to,
  );
  await tx.run(`update ${t.minutes} set name = ? where name = ?`, to, from);
}
