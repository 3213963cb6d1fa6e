import type { SyncRequest } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { type FormerNames, readFormerNames } from "./former-names.ts";
import { COUNTED, deleteMade, isDefined, lockJobs, type Row, rollUp } from "./jobs.ts";

type Shown = SyncRequest["jobs"][number];

/** `to` takes over everything of `from`; null: `from` is a job of its own again. */
interface Change {
  from: string;
  to: string | null;
}

/**
 * Makes the names of jobs what a worker's code says, and returns the jobs that this worker may define. A former name
 * belongs to the job that took it over: only a worker that decides about that job may define the name again. The name
 * then takes everything back, with the marks of its schedules: a roll-back neither repeats nor loses a tick.
 */
export async function syncNames(
  tx: SqlContext,
  jobs: Shown[],
  decides: (row: Row | undefined) => boolean,
  now: number,
): Promise<Shown[]> {
  const former = await readFormerNames(tx);
  const wanted = changesOf(jobs, former);
  return without(wanted.length > 0 ? await change(tx, jobs, wanted, decides, now) : former, jobs);
}

function without(former: FormerNames, jobs: Shown[]): Shown[] {
  return former.size === 0 ? jobs : jobs.filter(({ name }) => !former.has(name));
}

function changesOf(jobs: Shown[], former: FormerNames): Change[] {
  const defined = new Set(jobs.map(({ name }) => name));
  const changes = new Map<string, string | null>();
  // Of two definitions that ask for one name, the first gets it.
  const add = (from: string, to: string | null) => changes.has(from) || changes.set(from, to);
  for (const { name, formerly } of jobs) {
    for (const old of formerly) if (!defined.has(old) && former.get(old) !== name) add(old, name);
    const taken = former.get(name);
    if (taken === undefined) continue;
    if (defined.has(taken)) add(name, null);
    else add(taken, name);
  }
  return [...changes].map(([from, to]) => ({ from, to }));
}

async function change(
  tx: SqlContext,
  jobs: Shown[],
  wanted: Change[],
  decides: (row: Row | undefined) => boolean,
  now: number,
): Promise<FormerNames> {
  const { t } = tx;
  const before = await readFormerNames(tx);
  const concerned = wanted.flatMap(({ from, to }) => [from, to ?? from]);
  const names = new Set(concerned.flatMap((name) => [name, before.get(name) ?? name]));
  const { rows, made } = await lockJobs(tx, [...names], now);
  // Read again behind the locks: another worker may have renamed one of them just now.
  const former = new Map(await readFormerNames(tx));
  const rowOf = (name: string) => rows.get(former.get(name) ?? name);
  const take = async (from: string, to: string) => {
    await renameRow(tx, rows, from, to);
    await moveAll(tx, from, to);
    former.delete(to);
    for (const [name, job] of former) if (job === from) former.set(name, to);
    former.set(from, to);
  };
  for (const { from, to } of changesOf(jobs, former)) {
    const isLocked = [from, to ?? from].every(
      (name) => names.has(name) && names.has(former.get(name) ?? name),
    );
    if (!isLocked) continue;
    const isOurs = decides(rowOf(from)) && decides(rowOf(to ?? from));
    if (to === null) {
      if (!isOurs) continue;
      await tx.run(`delete from ${t.aliases} where name = ?`, from);
      former.delete(from);
    } else if (isOurs) await take(from, to);
    // Code that started later still has the old name: this worker's name for the job counts as a former one.
    else if (isDefined(rows.get(from)) && !isDefined(rowOf(to))) await take(to, from);
  }
  const defined = new Set(without(former, jobs).map(({ name }) => name));
  await deleteMade(
    tx,
    made.filter((name) => !defined.has(name)),
  );
  return former;
}

async function renameRow(tx: SqlContext, rows: Map<string, Row>, from: string, to: string): Promise<void> {
  const { t } = tx;
  const row = rows.get(from);
  if (isDefined(row) && !isDefined(rows.get(to))) {
    await tx.run(`delete from ${t.jobs} where name = ?`, to);
    // Without a fingerprint it differs from every definition: the worker writes its own before the transaction ends.
    await tx.run(`update ${t.jobs} set name = ?, fingerprint = '' where name = ?`, to, from);
    rows.set(to, { ...row, name: to, fingerprint: "" });
  } else await tx.run(`delete from ${t.jobs} where name = ?`, from);
  rows.delete(from);
}

/** Everything a job has goes with it to its new name. */
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
  await moveMinutes(tx, from, to);
  await tx.run(`delete from ${t.aliases} where name = ?`, to);
  await tx.run(`update ${t.aliases} set job = ? where job = ?`, to, from);
  await tx.run(db.upsert(t.aliases, ["name"], ["name", "job"], ["job"]), from, to);
}

/** Counts of a minute in which both names were in use are added up. */
async function moveMinutes(tx: SqlContext, from: string, to: string): Promise<void> {
  const { t } = tx;
  const columns = [...COUNTED, "busy"];
  const both = await tx.all<Record<string, number>>(
    `select f.minute, ${columns.map((column) => `f.${column}`).join(", ")}
       from ${t.minutes} f join ${t.minutes} o on o.minute = f.minute and o.name = ? where f.name = ?`,
    to,
    from,
  );
  const add = rollUp(tx);
  for (const counts of both) {
    await tx.run(add, counts.minute!, to, ...columns.map((column) => counts[column]!));
    await tx.run(`delete from ${t.minutes} where name = ? and minute = ?`, from, counts.minute!);
  }
  await tx.run(`update ${t.minutes} set name = ? where name = ?`, to, from);
}
