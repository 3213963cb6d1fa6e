import type { SyncRequest } from "../store.ts";
import { storedQueueLimit, writeRate } from "../stored-limits.ts";
import type { SqlContext } from "./context.ts";
import { inGroups, type Param, placeholders } from "./database.ts";
import { compareNames } from "./jobs.ts";
import { setLimitHint } from "./limit-hint.ts";
import { RATES_SINCE, refuseOlderCode } from "./migrate.ts";
import type { MayDefine } from "./renames.ts";

/** Rows that are written by one statement. */
const ROWS_PER_STATEMENT = 100;

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
  const definer = { ...request, mayDefine };
  const limited = await writeRows(tx, tx.t.queues, definer, limits);
  // Of a job with rates older code starts no run (see `storedLimits`), so those leave the tables usable.
  if (limited.some(({ queue: { rate } }) => rate !== null)) await refuseOlderCode(tx, RATES_SINCE);
  const newlyLimited = limited.filter(({ queue, before }) => queue.lim > 0 && (before?.lim ?? 0) === 0);
  for (const group of inGroups(newlyLimited, ROWS_PER_STATEMENT)) {
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
  const ordered = await writeRows(tx, tx.t.queues, definer, orders);
  return limited.length > 0 || ordered.length > 0;
}

/** Writes named limits that are new, changed or another worker's. Returns whether any was. */
export async function syncLimits(
  tx: SqlContext,
  request: SyncRequest,
  mayDefine: MayDefine,
): Promise<boolean> {
  const limits = (request.limits ?? []).map(({ name, limit, rate }) => ({
    name,
    lim: limit,
    rate: writeRate(rate),
  }));
  return (await writeRows(tx, tx.t.limits, { ...request, mayDefine }, limits)).length > 0;
}

/** Columns of a queue or a named limit that a definition sets. */
interface DefinedColumns {
  name: string;
  [column: string]: Param;
}

/** A row that was written, and what it was before; undefined: it is new. */
interface WrittenRow<Row> {
  queue: Row;
  before: Row | undefined;
}

/** A worker that writes its definitions. */
type Definer = Pick<SyncRequest, "worker" | "startedAt"> & { mayDefine: MayDefine };

/** Writes the columns of rows that are new, changed or another worker's. All rows have the same columns. */
async function writeRows<Row extends DefinedColumns>(
  tx: SqlContext,
  table: string,
  { worker, startedAt, mayDefine }: Definer,
  all: Row[],
): Promise<WrittenRow<Row>[]> {
  const { db } = tx;
  const own = Object.keys(all[0] ?? {});
  const columns = [...own, "defined_at", "defined_by"];
  const written: WrittenRow<Row>[] = [];
  for (const group of inGroups([...all].sort(compareNames), ROWS_PER_STATEMENT)) {
    const rows = await tx.all<Row & { defined_at: number | null; defined_by: string | null }>(
      `select ${columns.join(", ")} from ${table} where name in (${placeholders(group)}) order by name${db.forUpdate}`,
      ...group.map(({ name }) => name),
    );
    const known = new Map(rows.map((row) => [row.name, { ...row, defined_at: row.defined_at ?? 0 }]));
    const updates = group.filter((one) => {
      const row = known.get(one.name);
      const isSame = row?.defined_by === worker && own.every((column) => row[column] === one[column]);
      return mayDefine(row) && !isSame;
    });
    if (updates.length === 0) continue;
    await tx.run(
      db.upsert({ table, key: ["name"], columns, update: columns.slice(1), rows: updates.length }),
      ...updates.flatMap((one) => [...own.map((column) => one[column]!), startedAt, worker]),
    );
    for (const queue of updates) written.push({ queue, before: known.get(queue.name) });
  }
  return written;
}
