import type { SqlContext } from "./context.ts";
import { placeholders } from "./database.ts";

/** Rows of the table `gates`. They are made with the schema, so that no claim creates or deletes one under load. */
export const GATES = 256;

/** Returns the gate of a limit: an FNV-1a hash of its name, the same in every process. Limits may share a gate. */
export function gateOf(limit: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < limit.length; index++) {
    hash = Math.imul(hash ^ limit.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % GATES;
}

/**
 * Locks the gates of these limits and returns the locked ones. `lock` says whether to wait for those that other
 * transactions hold, or to skip them. SQLite has one lock for all.
 */
export async function lockGates(tx: SqlContext, limits: string[], lock: string): Promise<Set<number>> {
  const { db, t } = tx;
  const gates = [...new Set(limits.map(gateOf))];
  if (gates.length === 0 || db.forUpdate === "") return new Set(gates);
  const rows = await tx.all<{ id: number }>(
    `select id from ${t.gates} where id in (${placeholders(gates)}) order by id${lock}`,
    ...gates,
  );
  const ids = rows.map(({ id }) => id);
  if (db.isMultiWriter && ids.length > 0) {
    // Two transactions on two nodes both get the lock. Of two that have written to the gate, only one can commit.
    await tx.run(`update ${t.gates} set turn = turn + 1 where id in (${placeholders(ids)})`, ...ids);
  }
  return new Set(ids);
}
