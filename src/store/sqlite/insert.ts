import type { Param, Tables } from "../sql/database.ts";
import type { Inserted, NewRun } from "../store.ts";

/** What inserting needs of a handle: ours, or the caller's own inside their transaction. */
export interface Handle {
  rows<Row>(text: string, ...params: Param[]): Row[];
  row<Row>(text: string, ...params: Param[]): Row | undefined;
}

const COLUMNS = [
  "name",
  "queue",
  "lane",
  "limited",
  "priority",
  "run_at",
  "state",
  "args",
  "timeout",
  "unique_key",
  "unique_scope",
  "unique_until",
  "owner",
  "tags",
  "parent_id",
  "batch_id",
  "expires_at",
  "traceparent",
  "created_at",
];

export const UNTIL_STARTED = 1;
export const UNTIL_FINISHED = 2;

function toRow(run: NewRun, now: number): (string | number | null)[] {
  const runAt = run.runAt ?? now + run.delay;
  return [
    run.name,
    run.queue,
    run.lane,
    run.limited ? 1 : 0,
    run.priority,
    runAt,
    runAt > now ? 0 : 1,
    run.args,
    run.timeout,
    run.unique?.key ?? null,
    run.unique ? (run.unique.until === "started" ? UNTIL_STARTED : UNTIL_FINISHED) : null,
    run.unique && run.unique.for > 0 ? now + run.unique.for : null,
    run.owner,
    run.tags.length > 0 ? JSON.stringify(run.tags) : null,
    run.parentId,
    run.batchId,
    run.expires === null ? null : now + run.expires,
    run.traceparent,
    now,
  ];
}

/** Inside a write transaction. Rows without a key go in one statement; `json_each` keeps their order, so ids ascend with it. */
export function insertRuns(handle: Handle, t: Tables, runs: NewRun[], now: number): Inserted[] {
  const fields = COLUMNS.map((_, index) => `value ->> ${index}`).join(", ");
  const plain = runs.filter((run) => run.unique === null);
  const ids = insertAll(
    plain.map((run) => toRow(run, now)),
    (json) =>
      handle
        .rows<{ id: number }>(
          `insert into ${t.runs} (${COLUMNS.join(", ")}) select ${fields} from json_each(?) where true returning id`,
          json,
        )
        .map((row) => row.id)
        .sort((a, b) => a - b),
  );
  let next = 0;
  return runs.map((run) =>
    run.unique === null
      ? { id: ids[next++]!, inserted: true }
      : insertUnique(handle, t, run, run.unique.key, now),
  );
}

function insertAll(rows: (string | number | null)[][], insert: (json: string) => number[]): number[] {
  return rows.length === 0 ? [] : insert(JSON.stringify(rows));
}

function insertUnique(handle: Handle, t: Tables, run: NewRun, key: string, now: number): Inserted {
  const holder =
    handle.row<{ id: number }>(`select id from ${t.runs} where unique_key = ?`, key) ??
    handle.row<{ id: number }>(
      `select id from ${t.history} where unique_key = ? and unique_until > ? order by unique_until desc limit 1`,
      key,
      now,
    );
  if (holder) return { id: holder.id, inserted: false };
  const [row] = handle.rows<{ id: number }>(
    `insert into ${t.runs} (${COLUMNS.join(", ")}) values (${COLUMNS.map(() => "?").join(", ")}) returning id`,
    ...toRow(run, now),
  );
  return { id: row!.id, inserted: true };
}
