import type { SyncRequest } from "../store.ts";
import { storedQueueLimit, writeRate } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";
import { inGroups, type Param, placeholders } from "./database.ts";
import { compareNames } from "./jobs.ts";
import { setLimitHint } from "./limit-hint.ts";
import type { MayDefine } from "./renames.ts";

/** Queues that are written by one statement. */
const QUEUES_PER_STATEMENT = 100;

/** The first schema whose code knows rates. */
const RATES_SINCE = 12;

/** Writes the limits and orders of queues that are new, changed or another worker's. Returns whether any was. */
export async function syncQueues(
  tx: SqlContext,
  request: SyncRequest,
  mayDefine: MayDefine,
): Promise<boolean> {
  const limits = request.queues.map(({ name, limit, rate = null }) => ({
    name,
    lim: storedQueueLimit(limit, rate),
    rate: writeRate(rate),
  }));
  const limited = await writeQueues(tx, request, mayDefine, limits);
  if (limited.some(({ queue: { rate } }) => rate !== null)) await refuseOlderCode(tx);
  const newlyLimited = limited.filter(({ queue, before }) => queue.lim > 0 && (before?.lim ?? 0) === 0);
  for (const group of inGroups(newlyLimited, QUEUES_PER_STATEMENT)) {
    await setLimitHint(
      tx,
      "queue",
      group.map(({ queue: { name } }) => name),
    );
  }
  const orders = (request.orders ?? []).map(({ name, fair, patience }) => ({
    name,
    fair: Number(fair),
    patience,
  }));
  const ordered = await writeQueues(tx, request, mayDefine, orders);
  return limited.length > 0 || ordered.length > 0;
}

/** Columns of a queue that a definition sets. */
interface QueueColumns {
  name: string;
  [column: string]: Param;
}

/** A queue that was written, and its row before; undefined: the queue is new. */
interface WrittenQueue<Queue> {
  queue: Queue;
  before: Queue | undefined;
}

/** Writes the columns of queues that are new, changed or another worker's. All queues have the same columns. */
async function writeQueues<Queue extends QueueColumns>(
  tx: SqlContext,
  { worker, startedAt }: SyncRequest,
  mayDefine: MayDefine,
  queues: Queue[],
): Promise<WrittenQueue<Queue>[]> {
  const { db, t } = tx;
  const own = Object.keys(queues[0] ?? {});
  const columns = [...own, "defined_at", "defined_by"];
  const written: WrittenQueue<Queue>[] = [];
  for (const group of inGroups([...queues].sort(compareNames), QUEUES_PER_STATEMENT)) {
    const rows = await tx.all<Queue & { defined_at: number | null; defined_by: string | null }>(
      `select ${columns.join(", ")} from ${t.queues} where name in (${placeholders(group)}) order by name${db.forUpdate}`,
      ...group.map(({ name }) => name),
    );
    const known = new Map(rows.map((row) => [row.name, { ...row, defined_at: row.defined_at ?? 0 }]));
    const updates = group.filter((queue) => {
      const row = known.get(queue.name);
      const isSame = row?.defined_by === worker && own.every((column) => row[column] === queue[column]);
      return mayDefine(row) && !isSame;
    });
    if (updates.length === 0) continue;
    await tx.run(
      db.upsert({ table: t.queues, key: ["name"], columns, update: columns.slice(1), rows: updates.length }),
      ...updates.flatMap((queue) => [...own.map((column) => queue[column]!), startedAt, worker]),
    );
    for (const queue of updates) written.push({ queue, before: known.get(queue.name) });
  }
  return written;
}

/**
 * Records that older code cannot use the tables any more: it would start runs of a queue with a rate without counting
 * them. Of a job with rates it starts none (see `storedLimits`), so those leave the tables usable.
 */
async function refuseOlderCode(tx: SqlContext): Promise<void> {
  await tx.run(
    `update ${tx.t.migrations} set compatible_from = ${RATES_SINCE} where number = ${RATES_SINCE} and compatible_from < ${RATES_SINCE}`,
  );
}
