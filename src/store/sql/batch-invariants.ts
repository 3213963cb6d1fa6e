import type { Violation } from "../invariants.ts";
import { countMembersInRuns, listBatches, unfinished } from "./batch-rows.ts";
import type { SqlContext } from "./context.ts";

/** Unfinished batches to check, the newest first. */
const MOST_CHECKED = 200;

/** A batch whose members have all ended is finished within a minute, and this is longer. */
const FINISHED_WITHIN = 120_000;

/**
 * Checks the newest unfinished batches, up to `most` members in all: their counts agree with their members in `runs`,
 * and none is due for long while a worker is idle. Returns false as `complete` if it left some out.
 */
export async function checkBatches(
  sql: SqlContext,
  most: number,
  { now, hasIdleWorker }: { now: number; hasIdleWorker: boolean },
): Promise<{ violations: Violation[]; complete: boolean }> {
  const found = await listBatches(sql, { limit: MOST_CHECKED, before: null, unfinished: true });
  let members = 0;
  const checked = found.filter(({ added }) => {
    members += added;
    return members <= most;
  });
  const facts = await countMembersInRuns(
    sql,
    checked.map(({ id }) => id),
  );
  const violations = facts.flatMap(({ batch, inRuns }): Violation[] => {
    const subject = `batch ${batch.id}`;
    const open = unfinished(batch);
    const counted =
      open === inRuns ? [] : [`counts ${open} members that have not ended, and ${inRuns} are in runs`];
    const since = Math.max(batch.sealedAt ?? now, batch.retriedAt ?? 0);
    const isLate = inRuns === 0 && since < now - FINISHED_WITHIN;
    const late = isLate && hasIdleWorker ? ["has no unfinished member, and is not finished"] : [];
    return [...counted, ...late].map((fault) => ({
      invariant: "batches",
      subject,
      message: `Batch ${batch.id} ${fault}.`,
    }));
  });
  return { violations, complete: checked.length === found.length && found.length < MOST_CHECKED };
}
