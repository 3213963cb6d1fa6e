import { type RunState, stateCodes, stateName } from "../../run/states.ts";
import type { SqlContext } from "./context.ts";
import { first } from "./database.ts";
import { limitedNow } from "./limit-hint.ts";

/** The state of a run, wherever it is; the row stays locked until the transaction ends. */
export async function stateOf(tx: SqlContext, id: number): Promise<RunState | null> {
  const { db, t } = tx;
  const look = (table: string) =>
    first(tx.all<{ state: number }>(`select state from ${table} where id = ?${db.forUpdate}`, id));
  // Once more among the runs: somebody may have brought it back between the two looks.
  const row = (await look(t.runs)) ?? (await look(t.history)) ?? (await look(t.runs));
  return row ? stateName(row.state) : null;
}

export function move(
  sql: SqlContext,
  id: number,
  runAt: number,
  now: number,
): Promise<"moved" | RunState | null> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const state = await stateOf(tx, id);
    if (state !== "ready" && state !== "scheduled") return state;
    await tx.run(
      `update ${t.runs} set run_at = ?, state = ? where id = ? and state in (0, 1)`,
      runAt,
      runAt > now ? stateCodes.scheduled : stateCodes.ready,
      id,
    );
    return "moved";
  });
}

const CARRIED =
  "id, name, queue, lane, priority, args, attempts, crashes, timeout, retries, schedule, tick_at, owner, progress, tags, parent_id, batch_id, traceparent, created_at";

/** The unique key is not taken up again: somebody else may hold it by now. Attempts and crashes go on counting. */
export function revive(
  sql: SqlContext,
  id: number,
  runAt: number | null,
  now: number,
): Promise<"revived" | RunState | null> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const state = await stateOf(tx, id);
    if (state === null || stateCodes[state] < stateCodes.completed) return state;
    const to = runAt !== null && runAt > now ? stateCodes.scheduled : stateCodes.ready;
    await tx.run(
      `insert into ${t.runs} (${CARRIED}, run_at, state, logged, limited)
       select ${CARRIED}, ?, ${to}, (select count(*) from ${t.logs} l where l.run_id = h.id and l.attempt = h.attempts + 1),
              ${limitedNow(t, { name: "h.name", queue: "h.queue", owner: "h.owner" })}
         from ${t.history} h where id = ?`,
      runAt ?? now,
      id,
    );
    await tx.run(`delete from ${t.history} where id = ?`, id);
    return "revived";
  });
}

export function remove(sql: SqlContext, id: number): Promise<"removed" | RunState | null> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const state = await stateOf(tx, id);
    if (state === null || state === "running") return state;
    await tx.run(`delete from ${t.runs} where id = ? and state <> 2`, id);
    await tx.run(`delete from ${t.history} where id = ?`, id);
    await tx.run(`delete from ${t.attempts} where run_id = ?`, id);
    await tx.run(`delete from ${t.logs} where run_id = ?`, id);
    return "removed";
  });
}
