import { DAY, yieldToEventLoop } from "../../time.ts";
import type { AuditRecord, NewAuditEntry } from "../records.ts";
import type { SqlContext } from "./context.ts";

/** How long the actions of operators are kept. */
const KEPT: number = 90 * DAY;

/** Entries that one statement deletes. */
const DELETED_AT_ONCE = 1000;

/** Appends an entry. */
export async function record(
  sql: SqlContext,
  { user, role, action, target, details, source }: NewAuditEntry,
  now: number,
): Promise<void> {
  await sql.run(
    `insert into ${sql.t.audit} (at, user_name, role, action, target, details, source) values (?, ?, ?, ?, ?, ?, ?)`,
    now,
    user,
    role,
    action,
    target,
    details,
    source,
  );
}

/** Returns the newest entries, or those before an id. */
export function read(sql: SqlContext, limit: number, before: number | null): Promise<AuditRecord[]> {
  return sql.all<AuditRecord>(
    `select id, at, user_name as "user", role, action, target, details, source from ${sql.t.audit}
      ${before === null ? "" : "where id < ? "}order by id desc limit ?`,
    ...(before === null ? [limit] : [before, limit]),
  );
}

/** Deletes old entries, in batches. Ids ascend with time, so that no index on the time is needed. */
export async function pruneAudit(sql: SqlContext, now: number): Promise<void> {
  const { t } = sql;
  for (;;) {
    const oldest = await sql.all<{ id: number; at: number }>(
      `select id, at from ${t.audit} order by id limit ${DELETED_AT_ONCE}`,
    );
    const last = oldest.findLast(({ at }) => at < now - KEPT);
    if (last === undefined) return;
    await sql.run(`delete from ${t.audit} where id <= ?`, last.id);
    if (last !== oldest.at(-1)) return;
    await yieldToEventLoop();
  }
}
