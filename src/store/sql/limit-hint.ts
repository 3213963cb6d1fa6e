import type { SqlContext } from "./context.ts";
import { placeholders, type Tables } from "./database.ts";

/** Runs that one statement updates: a statement on a million runs would exceed the timeout of an answer. */
const GROUP = 5000;

/** SQL expressions for the columns that decide the limit hint of a run. */
export interface LimitColumns {
  name: string;
  queue: string;
  /** No limit holds a run that has an owner. Absent: the run has none. */
  owner?: string;
}

/**
 * Returns an SQL expression for the limit hint (`runs.limited`): 1 if a limit holds runs of this job in this queue or
 * the job is paused, else 0. The rows of jobs and queues decide, not the process that dispatches (note 24).
 */
export function limitHint(t: Tables, { name, queue, owner }: LimitColumns): string {
  const ownerless = owner === undefined ? "" : `${owner} is null and `;
  return `case when ${ownerless}(
      exists (select 1 from ${t.jobs} j where j.name = ${name} and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null))
      or exists (select 1 from ${t.queues} q where q.name = ${queue} and q.lim > 0)) then 1 else 0 end`;
}

/**
 * Sets the limit hint of the waiting runs of these jobs or queues, which moves them to the index of runs under limits.
 * A claim would do so as well, but for one batch at a time.
 */
export async function setLimitHint(
  tx: SqlContext,
  column: "name" | "queue",
  values: string[],
): Promise<void> {
  const { db, t } = tx;
  for (let last = values.length > 0 ? 0 : null; last !== null; ) {
    const group: { id: number }[] = await tx.all<{ id: number }>(
      `select id from ${t.runs} where id > ? and ${column} in (${placeholders(values)}) and state <> 2 and limited = 0 and owner is null order by id limit ${GROUP}`,
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
