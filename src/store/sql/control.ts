import { isFinished, type RunState, stateCodes, stateName } from "../../run/states.ts";
import type { CancelAnswer } from "../records.ts";
import { BatchTally, countRowOf } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { first, forGroups, inGroups, placeholders, type Statement } from "./database.ts";
import { moveToHistory } from "./history.ts";
import { exists } from "./run-records.ts";

/** Returns the state of a run, in either table, and locks its row until the transaction ends. */
export async function stateOf(tx: SqlContext, id: number): Promise<RunState | null> {
  const { db, t } = tx;
  const look = (table: string) =>
    first(tx.all<{ state: number }>(`select state from ${table} where id = ?${db.forUpdate}`, id));
  for (;;) {
    const row = (await look(t.runs)) ?? (await look(t.history));
    if (row) return stateName(row.state);
    if (!(await exists(tx, id))) return null;
  }
}

/** Changes when a waiting run is due. */
export function move(
  sql: SqlContext,
  id: number,
  runAt: number,
  now: number,
): Promise<"moved" | RunState | null> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const state = await stateOf(tx, id);
    if (state !== "ready" && state !== "scheduled") return state;
    await tx.run(
      `update ${t.runs} set run_at = ?, state = ? where id = ? and state in (0, 1)`,
      runAt,
      runAt > now ? stateCodes.scheduled : stateCodes.ready,
      id,
    );
    return "moved";
  });
}

/**
 * Deletes a run that is not running, from either table, with its attempts and log lines. Leaves a run as it is that is
 * in none of the states `only`: it has changed since the caller read it. A waiting member of a batch counts as
 * cancelled.
 */
export function remove(
  sql: SqlContext,
  id: number,
  { only, batches }: { only: readonly RunState[] | null; batches: Set<number> },
): Promise<"removed" | RunState | null> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const state = await stateOf(tx, id);
    if (state === null || state === "running" || only?.includes(state) === false) return state;
    if (!isFinished(state)) {
      const rows = await tx.all<{ batch_id: string | null }>(
        `select batch_id from ${t.runs} where id = ?`,
        id,
      );
      const tally = new BatchTally(batches);
      tally.count(rows[0]?.batch_id, "cancelled");
      await tally.write(tx, countRowOf([{ id }]));
    }
    await tx.run(`delete from ${t.runs} where id = ? and state <> 2`, id);
    await tx.run(`delete from ${t.history} where id = ?`, id);
    await tx.run(`delete from ${t.attempts} where run_id = ?`, id);
    await tx.run(`delete from ${t.logs} where run_id = ?`, id);
    return "removed";
  });
}

/**
 * Cancels a waiting run, or marks a running one for its worker; with `force` a running run ends at once. Returns the
 * state of a run that had ended, or is in none of the states `only`.
 */
export function cancel(
  sql: SqlContext,
  id: number,
  {
    keep,
    force,
    only,
    batches,
  }: { keep: number | null; force: boolean; only: readonly RunState[] | null; batches: Set<number> },
  now: number,
): Promise<CancelAnswer> {
  return sql.transaction(async (tx) => {
    const other = only && (await stateOutside(tx, id, only));
    if (other) return other;
    const end = { state: "cancelled", error: null, keep, now, batches } as const;
    const ended = await endRuns(tx, { text: "id = ?", params: [id] }, end, { force });
    if (ended.length > 0) return "ended";
    const state = await stateOf(tx, id);
    if (state !== "running") return state;
    await tx.run(`update ${tx.t.runs} set cancelled_at = ? where id = ?`, now, id);
    return "requested";
  });
}

/** Locks a run and returns its state, as people see it, if that is none of these; otherwise null. */
async function stateOutside(tx: SqlContext, id: number, only: readonly RunState[]): Promise<RunState | null> {
  const state = await stateOf(tx, id);
  if (state === null || only.includes(state)) return null;
  if (state !== "running" || !only.includes("ready")) return state;
  // A claimed run is ready until its start is written.
  const started = await tx.all(`select id from ${tx.t.runs} where id = ? and started_at is not null`, id);
  return started.length > 0 ? state : null;
}

/** How to end runs that no worker settles. */
export interface ForcedEnd {
  state: "failed" | "cancelled";
  error: string | null;
  keep: number | null;
  now: number;
  /** Gets the batches whose members have ended. */
  batches: Set<number>;
}

/**
 * Ends the waiting runs that satisfy a condition. Returns their ids. A plain read finds them, and they are locked by
 * id: a locking read of MySQL would wait for every row that it passes, such as those of a frozen worker's transaction.
 * Runs that another transaction has locked are left out.
 */
export async function endWaiting(
  sql: SqlContext,
  { text, params }: Statement,
  end: ForcedEnd,
): Promise<number[]> {
  const found = await sql.all<{ id: number }>(
    `select id from ${sql.t.runs} where state in (0, 1) and ${text} order by id`,
    ...params,
  );
  return forGroups(
    found.map(({ id }) => id),
    (ids) => {
      const which = { text: `id in (${placeholders(ids)}) and ${text}`, params: [...ids, ...params] };
      return sql.transaction((tx) => endRuns(tx, which, end, { lock: sql.db.skipLocked }));
    },
  );
}

/** Ends the waiting runs that satisfy a condition, with `force` the running ones too. Returns their ids. */
export async function endRuns(
  tx: SqlContext,
  { text, params }: Statement,
  end: ForcedEnd,
  { force = false, lock = tx.db.forUpdate }: { force?: boolean; lock?: string } = {},
): Promise<number[]> {
  const { t } = tx;
  const found = await tx.all<{
    id: number;
    unique_until: number | null;
    started_at: number | null;
    attempts: number;
    logged: number;
    batch_id: string | null;
  }>(
    `select id, unique_until, started_at, attempts, logged, batch_id from ${t.runs} where state in (0, 1${force ? ", 2" : ""}) and ${text} order by id${lock}`,
    ...params,
  );
  const tally = new BatchTally(end.batches);
  for (const group of inGroups(found)) {
    const endings = group.map(({ id, unique_until, started_at, attempts, logged, batch_id }) => ({
      id,
      state: end.state,
      batchId: batch_id,
      startedAt: started_at,
      error: end.error,
      fingerprint: null,
      result: null,
      keep: end.keep,
      uniqueUntil: unique_until,
      attempts: attempts + 1,
      logged,
    }));
    await moveToHistory(tx, endings, end.now, tally);
  }
  await tally.write(tx, countRowOf(found));
  return found.map(({ id }) => id);
}
