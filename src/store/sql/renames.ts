import type { DefinedJob } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { type FormerNames, readFormerNames } from "./former-names.ts";
import { addMinute, deleteStubs, isDefined, type JobRow, lockJobs, MINUTE_COUNTS } from "./jobs.ts";
import { moveRates } from "./rates.ts";
import { moveRollups } from "./rollups.ts";

/** Whether this worker may define a job or a queue: no live worker that started later has defined it. */
export type MayDefine = (row: Pick<JobRow, "defined_at" | "defined_by"> | undefined) => boolean;

/** Job `to` takes over everything that belongs to `from`. `to` null: `from` becomes a separate job again. */
interface Rename {
  from: string;
  to: string | null;
}

/**
 * Applies the renames in a worker's definitions and returns the jobs that this worker may define. A former name
 * belongs to the job that took it over: only a worker that may define that job may define the name again. The old
 * name then takes everything back, with the marks of its schedules, so that rolling back a deployment neither repeats
 * nor loses a tick.
 */
export async function syncNames(
  tx: SqlContext,
  jobs: DefinedJob[],
  mayDefine: MayDefine,
  now: number,
): Promise<DefinedJob[]> {
  const former = await readFormerNames(tx);
  const wanted = renamesOf(jobs, former);
  return withoutFormer(
    wanted.length > 0 ? await applyRenames(tx, wanted, { jobs, mayDefine, now }) : former,
    jobs,
  );
}

function withoutFormer(former: FormerNames, jobs: DefinedJob[]): DefinedJob[] {
  return former.size === 0 ? jobs : jobs.filter(({ name }) => !former.has(name));
}

/** Returns the renames that make the database's names those of the definitions. */
function renamesOf(jobs: DefinedJob[], former: FormerNames): Rename[] {
  const defined = new Set(jobs.map(({ name }) => name));
  const renames = new Map<string, string | null>();
  // If two definitions claim the same former name, the first gets it.
  const add = (from: string, to: string | null) => renames.has(from) || renames.set(from, to);
  for (const { name, formerly } of jobs) {
    for (const old of formerly) if (!defined.has(old) && former.get(old) !== name) add(old, name);
    const taken = former.get(name);
    if (taken === undefined) continue;
    if (defined.has(taken)) add(name, null);
    else add(taken, name);
  }
  return [...renames].map(([from, to]) => ({ from, to }));
}

/** Locks the jobs of the renames, applies those that this worker may make, and returns the former names after them. */
async function applyRenames(
  tx: SqlContext,
  wanted: Rename[],
  { jobs, mayDefine, now }: { jobs: DefinedJob[]; mayDefine: MayDefine; now: number },
): Promise<FormerNames> {
  const { t } = tx;
  const before = await readFormerNames(tx);
  const concerned = wanted.flatMap(({ from, to }) => [from, to ?? from]);
  const names = new Set(concerned.flatMap((name) => [name, before.get(name) ?? name]));
  const { rows, stubs } = await lockJobs(tx, [...names], now);
  // Read again under the locks: another worker may have renamed one of the jobs just now.
  const former = new Map(await readFormerNames(tx));
  const rowOf = (name: string) => rows.get(former.get(name) ?? name);
  const takeOver = async (from: string, to: string) => {
    await renameRow(tx, rows, from, to);
    await moveAll(tx, from, to);
    former.delete(to);
    for (const [name, job] of former) if (job === from) former.set(name, to);
    former.set(from, to);
  };
  for (const { from, to } of renamesOf(jobs, former)) {
    const isLocked = [from, to ?? from].every(
      (name) => names.has(name) && names.has(former.get(name) ?? name),
    );
    if (!isLocked) continue;
    const isOurs = mayDefine(rowOf(from)) && mayDefine(rowOf(to ?? from));
    if (to === null) {
      if (!isOurs) continue;
      await tx.run(`delete from ${t.aliases} where name = ?`, from);
      former.delete(from);
    } else if (isOurs) await takeOver(from, to);
    // A worker with the old code started later: the new name becomes a former name of the old one.
    else if (isDefined(rows.get(from)) && !isDefined(rowOf(to))) await takeOver(to, from);
  }
  const defined = new Set(withoutFormer(former, jobs).map(({ name }) => name));
  await deleteStubs(
    tx,
    stubs.filter((name) => !defined.has(name)),
  );
  return former;
}

/** Renames the row of a job; if the new name is a defined job already, deletes the old row. */
async function renameRow(tx: SqlContext, rows: Map<string, JobRow>, from: string, to: string): Promise<void> {
  const { t } = tx;
  const row = rows.get(from);
  if (isDefined(row) && !isDefined(rows.get(to))) {
    await tx.run(`delete from ${t.jobs} where name = ?`, to);
    // An empty fingerprint differs from every definition: this worker writes its own before the transaction ends.
    await tx.run(`update ${t.jobs} set name = ?, fingerprint = '' where name = ?`, to, from);
    rows.set(to, { ...row, name: to, fingerprint: "" });
  } else await tx.run(`delete from ${t.jobs} where name = ?`, from);
  rows.delete(from);
}

/** Moves everything that belongs to a job to its new name. */
async function moveAll(tx: SqlContext, from: string, to: string): Promise<void> {
  const { db, t } = tx;
  await tx.run(
    `update ${t.schedules} set job = ? where job = ? and slot not in (select slot from (select slot from ${t.schedules} where job = ?) taken)`,
    to,
    from,
    to,
  );
  await tx.run(`delete from ${t.schedules} where job = ?`, from);
  for (const table of [t.runs, t.history]) {
    await tx.run(
      `update ${table} set lane = concat(${db.text}, substr(lane, ?)), name = ?
        where name = ? and owner is null`,
      to,
      [...from].length + 1,
      to,
      from,
    );
  }
  await moveRates(tx, from, to);
  await moveMinutes(tx, from, to);
  await moveRollups(tx, from, to);
  await tx.run(`delete from ${t.aliases} where name = ?`, to);
  await tx.run(`update ${t.aliases} set job = ? where job = ?`, to, from);
  await tx.run(
    db.upsert({ table: t.aliases, key: ["name"], columns: ["name", "job"], update: ["job"] }),
    from,
    to,
  );
}

/** Moves the counts of a job to its new name; adds them up where both names have counts in the same minute. */
async function moveMinutes(tx: SqlContext, from: string, to: string): Promise<void> {
  const { t } = tx;
  const columns = [...MINUTE_COUNTS, "busy"];
  const both = await tx.all<Record<string, number>>(
    `select f.minute, ${columns.map((column) => `f.${column}`).join(", ")}
       from ${t.minutes} f join ${t.minutes} o on o.minute = f.minute and o.name = ? where f.name = ?`,
    to,
    from,
  );
  const add = addMinute(tx);
  for (const counts of both) {
    await tx.run(add, counts.minute!, to, ...columns.map((column) => counts[column]!));
    await tx.run(`delete from ${t.minutes} where name = ? and minute = ?`, from, counts.minute!);
  }
  await tx.run(`update ${t.minutes} set name = ? where name = ?`, to, from);
}
