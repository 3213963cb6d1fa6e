import { MINUTE } from "../../time.ts";
import type { NumberMatch, RunCondition } from "../search.ts";
import type { SqlContext } from "./context.ts";
import { first } from "./database.ts";

/**
 * How far ids may be out of the order of time: a process uses an id up to a second after it has reserved it, and a
 * promise that a handler leaves behind may dispatch after the run has finished.
 */
const MARGIN = MINUTE;

/** First distance from the id of the parent at which a run is looked up; each further one is twice as far. */
const FIRST_STEP = 1000;

/** A run, and when it was dispatched. */
interface DispatchTime {
  id: number;
  created_at: number;
}

/**
 * Adds bounds of the id to a search for the children of one run, where no index has the parent. Children are inserted
 * while their parent executes, and ids ascend with time, so only runs between its dispatch and its end are searched.
 */
export async function withChildRange(sql: SqlContext, where: RunCondition[]): Promise<RunCondition[]> {
  const id = sql.db.indexesLinks ? null : soleParent(where);
  const parent = id === null ? null : await findParent(sql, id);
  if (!parent) return where;
  const { attempts, created_at: createdAt, finished_at: finishedAt } = parent;
  // Its handler was never called.
  if (finishedAt === null && attempts === 0) return [...where, { field: "state", any: [] }];
  const before = await walk(sql, parent.id, -1, (at) => at < createdAt - MARGIN);
  const after = finishedAt && (await walk(sql, parent.id, 1, (at) => at > finishedAt + MARGIN));
  return [...where, ...bound(">", before), ...bound("<", after)];
}

function soleParent(where: RunCondition[]): number | null {
  for (const condition of where) {
    if (condition.field !== "parent" || condition.not || condition.any.length !== 1) continue;
    const { op, value } = condition.any[0]!;
    if (op === "=") return value;
  }
  return null;
}

function bound(op: NumberMatch["op"], id: number | null): RunCondition[] {
  return id === null ? [] : [{ field: "id", any: [{ op, value: id }] }];
}

function findParent(
  sql: SqlContext,
  id: number,
): Promise<(DispatchTime & { attempts: number; finished_at: number | null }) | null> {
  const { t } = sql;
  return first(
    sql.all(
      `select id, created_at, attempts, finished_at from ${t.history} where id = ?
       union all select id, created_at, attempts, null from ${t.runs} where id = ?`,
      id,
      id,
    ),
  );
}

/** Returns the id of a run on one side of `from` whose time of dispatch `isBeyond` accepts; null: there is none. */
async function walk(
  sql: SqlContext,
  from: number,
  direction: 1 | -1,
  isBeyond: (createdAt: number) => boolean,
): Promise<number | null> {
  for (let step = FIRST_STEP; ; step *= 2) {
    const run = await nearest(sql, from + direction * step, direction);
    if (!run) return null;
    if (isBeyond(run.created_at)) return run.id;
  }
}

/** Returns the first run from an id on, upwards or downwards. */
function nearest(sql: SqlContext, id: number, direction: 1 | -1): Promise<DispatchTime | null> {
  const { t } = sql;
  const [op, order] = direction > 0 ? [">=", "asc"] : ["<=", "desc"];
  const one = (table: string) =>
    `select id, created_at from (select id, created_at from ${table} where id ${op} ? order by id ${order} limit 1) as nearest_one`;
  return first(
    sql.all<DispatchTime>(
      `select id, created_at from (${one(t.runs)} union all ${one(t.history)}) as both_tables order by id ${order} limit 1`,
      id,
      id,
    ),
  );
}
