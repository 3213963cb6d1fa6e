import type { SqlContext } from "./context.ts";
import { type ColumnType, idsAsJson } from "./database.ts";
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

/** How one run ends. */
export interface RunEnding {
  id: number;
  /** Code of the final state. */
  state: number;
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
 * caller has locked the rows.
 */
export async function moveToHistory(tx: SqlContext, endings: RunEnding[], now: number): Promise<void> {
  const { db, t } = tx;
  if (endings.length === 0) return;
  const isKept = ({ keep, uniqueUntil }: RunEnding) => keep !== 0 || (uniqueUntil ?? 0) > now;
  const kept = endings.filter(isKept);
  if (kept.length > 0) {
    const { values, rows, params } = rowSource(
      db,
      ENDING,
      kept.map(({ id, state, startedAt, keep, uniqueUntil, error, fingerprint, result, child = null }) => {
        const keepUntil = keep === null ? null : Math.max(now + keep, uniqueUntil ?? 0);
        return [id, state, startedAt, now, keepUntil, error, fingerprint, result, child];
      }),
    );
    const copied = COPIED.map((column) => `r.${column}`).join(", ");
    // A reaper ends runs without knowing the child process that had them.
    const child = `coalesce(${values.pop()}, r.child)`;
    await tx.run(
      `insert into ${t.history} (${COPIED.join(", ")}, worker, ${Object.keys(ENDING).join(", ")})
       select ${copied}, r.locked_by, ${values.join(", ")}, ${child}
         from ${db.lookUp(rows, t.runs)}`,
      ...params,
    );
  }
  await deleteTraces(
    tx,
    endings.filter((ending) => !isKept(ending)),
  );
  await deleteByRun(tx, t.runs, "id", endings);
}

/** How a run ends of which only the lease is known. */
export interface LeasedEnding extends Omit<RunEnding, "uniqueUntil" | "attempts"> {
  token: string;
}

/** Columns of `v` in the statement below, with the types that PostgreSQL has for them. */
const LEASED_ENDING = {
  id: "integer",
  token: "text",
  state: "integer",
  started_at: "integer",
  now: "integer",
  keep: "integer",
  error: "text",
  fingerprint: "text",
  result: "text",
  child: "text",
} as const;

/** A run that has left `runs`, as it was there. */
export interface EndedRun {
  id: number;
  token: string;
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
 * Does the same for runs of which only the lease is known, in one statement; only where `db.movesRows`, on PostgreSQL.
 * Returns the runs whose leases were still held.
 */
export async function moveLeasedToHistory(
  tx: SqlContext,
  endings: LeasedEnding[],
  now: number,
): Promise<EndedRun[]> {
  const { db, t } = tx;
  if (endings.length === 0) return [];
  const { values, rows, params } = rowSource(
    db,
    LEASED_ENDING,
    endings
      .sort((a, b) => a.id - b.id)
      .map(({ id, token, state, startedAt, keep, error, fingerprint, result, child = null }) => [
        id,
        token,
        state,
        startedAt,
        now,
        keep,
        error,
        fingerprint,
        result,
        child,
      ]),
  );
  // PostgreSQL cannot infer the type of a parameter that is compared with no column.
  const typed = Object.entries(LEASED_ENDING).map(
    ([column, type], index) =>
      `cast(${values[index]} as ${type === "integer" ? "bigint" : "text"}) as ${column}`,
  );
  const copied = COPIED.join(", ");
  const ending = Object.keys(ENDING).join(", ");
  const ended = await tx.all<EndedRun>(
    // Only running runs have a token: adding `state = 2` makes PostgreSQL scan every running row.
    `with gone as (
       delete from ${t.runs} r using (select ${typed.join(", ")} from ${rows} v) v
        where r.id = v.id and r.lease_token = v.token
       returning ${COPIED.map((column) => `r.${column} as ${column}`).join(", ")}, r.locked_by as worker,
         r.id as id, v.state as state, v.started_at as started_at, v.now as finished_at,
         case when v.keep is not null then greatest(v.now + v.keep, coalesce(r.unique_until, 0)) end as keep_until,
         v.error as error, v.fingerprint as fingerprint, v.result as result, coalesce(v.child, r.child) as child,
         v.token as token, r.logged as logged,
         case when v.keep is null or v.keep <> 0 or coalesce(r.unique_until, 0) > v.now then 1 else 0 end as kept),
     moved as (
       insert into ${t.history} (${copied}, worker, ${ending}) select ${copied}, worker, ${ending} from gone where kept = 1)
     select id, token, name, lane, queue, limited, attempts, logged, kept from gone`,
    ...params,
  );
  const newlyLogged = new Map(endings.map(({ id, logged }) => [id, logged]));
  await deleteTraces(
    tx,
    ended
      .filter(({ kept }) => kept === 0)
      .map((run) => ({ ...run, logged: run.logged + newlyLogged.get(run.id)! })),
  );
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
