import { stateCodes } from "../../run/states.ts";
import { yieldToEventLoop } from "../../time.ts";
import type { BatchCancellation, BatchWatch } from "../batches.ts";
import { BATCH_KEPT } from "./batch-finish.ts";
import type { SqlContext } from "./context.ts";
import { endRuns, type ForcedEnd } from "./control.ts";
import { first, inGroups, placeholders } from "./database.ts";
import { revive } from "./revive.ts";

/** Members that one statement reads. */
const MEMBERS_READ = 1000;

/** Members that are revived before others get a turn: on SQLite a statement blocks the event loop. */
const REVIVED_AT_ONCE = 50;

/** Passes over the members of a cancelled batch: claims may turn waiting members into running ones meanwhile. */
const PASSES = 5;

/** Reads the members of a batch that are in one of the tables, in groups, with their states. */
async function* membersIn(
  sql: SqlContext,
  table: "runs" | "history",
  batch: number,
  condition: string,
): AsyncGenerator<{ id: number; state: number }[]> {
  const { t } = sql;
  for (let after = 0; ; ) {
    const rows = await sql.all<{ id: number; state: number }>(
      `select r.id, r.state from ${t.batch_members} m join ${t[table]} r on r.id = m.run_id
        where m.batch = ? and m.run_id > ? and ${condition} order by m.run_id limit ?`,
      batch,
      after,
      MEMBERS_READ,
    );
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1)!.id;
    await yieldToEventLoop();
  }
}

/** Cancels the waiting members of a batch, and asks the running ones to end. */
export async function withdraw(
  sql: SqlContext,
  batch: number,
  end: ForcedEnd,
  { progress, signal }: BatchWatch,
): Promise<BatchCancellation> {
  const { db, t } = sql;
  const report: BatchCancellation = { cancelled: 0, requested: [] };
  const isOpen = "(r.state in (0, 1) or (r.state = 2 and r.cancelled_at is null))";
  for (let pass = 0; pass < PASSES; pass++) {
    let found = 0;
    for await (const members of membersIn(sql, "runs", batch, isOpen)) {
      found += members.length;
      for (const group of inGroups(members)) {
        const ids = group.map(({ id }) => id);
        const which = { text: `id in (${placeholders(ids)})`, params: ids };
        // Members that a claim has locked are running a moment later: the next pass finds them.
        const ended = await sql.transaction((tx) => endRuns(tx, which, end, { lock: db.skipLocked }));
        report.cancelled += ended.length;
        progress?.(report.cancelled, report.requested.length);
      }
      const running = members.filter(({ state }) => state === stateCodes.running).map(({ id }) => id);
      for (const ids of inGroups(running)) {
        await sql.run(
          `update ${t.runs} set cancelled_at = ? where id in (${placeholders(ids)}) and state = 2 and cancelled_at is null`,
          end.now,
          ...ids,
        );
      }
      for (const id of running) report.requested.push(id);
      progress?.(report.cancelled, report.requested.length);
      if (signal?.aborted) return report;
    }
    if (found === 0) break;
  }
  return report;
}

/**
 * Runs the members of a batch again that failed or were cancelled, if history has them. Returns their number.
 * `renewMark` writes that this process is at work, and returns the time.
 */
export async function reviveMembers(
  sql: SqlContext,
  batch: number,
  renewMark: () => Promise<number>,
  { progress, signal }: BatchWatch,
): Promise<number> {
  let revived = 0;
  const isWanted = `r.state in (${stateCodes.failed}, ${stateCodes.cancelled})`;
  for await (const members of membersIn(sql, "history", batch, isWanted)) {
    for (const group of inGroups(members, REVIVED_AT_ONCE)) {
      const now = await renewMark();
      for (const { id } of group) if ((await revive(sql, id, {}, now)) === "revived") revived++;
      progress?.(revived, 0);
      if (signal?.aborted) return revived;
      await yieldToEventLoop();
    }
  }
  return revived;
}

/** Whether history has members that `reviveMembers` would run again. */
export async function hasRevivable(sql: SqlContext, batch: number): Promise<boolean> {
  const { t } = sql;
  const found = await sql.all(
    `select r.id from ${t.batch_members} m join ${t.history} r on r.id = m.run_id
      where m.batch = ? and r.state in (${stateCodes.failed}, ${stateCodes.cancelled}) limit 1`,
    batch,
  );
  return found.length > 0;
}

/** Batches that one call of `pruneBatches` deletes. */
const PRUNED_AT_ONCE = 1000;

/** How long a batch is kept further if members of it are left. */
const KEPT_FURTHER = BATCH_KEPT / 7;

/** Deletes finished batches that have been kept for long enough and of which no member is left. */
export async function pruneBatches(sql: SqlContext, now: number): Promise<void> {
  const { t } = sql;
  const old = await sql.all<{ id: number }>(
    `select id from ${t.batches} where keep_until < ? order by keep_until limit ?`,
    now,
    PRUNED_AT_ONCE,
  );
  for (const { id } of old) {
    if ((await hasMember(sql, "history", id)) || (await hasMember(sql, "runs", id))) {
      await sql.run(
        `update ${t.batches} set keep_until = ? where id = ? and keep_until < ?`,
        now + KEPT_FURTHER,
        id,
        now,
      );
      continue;
    }
    await deleteMembers(sql, id);
    await sql.run(`delete from ${t.batch_counts} where batch = ?`, id);
    await sql.run(`delete from ${t.batches} where id = ? and keep_until < ?`, id, now);
    await yieldToEventLoop();
  }
}

/** Whether a member is in the table. Single members of a finished batch may be retried. */
async function hasMember(sql: SqlContext, table: "runs" | "history", batch: number): Promise<boolean> {
  const { t } = sql;
  const found = await sql.all(
    `select m.run_id from ${t.batch_members} m join ${t[table]} r on r.id = m.run_id
      where m.batch = ? order by m.run_id desc limit 1`,
    batch,
  );
  return found.length > 0;
}

async function deleteMembers(sql: SqlContext, batch: number): Promise<void> {
  const { t } = sql;
  for (;;) {
    const last = await first(
      sql.all<{ id: number }>(
        `select run_id as id from ${t.batch_members} where batch = ? order by run_id limit 1 offset ${MEMBERS_READ - 1}`,
        batch,
      ),
    );
    const rest = last ? " and run_id <= ?" : "";
    await sql.run(`delete from ${t.batch_members} where batch = ?${rest}`, batch, ...(last ? [last.id] : []));
    if (!last) return;
    await yieldToEventLoop();
  }
}
