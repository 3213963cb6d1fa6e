import type { Param, Tables } from "../sql/database.ts";
import { renamed } from "../sql/former-names.ts";
import { insertion, NEW_RUN, toValues, UNIQUE_SCOPE, type Value } from "../sql/new-run.ts";
import type { InsertResult, NewRun } from "../store.ts";
import { rows } from "./dialect.ts";

/** What inserting needs of a handle: ours, or the caller's own inside their transaction. */
export interface Handle {
  select<Row>(text: string, ...params: Param[]): Row[];
  row<Row>(text: string, ...params: Param[]): Row | undefined;
}

/** Inside a write transaction. Rows without a key go in one statement, as many as stand together: ids ascend with the order. */
export function insertRuns(handle: Handle, t: Tables, runs: NewRun[], now: number): InsertResult[] {
  const inserted: InsertResult[] = [];
  let plain: Value[][] = [];
  const insertPlain = () => {
    if (plain.length === 0) return;
    for (const id of insertAll(handle, t, plain)) inserted.push({ id, inserted: true });
    plain = [];
  };
  for (const run of underTheirNames(handle, t, runs)) {
    if (run.unique === null) plain.push(toValues(run, now));
    else {
      insertPlain();
      inserted.push(insertUnique(handle, t, run, run.unique.key, now));
    }
  }
  insertPlain();
  return inserted;
}

function underTheirNames(handle: Handle, t: Tables, runs: NewRun[]): NewRun[] {
  const former = new Map<string, string>();
  for (const name of new Set(runs.map((run) => run.name))) {
    const alias = handle.row<{ job: string }>(`select job from ${t.aliases} where name = ?`, name);
    if (alias) former.set(name, alias.job);
  }
  return former.size > 0 ? runs.map((run) => renamed(run, former)) : runs;
}

/** `json_each` keeps the order of its list, so ids ascend with it. */
function insertAll(handle: Handle, t: Tables, runs: Value[][]): number[] {
  const { text, params } = insertion({ rows }, t, NEW_RUN, runs);
  const inserted = handle.select<{ id: number }>(`${text} where true returning id`, ...params);
  return inserted.map((row) => row.id).sort((a, b) => a - b);
}

function insertUnique(handle: Handle, t: Tables, run: NewRun, key: string, now: number): InsertResult {
  handle.select(
    `update ${t.runs} set unique_key = null where unique_key = ? and unique_scope = ${UNIQUE_SCOPE.window} and unique_until <= ?`,
    key,
    now,
  );
  const holder =
    handle.row<{ id: number }>(`select id from ${t.runs} where unique_key = ?`, key) ??
    handle.row<{ id: number }>(
      `select id from ${t.history} where unique_key = ? and unique_until > ? order by unique_until desc limit 1`,
      key,
      now,
    );
  if (holder) return { id: holder.id, inserted: false };
  const [id] = insertAll(handle, t, [toValues(run, now)]);
  return { id: id!, inserted: true };
}
