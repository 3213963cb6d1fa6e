import type { SqlContext } from "./context.ts";

/** Names that jobs no longer have, each with the job that has taken it over (note 12). */
export type FormerNames = ReadonlyMap<string, string>;

interface Named {
  name: string;
  lane: string;
}

/** All of them: few, and changed by renames only. */
export async function readFormerNames(sql: SqlContext): Promise<FormerNames> {
  const { t } = sql;
  const rows = await sql.all<{ name: string; job: string }>(`select name, job from ${t.aliases}`);
  return new Map(rows.map(({ name, job }) => [name, job]));
}

/** The run under the name that its job has now. An ad hoc run keeps its own. */
export function renamed<Run extends Named & { owner: string | null }>(run: Run, former: FormerNames): Run {
  const job = run.owner === null ? former.get(run.name) : undefined;
  return job === undefined ? run : { ...run, ...movedTo(job, run) };
}

function movedTo(job: string, { name, lane }: Named): Named {
  return { name: job, lane: job + lane.slice(name.length) };
}

/**
 * Moves one run from a former name to the job that has taken the name over. Whether there was one: it is dispatched by
 * a process that has not heard of the rename, or whose transaction was open meanwhile.
 */
export function adopt(sql: SqlContext, id: number): Promise<boolean> {
  const { db, t } = sql;
  return sql.transaction(async (tx) => {
    const [found] = await tx.all<Named & { job: string }>(
      `select r.name, r.lane, a.job from ${t.runs} r join ${t.aliases} a on a.name = r.name
        where r.id = ? and r.owner is null${db.lockOnly(db.forUpdate, "r")}`,
      id,
    );
    if (!found) return false;
    const { name, lane } = movedTo(found.job, found);
    await tx.run(`update ${t.runs} set name = ?, lane = ? where id = ?`, name, lane, id);
    return true;
  });
}
