import type { QueueOrder } from "../store.ts";
import type { SqlContext } from "./context.ts";

/** Priorities of a queue in which one pass looks for runs that have waited too long. */
const MOST_PRIORITIES = 64;

/** Converts the columns of a queue's order. */
export function toQueueOrder({
  fair,
  patience,
}: {
  fair: number;
  patience: number | null;
}): Omit<QueueOrder, "name"> {
  return { fair: fair === 1, patience };
}

/**
 * Raises ready runs of a queue that were due before `dueBefore` to the best priority that waits there, at most `limit`,
 * the oldest first. Returns their number. Skips runs that other transactions have locked.
 */
export async function raise(
  sql: SqlContext,
  queue: string,
  dueBefore: number,
  limit: number,
): Promise<number> {
  const priorities = await readPriorities(sql, queue);
  const best = priorities.reduce(
    (least, { priority }) => Math.min(least, priority),
    Number.POSITIVE_INFINITY,
  );
  const worse = priorities.filter(({ priority }) => priority > best);
  const late: { id: number; run_at: number }[] = [];
  for (const { limited, priority } of worse) {
    for (const run of await readLate(sql, { queue, limited, priority, dueBefore, limit })) late.push(run);
  }
  if (late.length === 0) return 0;
  const ids = late
    .sort((a, b) => a.run_at - b.run_at || a.id - b.id)
    .slice(0, limit)
    .map(({ id }) => [id]);
  return sql.transaction(async (tx) => {
    const { db, t } = tx;
    const list = db.rows({ id: "integer" });
    const locked = await tx.all<{ id: number }>(
      `select r.id from ${db.lookUp(list, t.runs)} where r.state = 1 order by r.id${db.lockOnly(db.skipLocked, "r")}`,
      JSON.stringify(ids),
    );
    if (locked.length === 0) return 0;
    // A whole number, so it needs no parameter.
    const set = { priority: String(best) };
    await tx.run(db.updateFrom(t.runs, set, list), JSON.stringify(locked.map(({ id }) => [id])));
    return locked.length;
  });
}

/** Steps along the index from each priority to the next: `distinct` would read every ready run. */
async function readPriorities(
  sql: SqlContext,
  queue: string,
): Promise<{ limited: 0 | 1; priority: number }[]> {
  const { db, t } = sql;
  const found: { limited: 0 | 1; priority: number }[] = [];
  for (const limited of [0, 1] as const) {
    let after: number | null = null;
    for (let step = 0; step < MOST_PRIORITIES; step++) {
      const [next]: { priority: number }[] = await sql.all<{ priority: number }>(
        `select priority from ${t.runs}${db.using(t.runs, "ready")}
          where state = 1 and limited = ${limited} and owner is null and queue = ?${after === null ? "" : " and priority > ?"}
          order by priority, run_at, id limit 1`,
        queue,
        ...(after === null ? [] : [after]),
      );
      if (!next) break;
      after = next.priority;
      found.push({ limited, priority: after });
    }
  }
  return found;
}

interface LateRuns {
  queue: string;
  limited: 0 | 1;
  priority: number;
  dueBefore: number;
  limit: number;
}

/** The priority is part of the text, as in `inLane`: MariaDB sorts all runs of the priority if it is a parameter. */
function readLate(
  sql: SqlContext,
  { queue, limited, priority, dueBefore, limit }: LateRuns,
): Promise<{ id: number; run_at: number }[]> {
  const { db, t } = sql;
  return sql.all<{ id: number; run_at: number }>(
    `select id, run_at from ${t.runs}${db.using(t.runs, "ready")}
      where state = 1 and limited = ${limited} and owner is null and queue = ? and priority = ${priority} and run_at < ?
      order by run_at, id ${db.upTo(limit)}`,
    queue,
    dueBefore,
  );
}
