import { HOUR, yieldToEventLoop } from "../../time.ts";
import type { FailureCount, FailureCounts } from "../records.ts";
import type { SqlContext } from "./context.ts";
import { first, idsAsJson, type Param } from "./database.ts";

/** Failed runs that one statement groups: SQLite blocks the event loop for about 5 ms. */
const AT_ONCE = 2000;

/**
 * Groups the newest failed runs, by the index of failed runs, in slices. Without an index by job, the failed runs of
 * other jobs count towards `most`.
 */
export async function failures(
  sql: SqlContext,
  { job, since, most }: { job: string | null; since: number | null; most: number },
): Promise<FailureCounts> {
  const { db, t } = sql;
  const groups = new Map<string, FailureCount>();
  const from = `${t.history}${db.using(t.history, "failed")}`;
  const isOfJob = job === null ? "" : " and name = ?";
  const name: Param[] = job === null ? [] : [job];
  const [where, of] = db.indexesLinks ? [`state = 4${isOfJob}`, name] : ["state = 4", []];
  let below = Number.MAX_SAFE_INTEGER;
  for (let read = 0; read < most; read += AT_ONCE) {
    const slice = `${where} and id < ? order by id desc`;
    const end = await first(
      sql.all<{ id: number }>(
        `select id from ${from} where ${slice} limit 1 offset ${AT_ONCE - 1}`,
        ...of,
        below,
      ),
    );
    const rows = await sql.all<FailureCount>(
      `select fingerprint, name as job, finished_at - finished_at % ${HOUR} as hour, count(*) as count,
              min(finished_at) as first, max(finished_at) as last, max(id) as sample
         from ${from} where state = 4${isOfJob} and id < ? and id >= ?${since === null ? "" : " and finished_at >= ?"}
        group by 1, 2, 3`,
      ...name,
      below,
      end?.id ?? 0,
      ...(since === null ? [] : [since]),
    );
    for (const row of rows) add(groups, row);
    if (!end) return { counts: [...groups.values()], capped: false };
    below = end.id;
    await yieldToEventLoop();
  }
  const left = await sql.all(`select id from ${from} where ${where} and id < ? limit 1`, ...of, below);
  return { counts: [...groups.values()], capped: left.length > 0 };
}

function add(groups: Map<string, FailureCount>, row: FailureCount): void {
  const key = JSON.stringify([row.fingerprint, row.job, row.hour]);
  const known = groups.get(key);
  if (!known) {
    groups.set(key, row);
    return;
  }
  known.count += row.count;
  known.first = Math.min(known.first, row.first);
  known.last = Math.max(known.last, row.last);
  known.sample = Math.max(known.sample, row.sample);
}

/** Returns the errors of finished runs. */
export async function errorsOf(sql: SqlContext, ids: number[]): Promise<Map<number, string | null>> {
  const { db, t } = sql;
  if (ids.length === 0) return new Map();
  const rows = await sql.all<{ id: number; error: string | null }>(
    `select r.id, r.error from ${db.lookUp(db.rows({ id: "integer" }), t.history)}`,
    idsAsJson(ids),
  );
  return new Map(rows.map(({ id, error }) => [id, error]));
}
