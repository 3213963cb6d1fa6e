import { type FinishedState, stateCodes } from "../../run/states.ts";
import type { Settlement } from "../store.ts";
import type { BatchTally } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { type ColumnType, idsAsJson } from "./database.ts";
import { rowSource } from "./row-source.ts";

/** Columns that history copies from `runs`. */
export const COPIED: readonly string[] = [
  "name",
  "queue",
  "lane",
  "limited",
  "priority",
  "run_at",
  "args",
  "attempts",
  "crashes",
  "uncounted",
  "timeout",
  "retries",
  "schedule",
  "tick_at",
  "unique_key",
  "unique_scope",
  "unique_until",
  "owner",
  "progress",
  "tags",
  "parent_id",
  "rerun_of",
  "batch_id",
  "traceparent",
  "created_at",
];

/** Columns that a run has only in history. */
export const ENDING: Record<string, ColumnType> = {
  id: "integer",
  state: "integer",
  started_at: "integer",
  finished_at: "integer",
  keep_until: "integer",
  error: "text",
  fingerprint: "text",
  result: "text",
  child: "text",
};

const HISTORY_COLUMNS = [...COPIED, "worker", ...Object.keys(ENDING)];

/** How one run ends. */
export interface RunEnding {
  id: number;
  state: FinishedState;
  /** The column `batch_id`. */
  batchId: string | null;
  startedAt: number | null;
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  /** How long history keeps the run, in milliseconds; null: for ever, 0: not at all. */
  keep: number | null;
  /** End of the unique key's window. History keeps the run at least until then: it holds the key. */
  uniqueUntil: number | null;
  attempts: number;
  /** Log lines under the number of the last attempt. */
  logged: number;
  child?: string | null;
}

/**
 * Moves runs from `runs` to `history`. Runs that are not kept are deleted, with their attempts and log lines. The
 * caller has locked the rows, and writes the tally in the same transaction.
 */
export async function moveToHistory(
  tx: SqlContext,
  endings: RunEnding[],
  now: number,
  tally: BatchTally,
): Promise<void> {
  const { db, t } = tx;
  if (endings.length === 0) return;
  for (const { batchId, state } of endings) tally.count(batchId, state);
  const isKept = ({ keep, uniqueUntil }: RunEnding) => keep !== 0 || (uniqueUntil ?? 0) > now;
  const kept = endings.filter(isKept);
  if (kept.length > 0) {
    const { values, rows, params } = rowSource(
      db,
      ENDING,
      kept.map(({ id, state, startedAt, keep, uniqueUntil, error, fingerprint, result, child = null }) => {
        const keepUntil = keep === null ? null : Math.max(now + keep, uniqueUntil ?? 0);
        return [id, stateCodes[state], startedAt, now, keepUntil, error, fingerprint, result, child];
      }),
    );
    const copied = COPIED.map((column) => `r.${column}`).join(", ");
    // A reaper ends runs without knowing the child process that had them.
    const child = `coalesce(${values.pop()}, r.child)`;
    await tx.run(
      `insert into ${t.history} (${HISTORY_COLUMNS.join(", ")})
       select ${copied}, r.locked_by, ${values.join(", ")}, ${child}
         from ${db.lookUp(rows, t.runs)}${db.orReplace(t.history, ["id"], HISTORY_COLUMNS)}`,
      ...params,
    );
  }
  await deleteTraces(
    tx,
    endings.filter((ending) => !isKept(ending)),
  );
  await deleteByRun(tx, t.runs, "id", endings);
}

/** A run that has left `runs`, as it was there. */
export interface EndedRun {
  id: number;
  name: string;
  lane: string;
  queue: string;
  limited: number;
  attempts: number;
  logged: number;
  /** 1: the run is in history; 0: it was deleted. */
  kept: number;
}

/**
 * Moves settled runs of one token to `history`, in one statement. Only for databases with `moveToHistory`. Returns the
 * runs that still had the token.
 */
export async function moveLeasedToHistory(
  tx: SqlContext,
  token: string,
  endings: Settlement[],
  now: number,
): Promise<EndedRun[]> {
  if (endings.length === 0) return [];
  const { db, t } = tx;
  const orReplace = db.orReplace(t.history, ["id"], HISTORY_COLUMNS);
  const { text, params } = db.moveToHistory!(t, { token, endings, now, orReplace });
  const ended = await tx.all<EndedRun>(text, ...params);
  const forgotten = ended.filter(({ kept }) => kept === 0);
  if (forgotten.length > 0) {
    const newlyLogged = new Map(endings.map(({ id, logged }) => [id, logged]));
    await deleteTraces(
      tx,
      forgotten.map((run) => ({ ...run, logged: run.logged + newlyLogged.get(run.id)! })),
    );
  }
  return ended;
}

/** Deletes the attempts and log lines of runs; no statement is sent for runs that cannot have any. */
async function deleteTraces(
  tx: SqlContext,
  runs: { id: number; attempts: number; logged: number }[],
): Promise<void> {
  const { t } = tx;
  const retried = runs.filter(({ attempts }) => attempts > 1);
  await deleteByRun(tx, t.attempts, "run_id", retried);
  const logging = runs.filter(({ attempts, logged }) => attempts > 1 || logged > 0);
  await deleteByRun(tx, t.logs, "run_id", logging);
}

async function deleteByRun(
  tx: SqlContext,
  table: string,
  column: string,
  runs: { id: number }[],
): Promise<void> {
  const { db } = tx;
  if (runs.length === 0) return;
  await tx.run(db.deleteFrom(table, column, db.rows({ id: "integer" })), idsAsJson(runs.map(({ id }) => id)));
}
