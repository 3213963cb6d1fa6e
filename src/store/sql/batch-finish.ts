import { finishedStates } from "../../run/states.ts";
import { DAY } from "../../time.ts";
import type { BatchCallback, BatchChange } from "../batches.ts";
import type { NewRun } from "../runs.ts";
import { type LockedBatch, lockBatch, recount, unfinished } from "./batch-rows.ts";
import { addCounts, MEMBER_COUNTS } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { type ColumnType, inGroups, placeholders } from "./database.ts";
import { readFormerNames, underCurrentName } from "./former-names.ts";
import { declare, undeclared } from "./jobs.ts";
import { insertion, NEW_RUN, toValues } from "./new-run.ts";

/** How long a finished batch is kept at least. */
export const BATCH_KEPT: number = 7 * DAY;

/** Runs of one callback that the row of a batch names: a batch that is retried again and again must not grow. */
const MOST_LINKED = 20;

/** The `who` of the row that corrects the counts of a batch. */
const RECOUNTED = "recount";

/**
 * Marks the first failure of a batch and its end, each once, and inserts the callbacks that are due in the same
 * transaction. Returns null if there is nothing to mark. `thorough`: looks for members in `runs` even if the counts say
 * that some have not ended, because workers of older versions end members without counting them.
 */
export async function advance(
  tx: SqlContext,
  id: number,
  now: number,
  thorough: boolean,
): Promise<BatchChange | null> {
  let batch = await lockBatch(tx, id, thorough);
  if (!batch || batch.finishedAt !== null) return null;
  const hasEnded = batch.hasUnfinished === false;
  // Less than none is left if an older process has retried members without counting them.
  if (hasEnded && unfinished(batch) !== 0) batch = await correctCounts(tx, batch);
  const failed = batch.failed > 0 && batch.failedAt === null;
  const finished = hasEnded && unfinished(batch) === 0;
  if (!failed && !finished) return null;
  const cancels = failed && batch.cancels && batch.cancelledAt === null && !finished;
  const due = dueCallbacks(batch, { failed, finished });
  const dispatched = await insertCallbacks(tx, id, due, now);
  for (const [index, callback] of due.entries())
    callback.dispatched = [...(callback.dispatched ?? []), dispatched[index]!.id].slice(-MOST_LINKED);
  const marks = {
    ...(due.length > 0 && { callbacks: JSON.stringify(batch.callbacks) }),
    ...(failed && { failed_at: now }),
    ...(cancels && { cancelled_at: now, sealed_at: batch.sealedAt ?? now }),
    ...(finished && { finished_at: now, keep_until: now + BATCH_KEPT }),
  };
  const assignments = Object.keys(marks).map((column) => `${column} = ?`);
  await tx.run(
    `update ${tx.t.batches} set ${assignments.join(", ")} where id = ?`,
    ...Object.values(marks),
    id,
  );
  if (finished) await foldCounts(tx, id);
  const { callbacks: _, hasUnfinished: __, ...record } = batch;
  const marked = {
    ...record,
    failedAt: failed ? now : batch.failedAt,
    cancelledAt: cancels ? now : batch.cancelledAt,
    finishedAt: finished ? now : null,
  };
  return { batch: marked, failed, finished, dispatched };
}

/** Returns the callbacks that a first failure, or the end of the batch, makes due. */
function dueCallbacks(
  batch: LockedBatch,
  { failed, finished }: { failed: boolean; finished: boolean },
): BatchCallback[] {
  // A batch may be cancelled although none of its members was: the last ones had ended, or the rest was never added.
  const isSuccess = finished && batch.failed === 0 && batch.cancelled === 0 && batch.cancelledAt === null;
  const isDue = { failure: failed, success: isSuccess, finish: finished };
  return batch.callbacks.filter(({ on }) => isDue[on]);
}

/** Corrects the counts of a locked batch by its members in history. */
async function correctCounts(tx: SqlContext, batch: LockedBatch): Promise<LockedBatch> {
  const missing = await recount(tx, batch.id);
  if (missing === null) return batch;
  await tx.run(addCounts(tx), batch.id, RECOUNTED, 0, ...missing);
  const counts = { ...batch };
  for (const [index, state] of finishedStates.entries()) counts[state] += Number(missing[index]);
  return counts;
}

const CALLBACK: Record<string, ColumnType> = { id: "integer", ...NEW_RUN };

/** Inserts callbacks as runs, ready unless they have a delay. */
async function insertCallbacks(
  tx: SqlContext,
  batch: number,
  callbacks: BatchCallback[],
  now: number,
): Promise<BatchChange["dispatched"]> {
  const { db, t } = tx;
  if (callbacks.length === 0) return [];
  const former = await readFormerNames(tx);
  const runs = callbacks.map(({ on, run }) => ({
    ...underCurrentName(run, former),
    batchId: `${batch}/${on}`,
  }));
  // A job may have been pruned since the batch was made.
  const missing = new Set(await undeclared(tx, [...new Set(runs.map(({ name }) => name))]));
  await declare(tx, new Map(runs.flatMap(({ name, job }) => (missing.has(name) ? [[name, job]] : []))), now);
  const ids = await db.newIds(tx, t, runs.length);
  const dispatched: { id: number; run: NewRun }[] = [];
  for (const [index, run] of runs.entries()) {
    const id = ids[index]!;
    const { text, params } = insertion(db, t, CALLBACK, [[id, ...toValues(run, now)]]);
    const rows = await tx.all<{ id: number }>(
      id === null ? `${text} where true returning id` : text,
      ...params,
    );
    dispatched.push({ id: id ?? rows[0]!.id, run });
  }
  return dispatched;
}

/** Adds the counts of workers to the row of the batch, and deletes them. */
async function foldCounts(tx: SqlContext, id: number): Promise<void> {
  const { db, t } = tx;
  const rows = await tx.all<{ who: string } & Record<string, number>>(
    `select who, ${MEMBER_COUNTS.join(", ")} from ${t.batch_counts} where batch = ? order by who${db.forUpdate}`,
    id,
  );
  if (rows.length === 0) return;
  const sums = MEMBER_COUNTS.map((column) => rows.reduce((sum, row) => sum + Number(row[column]), 0));
  await tx.run(
    `update ${t.batches} set ${MEMBER_COUNTS.map((column) => `${column} = ${column} + ?`).join(", ")} where id = ?`,
    ...sums,
    id,
  );
  for (const group of inGroups(rows.map(({ who }) => who))) {
    await tx.run(
      `delete from ${t.batch_counts} where batch = ? and who in (${placeholders(group)})`,
      id,
      ...group,
    );
  }
}
