import type { SqlContext } from "./context.ts";
import { inGroups, namesAsJson } from "./database.ts";
import { COLUMNS, type Row } from "./jobs.ts";

/** False: the row was declared by a producer, or made to be locked. */
export function isDefined(row: Row | undefined): row is Row {
  return row !== undefined && row.defined_by !== null;
}

/**
 * Locks the rows of jobs, so that no other worker shows them until the transaction ends. Missing rows are made first:
 * a row that is not there cannot be locked, and of two workers that start together the older might write last. In order
 * of name, so that two workers do not wait for each other crosswise.
 */
export async function lockJobs(
  tx: SqlContext,
  names: string[],
  now: number,
): Promise<{ rows: Map<string, Row>; made: string[] }> {
  const { db, t } = tx;
  const sorted = [...names].sort();
  const found = db.lookUp(db.rows({ job: "text" }), t.jobs, "r.name = v.job");
  const read = async (lock: string) => {
    const rows = await tx.all<Row>(
      `select ${COLUMNS}, seen_at from ${found}${lock && ` order by r.name${db.lockOnly(lock, "r")}`}`,
      namesAsJson(sorted),
    );
    return new Map(rows.map((row) => [row.name, row]));
  };
  const rows = await read("");
  // The write lock of SQLite has locked what is not there as well.
  if (db.forUpdate === "") return { rows, made: [] };
  const made = sorted.filter((name) => !rows.has(name));
  const columns = ["name", "queue", "priority", "lim", "key_lim", "fingerprint", "defined_at", "created_at"];
  for (const group of inGroups(made, 100)) {
    await tx.run(
      db.upsert(t.jobs, ["name"], columns, [], group.length),
      ...group.flatMap((name) => [name, "", 0, 0, 0, "", 0, now]),
    );
  }
  return { rows: await read(db.forUpdate), made };
}

/** Deletes rows that were made only to be locked. */
export async function deleteMade(tx: SqlContext, names: string[]): Promise<void> {
  const { t } = tx;
  for (const name of names) {
    await tx.run(`delete from ${t.jobs} where name = ? and defined_by is null`, name);
  }
}
