import type { JobRow } from "../records.ts";
import { type JobSync, type Tally, WORKER_DEAD_AFTER } from "../store.ts";
import { type Database, first, inGroups, marks, type Sql, type Tables } from "./database.ts";

interface Row {
  name: string;
  queue: string;
  priority: number;
  lim: number;
  key_lim: number;
  cron: string | null;
  fingerprint: string;
  defined_at: number;
  defined_by: string | null;
}

const COLUMNS = "name, queue, priority, lim, key_lim, cron, fingerprint, defined_at, defined_by";

export function toJob(row: Row): JobRow {
  return {
    name: row.name,
    queue: row.queue,
    priority: row.priority,
    limit: row.lim,
    keyLimit: row.key_lim,
    cron: row.cron,
    fingerprint: row.fingerprint,
  };
}

/**
 * Shows the jobs of one worker. Where versions of the code run side by side, the row follows the latest started of
 * those alive, so that it does not change back and forth while an old one goes on showing its own.
 */
export function sync(db: Database, t: Tables, sync: JobSync, now: number): Promise<void> {
  return db.transaction(async (tx) => {
    for (const job of sync.jobs) {
      for (const old of job.formerly) await rename(tx, t, old, job.name);
    }
    const alive = new Set(
      (
        await tx.all<{ id: string }>(`select id from ${t.workers} where seen_at > ?`, now - WORKER_DEAD_AFTER)
      ).map((row) => row.id),
    );
    const known = new Map<string, Row>();
    for (const group of inGroups(sync.jobs)) {
      const rows = await tx.all<Row>(
        `select ${COLUMNS} from ${t.jobs} where name in (${marks(group)})`,
        ...group.map((job) => job.name),
      );
      for (const row of rows) known.set(row.name, row);
    }
    const upsert = db.upsert(
      t.jobs,
      ["name"],
      [...COLUMNS.split(", "), "seen_at", "created_at"],
      ["queue", "priority", "lim", "key_lim", "cron", "fingerprint", "defined_at", "defined_by", "seen_at"],
    );
    const seen: string[] = [];
    const newlyLimited: string[] = [];
    // In order of name, so that two workers that start together do not wait for each other.
    for (const job of [...sync.jobs].sort(byName)) {
      const row = known.get(job.name);
      const rules =
        !row || row.defined_by === null || row.defined_at <= sync.startedAt || !alive.has(row.defined_by);
      if (!rules || (row && row.fingerprint === job.fingerprint && row.defined_by === sync.worker)) {
        seen.push(job.name);
        continue;
      }
      await tx.run(
        upsert,
        job.name,
        job.queue,
        job.priority,
        job.limit,
        job.keyLimit,
        job.cron,
        job.fingerprint,
        sync.startedAt,
        sync.worker,
        now,
        now,
      );
      const limits = job.limit > 0 || job.keyLimit > 0;
      if (limits && (!row || (row.lim === 0 && row.key_lim === 0))) newlyLimited.push(job.name);
    }
    await markLimited(tx, t, "name", newlyLimited);
    for (const group of inGroups(seen)) {
      await tx.run(`update ${t.jobs} set seen_at = ? where name in (${marks(group)})`, now, ...group);
    }
    await syncQueues(db, tx, t, sync, alive);
  });
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
        `select lim, defined_at, defined_by from ${t.queues} where name = ?`,
        queue.name,
      ),
    );
    const newer = row?.defined_by && alive.has(row.defined_by) && (row.defined_at ?? 0) > sync.startedAt;
    if (newer || (row?.lim === queue.limit && row.defined_by === sync.worker)) continue;
    await tx.run(upsert, queue.name, queue.limit, sync.startedAt, sync.worker);
    if (queue.limit > 0 && (row?.lim ?? 0) === 0) await markLimited(tx, t, "queue", [queue.name]);
  }
}

/** Runs dispatched while there was no limit wait among the unlimited ones; a new limit holds for them too. */
async function markLimited(tx: Sql, t: Tables, column: "name" | "queue", values: string[]): Promise<void> {
  for (const group of inGroups(values)) {
    await tx.run(
      `update ${t.runs} set limited = 1 where ${column} in (${marks(group)}) and limited = 0 and owner is null`,
      ...group,
    );
  }
}

/** Everything a job has goes with it to its new name. Nothing happens where the old name is not known. */
async function rename(tx: Sql, t: Tables, from: string, to: string): Promise<void> {
  const old = await first(tx.all(`select 1 from ${t.jobs} where name = ?`, from));
  if (!old) return;
  const taken = await first(tx.all(`select 1 from ${t.jobs} where name = ?`, to));
  if (taken) await tx.run(`delete from ${t.jobs} where name = ?`, from);
  else await tx.run(`update ${t.jobs} set name = ? where name = ?`, to, from);
  for (const table of [t.runs, t.history]) {
    await tx.run(
      `update ${table} set lane = concat(?, substr(lane, ?)), name = ?
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

export async function declare(
  db: Database,
  t: Tables,
  names: string[],
  queue: string,
  priority: number,
  now: number,
): Promise<void> {
  const insert = db.upsert(
    t.jobs,
    ["name"],
    ["name", "queue", "priority", "lim", "key_lim", "fingerprint", "defined_at", "created_at"],
    [],
  );
  // A limit of 1 until a worker says otherwise: the default, and on the safe side of it.
  for (const name of names) await db.run(insert, name, queue, priority, 1, 0, "", 0, now);
}

export async function find(db: Sql, t: Tables, name: string): Promise<JobRow | null> {
  const row = await first(db.all<Row>(`select ${COLUMNS} from ${t.jobs} where name = ?`, name));
  return row && toJob(row);
}

export async function names(db: Sql, t: Tables): Promise<string[]> {
  return (await db.all<{ name: string }>(`select name from ${t.jobs}`)).map((row) => row.name);
}

export function pause(db: Database, t: Tables, name: string, paused: boolean, now: number): Promise<boolean> {
  return db.transaction(async (tx) => {
    const known = await first(tx.all(`select 1 from ${t.jobs} where name = ?`, name));
    if (!known) return false;
    await tx.run(`update ${t.jobs} set paused_at = ? where name = ?`, paused ? now : null, name);
    // Among the limited ones a long row of paused runs is passed over lane by lane, not one by one.
    if (paused) await markLimited(tx, t, "name", [name]);
    return true;
  });
}

export async function pauseQueue(
  db: Database,
  t: Tables,
  name: string,
  paused: boolean,
  until: number | null,
  now: number,
): Promise<void> {
  await db.run(
    db.upsert(t.queues, ["name"], ["name", "paused_at", "paused_until"], ["paused_at", "paused_until"]),
    name,
    paused ? now : null,
    paused ? until : null,
  );
}

const COUNTED = [
  "dispatched",
  "completed",
  "retried",
  "failed",
  "skipped",
  "cancelled",
  "snoozed",
  "released",
  "crashed",
] as const;

/** Adds what was counted. In order of name: two processes that flush together must not wait for each other crosswise. */
export function flush(db: Database, t: Tables, tallies: Tally[]): Promise<void> {
  const rollup = db.upsert(
    t.minutes,
    ["minute", "name"],
    ["minute", "name", ...COUNTED, "busy"],
    [...COUNTED, "busy"].map((column) => ({ column, to: `${t.minutes}.${column} + excluded.${column}` })),
  );
  return db.transaction(async (tx) => {
    for (const tally of [...tallies].sort(byName)) {
      const counts = COUNTED.map((outcome) => tally.counts[outcome] ?? 0);
      await tx.run(rollup, tally.minute, tally.name, ...counts, Math.round(tally.busy));
      if (tally.lastRun !== null) {
        await tx.run(
          `update ${t.jobs} set last_run = ? where name = ? and coalesce(last_run, 0) < ?`,
          tally.lastRun,
          tally.name,
          tally.lastRun,
        );
      }
      if (tally.last) {
        const { ok, failed, error } = tally.last;
        await tx.run(
          `update ${t.jobs} set fail_count = ${ok ? "?" : "fail_count + ?"}, last_error = ? where name = ?`,
          failed,
          error,
          tally.name,
        );
      }
    }
  });
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
