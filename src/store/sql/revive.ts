import { type FinishedState, isFinished, type RunState, stateCodes } from "../../run/states.ts";
import type { Revival } from "../runs.ts";
import { BatchTally, countRowOf } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { stateOf } from "./control.ts";
import { first } from "./database.ts";
import { declare, undeclared } from "./jobs.ts";
import { limitHint } from "./limit-hint.ts";
import { UNIQUE_SCOPE } from "./new-run.ts";

/** Columns that a revived run keeps. */
const CARRIED =
  "id, name, queue, lane, priority, args, attempts, crashes, uncounted, timeout, retries, schedule, tick_at, owner, progress, tags, parent_id, rerun_of, batch_id, traceparent, created_at";

/** The unique key's columns. A key that was held until the start is held again until the next start. */
const KEY = `unique_key, unique_until, case when unique_scope = ${UNIQUE_SCOPE.window} then ${UNIQUE_SCOPE.untilStarted} else unique_scope end`;

/** Moves a finished run back into `runs`: with its unique key if no other run holds it, otherwise without. */
export function revive(
  sql: SqlContext,
  id: number,
  { runAt = null, seen }: Revival,
  now: number,
): Promise<"revived" | RunState | null> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const state = await stateOf(tx, id);
    if (state === null || !isFinished(state)) return state;
    if (seen && !(await isAsSeen(tx, id, seen))) return state;
    await uncount(tx, id, state);
    await declareJobOf(tx, id, now);
    const at = runAt ?? now;
    const key = await keyOf(tx, id);
    const hasKey = key !== null && (await insertWithKey(tx, { id, at, now }, key));
    if (!hasKey) await insert(tx, { id, at, now }, null);
    await tx.run(`delete from ${t.history} where id = ?`, id);
    if (hasKey && (await isHeldInHistory(tx, key, now))) await giveUpKey(tx, id);
    return "revived";
  });
}

/** A member of a batch has no longer ended. */
async function uncount(tx: SqlContext, id: number, state: FinishedState): Promise<void> {
  const { t } = tx;
  const rows = await tx.all<{ batch_id: string | null }>(
    `select batch_id from ${t.history} where id = ?`,
    id,
  );
  const tally = new BatchTally(new Set());
  tally.count(rows[0]?.batch_id, state, -1);
  await tally.write(tx, countRowOf([{ id }]));
}

/** Whether the run has not been retried since the caller read it. The run is locked. */
async function isAsSeen(
  tx: SqlContext,
  id: number,
  { state, attempts, finishedAt }: NonNullable<Revival["seen"]>,
): Promise<boolean> {
  const found = await tx.all(
    `select id from ${tx.t.history} where id = ? and state = ${stateCodes[state]} and attempts = ? and finished_at = ?`,
    id,
    attempts,
    finishedAt,
  );
  return found.length > 0;
}

/** Inserts the row of a finished run's job if it was pruned. */
async function declareJobOf(tx: SqlContext, id: number, now: number): Promise<void> {
  const { t } = tx;
  const pruned = await first(
    tx.all<{ name: string; queue: string; priority: number }>(
      `select h.name, h.queue, h.priority from ${t.history} h
        where h.id = ? and h.owner is null and not exists (select 1 from ${t.jobs} j where j.name = h.name)`,
      id,
    ),
  );
  if (!pruned || (await undeclared(tx, [pruned.name])).length === 0) return;
  const { name, queue, priority } = pruned;
  // A limit of 1, the default, is safe until a worker defines the job.
  await declare(tx, new Map([[name, { queue, priority, limit: 1, keyLimit: 0 }]]), now);
}

/**
 * Returns the unique key of a finished run; null: none, or given up. History rows of schema 2 have no scope for their
 * key.
 */
async function keyOf(tx: SqlContext, id: number): Promise<string | null> {
  const row = await first(
    tx.all<{ unique_key: string | null }>(
      `select unique_key from ${tx.t.history} where id = ? and unique_scope is not null`,
      id,
    ),
  );
  return row?.unique_key ?? null;
}

/** A finished run that waits again, due at `at`. */
interface RevivedRun {
  id: number;
  at: number;
  now: number;
}

/** Inserts the run with its key. Returns false if another run in `runs` holds the key, or takes it at the same time. */
async function insertWithKey(tx: SqlContext, { id, at, now }: RevivedRun, key: string): Promise<boolean> {
  const { db, t } = tx;
  await freeExpired(tx, key, now);
  try {
    await insert(tx, { id, at, now }, db.unlessKeyHeld);
  } catch (error) {
    if (!db.isKeyHeld(error)) throw error;
    return false;
  }
  return (await tx.all(`select id from ${t.runs} where id = ?`, id)).length > 0;
}

/** Inserts the run with its unique key, with `keyed` appended to the statement; null: without the key. */
async function insert(tx: SqlContext, { id, at, now }: RevivedRun, keyed: string | null): Promise<void> {
  const { t } = tx;
  const to = at > now ? stateCodes.scheduled : stateCodes.ready;
  // The answer is awaited: another run may hold the key.
  await tx.all(
    `insert into ${t.runs} (${CARRIED}, unique_key, unique_until, unique_scope, run_at, state, logged, limited)
     select ${CARRIED}, ${keyed === null ? "null, null, null" : KEY}, ?, ${to},
            (select count(*) from ${t.logs} l where l.run_id = h.id and l.attempt = h.attempts + 1),
            ${limitHint(t, { name: "h.name", queue: "h.queue", owner: "h.owner" })}
       from ${t.history} h where id = ?${keyed ?? ""}`,
    at,
    id,
  );
}

/** Frees the key if its holder has started and the key's window has ended. */
async function freeExpired(tx: SqlContext, key: string, now: number): Promise<void> {
  const { t } = tx;
  const isExpired = `unique_scope = ${UNIQUE_SCOPE.window} and unique_until <= ?`;
  const holder = await first(
    tx.all<{ id: number }>(`select id from ${t.runs} where unique_key = ? and ${isExpired}`, key, now),
  );
  if (holder)
    await tx.run(`update ${t.runs} set unique_key = null where id = ? and ${isExpired}`, holder.id, now);
}

/**
 * Whether a finished run holds the key for its window. Read after the key was inserted: from then on no other run can
 * take the key, so a holder that finished meanwhile is in history by now.
 */
async function isHeldInHistory(tx: SqlContext, key: string, now: number): Promise<boolean> {
  const { db, t } = tx;
  const found = await tx.all(
    `select id from ${t.history}${db.using(t.history, "unique")} where unique_key = ? and unique_until > ? limit 1`,
    key,
    now,
  );
  return found.length > 0;
}

async function giveUpKey(tx: SqlContext, id: number): Promise<void> {
  await tx.run(
    `update ${tx.t.runs} set unique_key = null, unique_scope = null, unique_until = null where id = ?`,
    id,
  );
}
