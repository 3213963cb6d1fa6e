import type { SqlContext } from "./context.ts";

/** Former names of jobs, each with the job that took it over (note 12). */
export type FormerNames = ReadonlyMap<string, string>;

interface NamedRun {
  name: string;
  lane: string;
}

/** Returns all former names: there are few, and only renames change them. */
export async function readFormerNames(sql: SqlContext): Promise<FormerNames> {
  const { t } = sql;
  const rows = await sql.all<{ name: string; job: string }>(`select name, job from ${t.aliases}`);
  return new Map(rows.map(({ name, job }) => [name, job]));
}

/** Returns the run under the name that its job has today. An ad hoc run keeps its name. */
export function underCurrentName<Run extends NamedRun & { owner: string | null }>(
  run: Run,
  former: FormerNames,
): Run {
  const job = run.owner === null ? former.get(run.name) : undefined;
  return job === undefined ? run : { ...run, ...withJob(job, run) };
}

function withJob(job: string, { name, lane }: NamedRun): NamedRun {
  return { name: job, lane: job + lane.slice(name.length) };
}

/**
 * Moves one run from a former name to the job that took the name over; false: its name is not a former one. Such runs
 * are dispatched by processes that have not read the rename yet, or whose transaction was open during it.
 */
export function adopt(sql: SqlContext, id: number): Promise<boolean> {
  const { db, t } = sql;
  return sql.transaction(async (tx) => {
    const [found] = await tx.all<NamedRun & { job: string }>(
      `select r.name, r.lane, a.job from ${t.runs} r join ${t.aliases} a on a.name = r.name
        where r.id = ? and r.owner is null${db.lockOnly(db.forUpdate, "r")}`,
      id,
    );
    if (!found) return false;
    const { name, lane } = withJob(found.job, found);
    await tx.run(`update ${t.runs} set name = ?, lane = ? where id = ?`, name, lane, id);
    return true;
  });
}
