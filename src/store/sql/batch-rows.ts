import { type FinishedState, finishedStates, stateCodes } from "../../run/states.ts";
import type { BatchCallback, BatchCounts, BatchRecord, BatchSearch, BatchStatusRecord } from "../batches.ts";
import { MEMBER_COUNTS } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { first, forGroups, type Param, placeholders, type Tables } from "./database.ts";

/** A row of `batches`. Sums are text on some databases. */
interface BatchRow extends Record<keyof BatchCounts, number | string> {
  id: number;
  name: string;
  cancels: number;
  created_at: number;
  sealed_at: number | null;
  failed_at: number | null;
  cancelled_at: number | null;
  finished_at: number | null;
  retried_at: number | null;
}

const COLUMNS =
  "b.id, b.name, b.cancels, b.created_at, b.sealed_at, b.failed_at, b.cancelled_at, b.finished_at, b.retried_at";

/** `select` of batches with their counts. In one statement: counts of several moments would contradict each other. */
function select(t: Tables, ids: readonly number[], more = ""): string {
  const sums = MEMBER_COUNTS.map((column) => `sum(${column}) as ${column}`).join(", ");
  const counts = MEMBER_COUNTS.map((column) => `b.${column} + coalesce(c.${column}, 0) as ${column}`).join(
    ", ",
  );
  const list = placeholders(ids);
  return `select ${COLUMNS}, ${counts}${more} from ${t.batches} b
    left join (select batch, ${sums} from ${t.batch_counts} where batch in (${list}) group by batch) c on c.batch = b.id
   where b.id in (${list})`;
}

function toBatch(row: BatchRow): BatchRecord {
  return {
    id: row.id,
    name: row.name,
    cancels: row.cancels === 1,
    createdAt: row.created_at,
    sealedAt: row.sealed_at,
    failedAt: row.failed_at,
    cancelledAt: row.cancelled_at,
    finishedAt: row.finished_at,
    retriedAt: row.retried_at,
    added: Number(row.added),
    completed: Number(row.completed),
    failed: Number(row.failed),
    cancelled: Number(row.cancelled),
    skipped: Number(row.skipped),
  };
}

/** Returns batches with their counts, the newest first. */
export async function readBatches(sql: SqlContext, ids: readonly number[]): Promise<BatchRecord[]> {
  const rows = await forGroups([...ids], (group) =>
    sql.all<BatchRow>(select(sql.t, group), ...group, ...group),
  );
  return rows.map(toBatch).sort((a, b) => b.id - a.id);
}

/** Members that have not ended, by the counts. */
export function unfinished({ added, completed, failed, cancelled, skipped }: BatchCounts): number {
  return added - completed - failed - cancelled - skipped;
}

/** Returns a batch, with its callbacks and the number of its members that run. */
export async function findBatch(sql: SqlContext, id: number): Promise<BatchStatusRecord | null> {
  const { db, t } = sql;
  const [row] = await sql.all<BatchRow & { callbacks: string | null }>(
    select(t, [id], ", b.callbacks"),
    id,
    id,
  );
  if (!row) return null;
  const batch = toBatch(row);
  const running = await first(
    sql.all<{ n: number }>(
      `select count(*) as n from ${t.runs}${db.using(t.runs, "leased")}
        where state = ${stateCodes.running} and locked_by > '' and started_at is not null and batch_id = ?`,
      String(id),
    ),
  );
  const callbacks = toCallbacks(row.callbacks).map(({ on, run, dispatched = [] }) => ({
    on,
    job: run.name,
    runs: dispatched,
  }));
  // The two statements see two moments.
  return { ...batch, running: Math.min(running!.n, Math.max(0, unfinished(batch))), callbacks };
}

function toCallbacks(text: string | null): BatchCallback[] {
  return text === null ? [] : (JSON.parse(text) as BatchCallback[]);
}

/** Returns a page of batches, the newest first. */
export async function listBatches(
  sql: SqlContext,
  { limit, before, after = null, ids = null, unfinished: only }: BatchSearch,
): Promise<BatchRecord[]> {
  const conditions = [
    ...(only ? ["finished_at is null"] : []),
    ...(before === null ? [] : ["id < ?"]),
    ...(after === null ? [] : ["id > ?"]),
    ...(ids === null ? [] : [ids.length === 0 ? "1 = 0" : `id in (${placeholders(ids)})`]),
    "1 = 1",
  ];
  const rows = await sql.all<{ id: number }>(
    `select id from ${sql.t.batches} where ${conditions.join(" and ")} order by id desc limit ?`,
    ...[before, after, ...(ids ?? [])].filter((value) => value !== null),
    limit,
  );
  return readBatches(
    sql,
    rows.map(({ id }) => id),
  );
}

/** Returns those of the batches that have no member in `runs`. */
export async function withoutUnfinished(sql: SqlContext, ids: readonly number[]): Promise<Set<number>> {
  const { t } = sql;
  const rows = await forGroups(ids, (group) =>
    sql.all<{ id: number }>(
      `select b.id from ${t.batches} b where b.id in (${placeholders(group)}) and (${unfinishedMember(t)}) is null`,
      ...group,
    ),
  );
  return new Set(rows.map(({ id }) => id));
}

/** Returns batches with the number of their members, and of those in `runs`, read in one statement. */
export async function countMembers(
  sql: SqlContext,
  ids: readonly number[],
): Promise<{ batch: BatchRecord; members: number; inRuns: number }[]> {
  const { t } = sql;
  const more = `, (select count(*) from ${t.batch_members} m where m.batch = b.id) as members,
    (select count(*) from ${t.batch_members} m join ${t.runs} r on r.id = m.run_id where m.batch = b.id) as in_runs`;
  const rows = await forGroups(ids, (group) =>
    sql.all<BatchRow & { members: number; in_runs: number }>(select(t, group, more), ...group, ...group),
  );
  return rows.map((row) => ({
    batch: toBatch(row),
    members: Number(row.members),
    inRuns: Number(row.in_runs),
  }));
}

/** A batch, with the callbacks that its marks make due. */
export interface CalledBatch {
  batch: BatchRecord;
  due: BatchCallback[];
}

/** Returns a page of batches, the oldest first. */
export async function readCalledBatches(
  sql: SqlContext,
  after: number,
  limit: number,
): Promise<CalledBatch[]> {
  const { t } = sql;
  const ids = await sql.all<{ id: number }>(
    `select id from ${t.batches} where id > ? order by id limit ?`,
    after,
    limit,
  );
  // The row alone has the counts of the last end: a member that is retried later adds to those of a process.
  const more = ", b.callbacks, b.failed as failed_before, b.cancelled as cancelled_before";
  const rows = await forGroups(
    ids.map(({ id }) => id),
    (group) =>
      sql.all<BatchRow & { callbacks: string | null; failed_before: number; cancelled_before: number }>(
        select(t, group, more),
        ...group,
        ...group,
      ),
  );
  return rows
    .sort((a, b) => a.id - b.id)
    .map((row) => {
      const batch = toBatch(row);
      const finished = batch.finishedAt !== null;
      const hadNone = Number(row.failed_before) === 0 && Number(row.cancelled_before) === 0;
      const isDue = {
        failure: batch.failedAt !== null,
        success: finished && hadNone && batch.cancelledAt === null,
        finish: finished,
      };
      return { batch, due: toCallbacks(row.callbacks).filter(({ on }) => isDue[on]) };
    });
}

/** A batch that this transaction has locked. */
export interface LockedBatch extends BatchRecord {
  callbacks: BatchCallback[];
  /** Whether a member is in `runs`; null: not looked for. */
  hasUnfinished: boolean | null;
}

/** The newest member that is in `runs`: the oldest ones have usually ended. */
function unfinishedMember(t: Tables): string {
  return `select m.run_id from ${t.batch_members} m join ${t.runs} r on r.id = m.run_id
    where m.batch = b.id order by m.run_id desc limit 1`;
}

/**
 * Locks a batch and reads it. The counts are read after the lock was granted, so that they include everything that
 * others have committed under it. `thorough`: looks for members in `runs` also if the counts say that some have not
 * ended.
 */
export async function lockBatch(tx: SqlContext, id: number, thorough: boolean): Promise<LockedBatch | null> {
  const { db, t } = tx;
  const locked = await first(
    tx.all<{ callbacks: string | null }>(
      `select callbacks from ${t.batches} where id = ?${db.forUpdate}`,
      id,
    ),
  );
  if (!locked) return null;
  const ended = MEMBER_COUNTS.map((column) => `(b.${column} + coalesce(c.${column}, 0))`).join(" - ");
  const isDue = thorough ? "" : ` and ${ended} <= 0`;
  const more = `, case when b.sealed_at is not null and b.retried_at is null${isDue} then coalesce((${unfinishedMember(t)}), 0) end as member`;
  const [row] = await tx.all<BatchRow & { member: number | null }>(select(t, [id], more), id, id);
  const { member } = row!;
  const callbacks = toCallbacks(locked.callbacks);
  return { ...toBatch(row!), callbacks, hasUnfinished: member === null ? null : member > 0 };
}

/**
 * Counts the members of a locked batch in history, of which none is in `runs`. A member that history does not have
 * counts as cancelled. Returns what to add to the counts; null: a member is in `runs` by now.
 */
export async function recount(tx: SqlContext, id: number): Promise<Param[] | null> {
  const { t } = tx;
  const inHistory = (state: FinishedState) =>
    `(select count(*) from ${t.batch_members} m join ${t.history} h on h.id = m.run_id
       where m.batch = b.id and h.state = ${stateCodes[state]}) as now_${state}`;
  const more = `, (${unfinishedMember(t)}) as member, ${finishedStates.map(inHistory).join(", ")}`;
  const [row] = await tx.all<BatchRow & { member: number | null } & Record<`now_${FinishedState}`, number>>(
    select(t, [id], more),
    id,
    id,
  );
  if (!row || row.member !== null) return null;
  const counted = toBatch(row);
  const missing = counted.added - finishedStates.reduce((sum, state) => sum + Number(row[`now_${state}`]), 0);
  return finishedStates.map(
    (state) => Number(row[`now_${state}`]) + (state === "cancelled" ? missing : 0) - counted[state],
  );
}
