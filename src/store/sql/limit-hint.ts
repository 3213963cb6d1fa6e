import type { SqlContext } from "./context.ts";
import { marks, type Tables } from "./database.ts";

/** Rows of one statement: a statement over a million runs would take longer than a connection is waited for. */
const GROUP = 5000;

/** The columns that decide whether a run is under limits, each as SQL. */
export interface Bound {
  name: string;
  queue: string;
  /** A run that has an owner is under no limit; absent: it has none. */
  owner?: string;
}

/**
 * SQL that is 1 if a limit holds runs of this job in this queue, or the job is paused; else 0. The rows of jobs and
 * queues decide, whatever the dispatching process knows (note 24).
 */
export function limitedNow(t: Tables, { name, queue, owner }: Bound): string {
  const ownerless = owner === undefined ? "" : `${owner} is null and `;
  return `case when ${ownerless}(
      exists (select 1 from ${t.jobs} j where j.name = ${name} and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null))
      or exists (select 1 from ${t.queues} q where q.name = ${queue} and q.lim > 0)) then 1 else 0 end`;
}

/** Moves waiting runs into the index of those under limits. The claim would move them too, but only one batch at a time. */
export async function markLimited(tx: SqlContext, column: "name" | "queue", values: string[]): Promise<void> {
  const { db, t } = tx;
  for (let last = values.length > 0 ? 0 : null; last !== null; ) {
    const group: { id: number }[] = await tx.all<{ id: number }>(
      `select id from ${t.runs} where id > ? and ${column} in (${marks(values)}) and state <> 2 and limited = 0 and owner is null order by id limit ${GROUP}`,
      last,
      ...values,
    );
    if (group.length > 0) {
      await tx.run(
        db.updateFrom(t.runs, { limited: "1" }, db.rows({ id: "integer" })),
        JSON.stringify(group.map(({ id }) => [id])),
      );
    }
    last = group.length === GROUP ? group.at(-1)!.id : null;
  }
}
