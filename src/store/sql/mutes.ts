import type { MuteRecord, NewMute } from "../records.ts";
import type { SqlContext } from "./context.ts";

/** Most mutes that are read. They are made by hand. */
const MOST_MUTES = 1000;

const COLUMNS = ["fingerprint", "muted_at", "muted_by", "reason", "muted_until"];

/** Mutes a group of failures, in place of an earlier mute. */
export async function mute(
  sql: SqlContext,
  { fingerprint, by, reason, until }: NewMute,
  now: number,
): Promise<void> {
  const { db, t } = sql;
  const upsert = db.upsert({
    table: t.mutes,
    key: ["fingerprint"],
    columns: COLUMNS,
    update: COLUMNS.slice(1),
  });
  await sql.run(upsert, fingerprint, now, by, reason, until);
}

/** Ends a mute; false: the group is not muted. */
export function unmute(sql: SqlContext, fingerprint: string, now: number): Promise<boolean> {
  const { t } = sql;
  return sql.transaction(async (tx) => {
    const found = await tx.all<{ muted_until: number | null }>(
      `select muted_until from ${t.mutes} where fingerprint = ?`,
      fingerprint,
    );
    if (found.length === 0) return false;
    await tx.run(`delete from ${t.mutes} where fingerprint = ?`, fingerprint);
    return found[0]!.muted_until === null || found[0]!.muted_until > now;
  });
}

/** Returns the mutes that hold now, the latest first. */
export function mutes(sql: SqlContext, now: number): Promise<MuteRecord[]> {
  return sql.all<MuteRecord>(
    `select fingerprint, muted_at as since, muted_by as "by", reason, muted_until as "until" from ${sql.t.mutes}
      where muted_until is null or muted_until > ? order by muted_at desc, fingerprint limit ${MOST_MUTES}`,
    now,
  );
}

/** Deletes mutes that have ended. */
export async function pruneMutes(sql: SqlContext, now: number): Promise<void> {
  await sql.run(`delete from ${sql.t.mutes} where muted_until <= ?`, now);
}
