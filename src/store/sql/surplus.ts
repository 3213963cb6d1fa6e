import type { SqlContext } from "./context.ts";
import { first } from "./database.ts";

/** Finished runs of one job that are more than so many: this one and those before it. */
export interface Surplus {
  name: string;
  from: number;
}

/**
 * Of each name in history where the surplus begins: at the newest run after those that are kept. Of the runs only those that
 * fit the condition on `r` count. It goes along the index of names and ids, from name to name.
 */
export async function* surplus(sql: SqlContext, keep: number, counted: string): AsyncGenerator<Surplus> {
  const { db, t } = sql;
  for (let after = ""; ; ) {
    const next = await first(
      sql.all<{ name: string }>(`select name from ${t.history} where name > ? order by name limit 1`, after),
    );
    if (!next) return;
    const { name } = next;
    const { text, params, order } = db.stretch(name, 0, Number.MAX_SAFE_INTEGER);
    const begin = await first(
      sql.all<{ id: number }>(
        `select r.id from ${t.history} r where ${text}${counted} order by ${order.map((column) => `${column} desc`).join(", ")} limit 1 offset ?`,
        ...params,
        keep,
      ),
    );
    if (begin) yield { name, from: begin.id };
    after = name;
  }
}
