import { keyIn } from "../../run/lanes.ts";
import { type RunState, stateName } from "../../run/states.ts";
import type { AttemptRecord, RunRecord } from "../records.ts";
import type { SqlContext } from "./context.ts";
import { first } from "./database.ts";

/** A row of `runs` or `history`, with the columns of `RunRecord`. */
export interface RecordRow {
  id: number;
  name: string;
  queue: string;
  lane: string;
  priority: number;
  run_at: number;
  state: number;
  args: string | null;
  attempts: number;
  crashes: number;
  isolated: number;
  worker: string | null;
  child: string | null;
  locked_until: number | null;
  started_at: number | null;
  finished_at: number | null;
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  progress: string | null;
  tags: string | null;
  parent_id: number | null;
  rerun_of: number | null;
  batch_id: string | null;
  unique_key: string | null;
  schedule: number | null;
  tick_at: number | null;
  timeout: number | null;
  retries: string | null;
  owner: string | null;
  cancelled_at: number | null;
  created_at: number;
}

const SHARED_COLUMNS =
  "id, name, queue, lane, priority, run_at, state, args, attempts, crashes, child, started_at, progress, tags, parent_id, rerun_of, batch_id, unique_key, schedule, tick_at, timeout, retries, owner, created_at";
export const UNFINISHED_COLUMNS: string = `${SHARED_COLUMNS}, isolated, locked_by as worker, locked_until, cancelled_at, null as finished_at, null as error, null as fingerprint, null as result`;
export const FINISHED_COLUMNS: string = `${SHARED_COLUMNS}, 0 as isolated, worker, null as locked_until, null as cancelled_at, finished_at, error, fingerprint, result`;

/** Returns the state that users see. A claimed run is running once its start is written, and ready until then. */
function shownState({ state, started_at: startedAt }: RecordRow): RunState {
  const name = stateName(state);
  return name === "running" && startedAt === null ? "ready" : name;
}

export function toRecord(row: RecordRow): RunRecord {
  return {
    id: row.id,
    name: row.name,
    queue: row.queue,
    key: row.owner === null ? keyIn(row.lane, row.name) : null,
    priority: row.priority,
    state: shownState(row),
    runAt: row.run_at,
    args: row.args,
    attempts: row.attempts,
    crashes: row.crashes,
    isolated: row.isolated === 1,
    worker: row.worker,
    child: row.child,
    lockedUntil: row.locked_until,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    error: row.error,
    fingerprint: row.fingerprint,
    result: row.result,
    progress: row.progress,
    tags: row.tags ? JSON.parse(row.tags) : [],
    parentId: row.parent_id,
    rerunOf: row.rerun_of,
    batchId: row.batch_id,
    uniqueKey: row.unique_key,
    scheduleId: row.schedule,
    scheduledFor: row.tick_at,
    timeout: row.timeout,
    retries: row.retries,
    owner: row.owner,
    cancelRequested: row.cancelled_at !== null,
    createdAt: row.created_at,
  };
}

/** Returns a run, finished or not. */
export async function find(sql: SqlContext, id: number): Promise<RunRecord | null> {
  const { t } = sql;
  for (;;) {
    const row =
      (await first(sql.all<RecordRow>(`select ${UNFINISHED_COLUMNS} from ${t.runs} where id = ?`, id))) ??
      (await first(sql.all<RecordRow>(`select ${FINISHED_COLUMNS} from ${t.history} where id = ?`, id)));
    if (row) return toRecord(row);
    if (!(await exists(sql, id))) return null;
  }
}

/**
 * Whether a run is in either table. One statement reads both from one snapshot: two statements can miss a run that is
 * revived between them.
 */
export async function exists(sql: SqlContext, id: number): Promise<boolean> {
  const { t } = sql;
  const found = await sql.all(
    `select id from ${t.runs} where id = ? union all select id from ${t.history} where id = ?`,
    id,
    id,
  );
  return found.length > 0;
}

/** Returns the failed and crashed attempts of a run, in order. */
export async function attempts(sql: SqlContext, id: number): Promise<AttemptRecord[]> {
  const { t } = sql;
  return sql.all<AttemptRecord>(
    `select attempt, outcome, worker, started_at as "startedAt", finished_at as "finishedAt", error
       from ${t.attempts} where run_id = ? order by attempt`,
    id,
  );
}
