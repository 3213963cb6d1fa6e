import { type JobError, mergeErrors } from "../job-errors.ts";
import type { JobRecord } from "../records.ts";
import { type RollupCount, sumCounts } from "../rollups.ts";
import type { DeclaredJob, JobMinute } from "../store.ts";
import { hasRates, jobLimitOf, keyLimitOf, readRates } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";
import { first, inGroups, namesAsJson } from "./database.ts";
import { readFormerNames } from "./former-names.ts";
import { addRollups } from "./rollups.ts";

/** A row of `jobs`, as far as definitions are concerned. */
export interface JobRow {
  name: string;
  queue: string;
  priority: number;
  lim: number;
  key_lim: number;
  rate: string | null;
  under_limit: string | null;
  cron: string | null;
  fingerprint: string;
  defined_at: number;
  defined_by: string | null;
  seen_at: number | null;
}

export const JOB_COLUMNS: string =
  "name, queue, priority, lim, key_lim, rate, under_limit, cron, fingerprint, defined_at, defined_by";

export function toJob(row: JobRow): JobRecord {
  return {
    name: row.name,
    queue: row.queue,
    priority: row.priority,
    limit: jobLimitOf(row),
    keyLimit: keyLimitOf(row),
    rates: hasRates(row) ? readRates(row.rate) : null,
    cron: row.cron,
    fingerprint: row.fingerprint,
  };
}

/** Columns of a row that no worker has written yet. */
export const DECLARED_COLUMNS: readonly string[] = [
  "name",
  "queue",
  "priority",
  "lim",
  "key_lim",
  "fingerprint",
  "defined_at",
  "created_at",
];

/** In the order of `DECLARED_COLUMNS`. */
export function declaredValues(
  name: string,
  { queue, priority, limit, keyLimit }: DeclaredJob,
  now: number,
): (string | number)[] {
  return [name, queue, priority, limit, keyLimit, "", 0, now];
}

/** Returns the names without a row that are not former names: a job with waiting runs needs a row. */
export async function undeclared(sql: SqlContext, names: string[]): Promise<string[]> {
  const { db, t } = sql;
  const rows = await sql.all<{ name: string }>(
    `select r.name from ${db.lookUp(db.rows({ job: "text" }), t.jobs, "r.name = v.job")}`,
    namesAsJson(names),
  );
  const known = new Set(rows.map(({ name }) => name));
  const missing = names.filter((name) => !known.has(name));
  if (missing.length === 0) return [];
  const former = await readFormerNames(sql);
  return missing.filter((name) => !former.has(name));
}

/** Inserts rows of jobs that no worker has defined yet; existing rows are left as they are. */
export async function declare(
  sql: SqlContext,
  jobs: ReadonlyMap<string, DeclaredJob>,
  now: number,
): Promise<void> {
  const { db, t } = sql;
  for (const group of inGroups(
    [...jobs].sort(([a], [b]) => (a < b ? -1 : 1)),
    100,
  )) {
    await sql.run(
      db.upsert({ table: t.jobs, key: ["name"], columns: DECLARED_COLUMNS, rows: group.length }),
      ...group.flatMap(([name, job]) => declaredValues(name, job, now)),
    );
  }
}

/** Returns a job by its name, or by a former name. */
export async function find(sql: SqlContext, name: string): Promise<JobRecord | null> {
  const { t } = sql;
  const read = (job: string) =>
    first(sql.all<JobRow>(`select ${JOB_COLUMNS} from ${t.jobs} where name = ?`, job));
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

/** Whether a worker has defined the job. False for jobs that producers declared, and for stubs. */
export function isDefined(row: JobRow | undefined): row is JobRow {
  return row !== undefined && row.defined_by !== null;
}

/**
 * Locks the rows of jobs, so that no other worker writes its definitions until the transaction ends. Inserts a stub
 * for each missing row, since a row that does not exist cannot be locked: of two workers that start together, the
 * older might write last. Locks in order of name, so that two workers cannot deadlock.
 */
export async function lockJobs(
  tx: SqlContext,
  names: string[],
  now: number,
): Promise<{ rows: Map<string, JobRow>; stubs: string[] }> {
  const { db } = tx;
  const sorted = [...names].sort();
  const rows = await readJobs(tx, sorted);
  // The write lock of SQLite covers missing rows too.
  if (db.forUpdate === "") return { rows, stubs: [] };
  const stubs = sorted.filter((name) => !rows.has(name));
  const stub = { queue: "", priority: 0, limit: 0, keyLimit: 0 };
  await declare(tx, new Map(stubs.map((name) => [name, stub])), now);
  return { rows: await readJobs(tx, sorted, db.forUpdate), stubs };
}

/** Returns the rows of jobs. `lock`: locks them, in order of name. */
export async function readJobs(
  sql: SqlContext,
  names: readonly string[],
  lock = "",
): Promise<Map<string, JobRow>> {
  const { db, t } = sql;
  const found = db.lookUp(db.rows({ job: "text" }), t.jobs, "r.name = v.job");
  const rows = await sql.all<JobRow>(
    `select ${JOB_COLUMNS}, seen_at from ${found}${lock && ` order by r.name${db.lockOnly(lock, "r")}`}`,
    namesAsJson(names),
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Deletes the stubs that `lockJobs` inserted for these names. */
export async function deleteStubs(tx: SqlContext, names: string[]): Promise<void> {
  const { t } = tx;
  for (const name of names) {
    await tx.run(`delete from ${t.jobs} where name = ? and defined_by is null`, name);
  }
}

/** The columns of `minutes` that count something. */
export const MINUTE_COUNTS = [
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

/** A statement that adds the counts of one job to one minute. */
export function addMinute(sql: SqlContext): string {
  const { db, t } = sql;
  return db.upsert({
    table: t.minutes,
    key: ["minute", "name"],
    columns: ["minute", "name", ...MINUTE_COUNTS, "busy"],
    update: [...MINUTE_COUNTS, "busy"].map((column) => ({
      column,
      to: `${t.minutes}.${column} + excluded.${column}`,
    })),
  });
}

/** Adds the counts of minutes. In order of name, so that two processes that flush together cannot deadlock. */
export function flush(sql: SqlContext, minutes: JobMinute[], rollups: RollupCount[] = []): Promise<void> {
  const { t } = sql;
  const add = addMinute(sql);
  const write = async (tx: SqlContext) => {
    const former = await readFormerNames(tx);
    const counted = minutes.map((minute) => ({ ...minute, name: former.get(minute.name) ?? minute.name }));
    for (const minute of counted.sort(compareNames)) {
      const counts = MINUTE_COUNTS.map((outcome) => minute.counts[outcome] ?? 0);
      await tx.run(add, minute.minute, minute.name, ...counts, Math.round(minute.busy));
      for (const [column, time] of [
        ["last_run", minute.lastRun],
        ["last_failure", minute.lastFailure],
      ] as const) {
        if (time === null) continue;
        await tx.run(
          `update ${t.jobs} set ${column} = ? where name = ? and coalesce(${column}, 0) < ?`,
          time,
          minute.name,
          time,
        );
      }
      if (minute.last) {
        const { ok, failed, error } = minute.last;
        const errors = ok ? minute.last.errors : await allErrors(tx, minute.name, minute.last.errors);
        await tx.run(
          `update ${t.jobs} set fail_count = ${ok ? "?" : "fail_count + ?"}, last_error = ?, errors = ? where name = ?`,
          failed,
          error,
          errors.length === 0 ? null : JSON.stringify(errors),
          minute.name,
        );
      }
    }
    const underCurrentNames = rollups.map((one) =>
      one.scope === "job" ? { ...one, name: former.get(one.name) ?? one.name } : one,
    );
    await addRollups(tx, sumCounts(underCurrentNames));
  };
  return sql.transaction(write, { lockTimeout: true });
}

/** Returns the errors of a job since its last success, and these. Locks its row. */
async function allErrors(tx: SqlContext, name: string, errors: JobError[]): Promise<JobError[]> {
  const row = await first(
    tx.all<{ errors: string | null }>(
      `select errors from ${tx.t.jobs} where name = ?${tx.db.forUpdate}`,
      name,
    ),
  );
  return mergeErrors(readErrors(row?.errors ?? null), errors);
}

export function readErrors(text: string | null): JobError[] {
  return text === null ? [] : (JSON.parse(text) as JobError[]);
}

export function compareNames(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
