import type { JobRecord, PauseNote } from "../records.ts";
import type { JobMinute } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { first } from "./database.ts";
import { readFormerNames } from "./former-names.ts";
import { markLimited } from "./limit-hint.ts";
import { PAUSE, PAUSE_COLUMNS, pauseValues } from "./pause.ts";
import { resumeSchedulesOf } from "./schedules.ts";

export interface Row {
  name: string;
  queue: string;
  priority: number;
  lim: number;
  key_lim: number;
  cron: string | null;
  fingerprint: string;
  defined_at: number;
  defined_by: string | null;
  seen_at: number | null;
}

export const COLUMNS: string =
  "name, queue, priority, lim, key_lim, cron, fingerprint, defined_at, defined_by";

export function toJob(row: Row): JobRecord {
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

export async function declare(
  sql: SqlContext,
  names: string[],
  queue: string,
  priority: number,
  now: number,
): Promise<void> {
  const { db, t } = sql;
  const insert = db.upsert(
    t.jobs,
    ["name"],
    ["name", "queue", "priority", "lim", "key_lim", "fingerprint", "defined_at", "created_at"],
    [],
  );
  // A limit of 1 until a worker says otherwise: the default, and on the safe side of it.
  const former = await readFormerNames(sql);
  for (const name of names.filter((one) => !former.has(one)))
    await sql.run(insert, name, queue, priority, 1, 0, "", 0, now);
}

export async function find(sql: SqlContext, name: string): Promise<JobRecord | null> {
  const { t } = sql;
  const read = (job: string) => first(sql.all<Row>(`select ${COLUMNS} from ${t.jobs} where name = ?`, job));
  const row = await read(name);
  if (row) return toJob(row);
  const job = (await readFormerNames(sql)).get(name);
  const renamed = job === undefined ? null : await read(job);
  return renamed && toJob(renamed);
}

export async function names(sql: SqlContext): Promise<string[]> {
  const { t } = sql;
  return (await sql.all<{ name: string }>(`select name from ${t.jobs}`)).map((row) => row.name);
}

export function pause(
  sql: SqlContext,
  name: string,
  paused: boolean,
  now: number,
  note?: PauseNote,
): Promise<boolean> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const known = await first(
      tx.all<{ paused_at: number | null }>(`select paused_at from ${t.jobs} where name = ?`, name),
    );
    if (!known) return false;
    await tx.run(`update ${t.jobs} set ${PAUSE} where name = ?`, ...pauseValues(paused, now, note), name);
    if (!paused && known.paused_at !== null) await resumeSchedulesOf(tx, name, now);
    // Among the limited ones a long row of paused runs is passed over lane by lane, not one by one.
    if (paused) await markLimited(tx, "name", [name]);
    return true;
  });
}

export async function pauseQueue(
  sql: SqlContext,
  name: string,
  paused: boolean,
  until: number | null,
  now: number,
  note?: PauseNote,
): Promise<void> {
  const { db, t } = sql;
  const columns = [...PAUSE_COLUMNS, "paused_until"];
  await sql.run(
    db.upsert(t.queues, ["name"], ["name", ...columns], columns),
    name,
    ...pauseValues(paused, now, note),
    paused ? until : null,
  );
}

export const COUNTED = [
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

/** A statement that adds the counts of one job in one minute. */
export function rollUp(sql: SqlContext): string {
  const { db, t } = sql;
  return db.upsert(
    t.minutes,
    ["minute", "name"],
    ["minute", "name", ...COUNTED, "busy"],
    [...COUNTED, "busy"].map((column) => ({ column, to: `${t.minutes}.${column} + excluded.${column}` })),
  );
}

/** Adds what was counted. In order of name: two processes that flush together must not wait for each other crosswise. */
export function flush(sql: SqlContext, tallies: JobMinute[]): Promise<void> {
  const { t } = sql;
  const rollup = rollUp(sql);
  return sql.transaction(async (tx) => {
    const former = await readFormerNames(tx);
    const counted = tallies.map((tally) => ({ ...tally, name: former.get(tally.name) ?? tally.name }));
    for (const tally of counted.sort(byName)) {
      const counts = COUNTED.map((outcome) => tally.counts[outcome] ?? 0);
      await tx.run(rollup, tally.minute, tally.name, ...counts, Math.round(tally.busy));
      for (const [column, time] of [
        ["last_run", tally.lastRun],
        ["last_failure", tally.lastFailure],
      ] as const) {
        if (time === null) continue;
        await tx.run(
          `update ${t.jobs} set ${column} = ? where name = ? and coalesce(${column}, 0) < ?`,
          time,
          tally.name,
          time,
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

export function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
