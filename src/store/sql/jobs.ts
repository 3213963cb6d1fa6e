import type { JobRecord } from "../records.ts";
import type { JobMinute } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { first, inGroups, namesAsJson } from "./database.ts";
import { readFormerNames } from "./former-names.ts";

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

/** False: the row was declared by a producer, or made to be locked. */
export function isDefined(row: Row | undefined): row is Row {
  return row !== undefined && row.defined_by !== null;
}

/**
 * Locks the rows of jobs, so that no other worker shows them until the transaction ends. Missing rows are made first:
 * a row that is not there cannot be locked, and of two workers that start together the older might write last. In order
 * of name, so that two workers do not wait for each other crosswise.
 */
export async function lockJobs(
  tx: SqlContext,
  names: string[],
  now: number,
): Promise<{ rows: Map<string, Row>; made: string[] }> {
  const { db, t } = tx;
  const sorted = [...names].sort();
  const found = db.lookUp(db.rows({ job: "text" }), t.jobs, "r.name = v.job");
  const read = async (lock: string) => {
    const rows = await tx.all<Row>(
      `select ${COLUMNS}, seen_at from ${found}${lock && ` order by r.name${db.lockOnly(lock, "r")}`}`,
      namesAsJson(sorted),
    );
    return new Map(rows.map((row) => [row.name, row]));
  };
  const rows = await read("");
  // The write lock of SQLite has locked what is not there as well.
  if (db.forUpdate === "") return { rows, made: [] };
  const made = sorted.filter((name) => !rows.has(name));
  const columns = ["name", "queue", "priority", "lim", "key_lim", "fingerprint", "defined_at", "created_at"];
  for (const group of inGroups(made, 100)) {
    await tx.run(
      db.upsert(t.jobs, ["name"], columns, [], group.length),
      ...group.flatMap((name) => [name, "", 0, 0, 0, "", 0, now]),
    );
  }
  return { rows: await read(db.forUpdate), made };
}

/** Deletes rows that were made only to be locked. */
export async function deleteMade(tx: SqlContext, names: string[]): Promise<void> {
  const { t } = tx;
  for (const name of names) {
    await tx.run(`delete from ${t.jobs} where name = ? and defined_by is null`, name);
  }
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
