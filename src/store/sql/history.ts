import { type FinishedState, outcomeRules, type RunState, stateCodes } from "../../run/states.ts";
import type { Settlement } from "../store.ts";
import type { BatchTally } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { type ColumnType, idsAsJson, type Param, type Statement } from "./database.ts";
import { rowSource } from "./row-source.ts";

/** Columns that history copies from `runs`. */
const COPIED = [
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
const ENDING: Record<string, ColumnType> = {
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
 * Moves settled runs of one token to `history`, in one statement. Only for databases with `movesRows` (PostgreSQL).
 * Returns the runs that still had the token.
 */
export async function moveLeasedToHistory(
  tx: SqlContext,
  token: string,
  endings: Settlement[],
  now: number,
): Promise<EndedRun[]> {
  if (endings.length === 0) return [];
  const { text, params } = leasedMove(tx, token, endings, now);
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

/**
 * An array of ids and single parameters take 0.7 of the time of a join with JSON rows (note 37). Values that differ
 * between the runs are looked up in a JSON object by the run's id.
 */
function leasedMove({ db, t }: SqlContext, token: string, endings: Settlement[], now: number): Statement {
  const params: Param[] = [];
  // Parameters follow the order of the text.
  const param = (value: Param, type: string) => {
    params.push(value);
    return `cast(? as ${type})`;
  };
  const value = (type: "bigint" | "text", of: (one: Settlement) => number | string | null) => {
    const shared = of(endings[0]!);
    if (endings.every((one) => of(one) === shared)) return param(shared, type);
    const byId = endings.map((one) => `"${one.id}":${JSON.stringify(of(one))}`);
    return `cast((select ${param(`{${byId}}`, "text")}::jsonb) ->> cast(r.id as text) as ${type})`;
  };
  const state = ({ outcome }: Settlement) => stateCodes[outcomeRules[outcome].to as RunState];
  const ids = endings.map(({ id }) => id).sort((a, b) => a - b);
  const copied = COPIED.join(", ");
  const ending = Object.keys(ENDING).join(", ");
  const text = `with gone as (
       delete from ${t.runs} r
        where r.id = any(${param(`{${ids.join()}}`, "text")}::bigint[]) and r.lease_token = ${param(token, "text")}
       returning ${COPIED.map((column) => `r.${column}`).join(", ")}, r.locked_by as worker, r.id,
         ${value("bigint", state)} as state, ${value("bigint", ({ duration }) => now - duration)} as started_at,
         ${param(now, "bigint")} as finished_at, ${value("bigint", ({ keep }) => keep)} as keep,
         ${value("text", ({ error }) => error)} as error,
         ${value("text", ({ fingerprint }) => fingerprint)} as fingerprint,
         ${value("text", ({ result }) => result)} as result,
         coalesce(${value("text", ({ child }) => child ?? null)}, r.child) as child, r.logged),
     moved as (
       insert into ${t.history} (${copied}, worker, ${ending})
       select ${copied}, worker, ${ending.replace("keep_until", "case when keep is not null then greatest(finished_at + keep, coalesce(unique_until, 0)) end")}
         from gone where ${IS_KEPT}${db.orReplace(t.history, ["id"], HISTORY_COLUMNS)})
     select id, name, lane, queue, limited, attempts, logged, case when ${IS_KEPT} then 1 else 0 end as kept from gone`;
  return { text, params };
}

/** Whether history keeps a row of `gone`. */
const IS_KEPT = "(keep is null or keep <> 0 or coalesce(unique_until, 0) > finished_at)";

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
