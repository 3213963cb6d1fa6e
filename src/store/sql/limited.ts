import { inGroups, marks, type Sql, type Tables } from "./database.ts";

/** Runs dispatched while there was no limit wait among the unlimited ones; a new limit holds for them too. */
export async function markLimited(
  tx: Sql,
  t: Tables,
  column: "name" | "queue",
  values: string[],
): Promise<void> {
  for (const group of inGroups(values)) {
    await tx.run(
      `update ${t.runs} set limited = 1 where ${column} in (${marks(group)}) and limited = 0 and owner is null`,
      ...group,
    );
  }
}
