import { isFinished, type RunState, stateCodes, stateName } from "../../run/states.ts";
import type { AttemptRecord, RunFilter, RunRecord } from "../records.ts";
import { type Database, first, type Param, type Sql, type Tables } from "./database.ts";

interface Row {
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
  worker: string | null;
  locked_until: number | null;
  started_at: number | null;
  finished_at: number | null;
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  progress: string | null;
  tags: string | null;
  parent_id: number | null;
  batch_id: string | null;
  unique_key: string | null;
  tick_at: number | null;
  owner: string | null;
  cancelled_at: number | null;
  created_at: number;
}

const SHARED =
  "id, name, queue, lane, priority, run_at, state, args, attempts, crashes, started_at, progress, tags, parent_id, batch_id, unique_key, tick_at, owner, created_at";
const HOT = `${SHARED}, locked_by as worker, locked_until, cancelled_at, null as finished_at, null as error, null as fingerprint, null as result`;
const COLD = `${SHARED}, worker, null as locked_until, null as cancelled_at, finished_at, error, fingerprint, result`;

export function toRecord(row: Row): RunRecord {
  return {
    id: row.id,
    name: row.name,
    queue: row.queue,
    key: row.owner === null && row.lane !== row.name ? row.lane.slice(row.name.length + 1) : null,
    priority: row.priority,
    state: stateName(row.state),
    runAt: row.run_at,
    args: row.args,
    attempts: row.attempts,
    crashes: row.crashes,
    worker: row.worker,
    lockedUntil: row.locked_until,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    error: row.error,
    fingerprint: row.fingerprint,
    result: row.result,
    progress: row.progress,
    tags: row.tags ? JSON.parse(row.tags) : [],
    parentId: row.parent_id,
    batchId: row.batch_id,
    uniqueKey: row.unique_key,
    scheduledFor: row.tick_at,
    owner: row.owner,
    cancelRequested: row.cancelled_at !== null,
    createdAt: row.created_at,
  };
}

export async function find(sql: Sql, t: Tables, id: number): Promise<RunRecord | null> {
  const row =
    (await first(sql.all<Row>(`select ${HOT} from ${t.runs} where id = ?`, id))) ??
    (await first(sql.all<Row>(`select ${COLD} from ${t.history} where id = ?`, id)));
  return row && toRecord(row);
}

export async function attempts(sql: Sql, t: Tables, id: number): Promise<AttemptRecord[]> {
  return sql.all<AttemptRecord>(
    `select attempt, outcome, worker, started_at as "startedAt", finished_at as "finishedAt", error
       from ${t.attempts} where run_id = ? order by attempt`,
    id,
  );
}

/** Newest first, by id: a page is found from the last id of the one before, never counted off. */
export async function list(db: Database, t: Tables, filter: RunFilter): Promise<RunRecord[]> {
  const states = filter.states ?? (Object.keys(stateCodes) as RunState[]);
  const hot = states.filter((state) => !isFinished(state));
  const cold = states.filter(isFinished);
  const arms = [
    hot.length > 0 ? await page(db, HOT, t.runs, hot, filter) : [],
    cold.length > 0 ? await page(db, COLD, t.history, cold, filter) : [],
  ];
  return arms
    .flat()
    .sort((a, b) => b.id - a.id)
    .slice(0, filter.limit)
    .map(toRecord);
}

function page(
  db: Database,
  columns: string,
  table: string,
  states: RunState[],
  filter: RunFilter,
): Promise<Row[]> {
  const clauses = [`state in (${states.map((state) => stateCodes[state]).join(", ")})`];
  const params: Param[] = [];
  const and = (clause: string, ...values: Param[]) => {
    clauses.push(clause);
    params.push(...values);
  };
  if (filter.name !== undefined) and("name = ?", filter.name);
  if (filter.queue !== undefined) and("queue = ?", filter.queue);
  if (filter.key !== undefined) and(`lane = concat(name, '|', ${db.text})`, filter.key);
  if (filter.tag !== undefined) and(db.tagged, filter.tag);
  if (filter.batchId !== undefined) and("batch_id = ?", filter.batchId);
  if (filter.parentId !== undefined) and("parent_id = ?", filter.parentId);
  if (filter.before !== undefined) and("id < ?", filter.before);
  return db.all<Row>(
    `select ${columns} from ${table} where ${clauses.join(" and ")} order by id desc limit ?`,
    ...params,
    filter.limit,
  );
}
