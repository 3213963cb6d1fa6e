import { type Database, marks, type Sql, type Tables } from "./database.ts";

/** So many at a time: a statement over a million runs would take longer than a connection is waited for. */
const GROUP = 5000;

/** Runs dispatched while there was no limit wait among the unlimited ones; a new limit holds for them too. */
export async function markLimited(
  tx: Sql,
  db: Database,
  t: Tables,
  column: "name" | "queue",
  values: string[],
): Promise<void> {
  for (let last = values.length > 0 ? 0 : null; last !== null; ) {
    const group: { id: number }[] = await tx.all<{ id: number }>(
      `select id from ${t.runs} where id > ? and ${column} in (${marks(values)}) and limited = 0 and owner is null order by id limit ${GROUP}`,
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
