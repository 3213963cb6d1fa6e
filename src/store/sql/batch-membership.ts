import type { BatchRefusal, NewBatch, NewMembers } from "../batches.ts";
import type { InsertResult } from "../runs.ts";
import { addCounts } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { idsAsJson, placeholders, type Statement } from "./database.ts";

/** The batch that new runs become members of: a new one, or one that exists. */
export type Membership = { create: NewBatch; seal: boolean } | ({ batch: number } & NewMembers);

/** Thrown inside the transaction of an insert whose batch takes no more members. */
export class BatchRefused extends Error {
  readonly refusal: BatchRefusal;

  constructor(refusal: BatchRefusal) {
    super(`the batch is ${refusal ?? "gone"}`);
    this.refusal = refusal;
  }
}

type Dialect = Pick<SqlContext, "db" | "t">;

/** The marks of a batch that decide whether it takes members. */
export interface BatchMarks {
  sealed_at: number | null;
  cancelled_at: number | null;
  finished_at: number | null;
}

/**
 * Returns statements that lock an existing batch; the last of them returns its marks. Transactions that add members
 * share the lock; sealing and finishing exclude them. On a cluster with several writers a lock is local to its node, so
 * the transaction also writes: of two that have written, only one commits.
 */
export function admissionStatements({ db, t }: Dialect, batch: number): Statement[] {
  const read = {
    text: `select sealed_at, cancelled_at, finished_at from ${t.batches} where id = ?${db.forShare}`,
    params: [batch],
  };
  if (!db.isMultiWriter) return [read];
  return [{ text: `update ${t.batches} set turn = turn + 1 where id = ?`, params: [batch] }, read];
}

/** Throws unless the batch takes members. */
export function admit({ byMember = false }: NewMembers, marks: BatchMarks | undefined): void {
  if (!marks) throw new BatchRefused(null);
  if (marks.finished_at !== null) throw new BatchRefused("finished");
  if (marks.cancelled_at !== null) throw new BatchRefused("cancelled");
  if (marks.sealed_at !== null && !byMember) throw new BatchRefused("sealed");
}

const NEW_BATCH = ["id", "name", "cancels", "callbacks", "created_at"];

/** Returns the statement that inserts a batch. `id` null: the table numbers it, and the statement returns the id. */
export function batchInsertion(
  { t }: Dialect,
  { name, cancels, callbacks }: NewBatch,
  id: number | null,
  now: number,
): Statement {
  const columns = id === null ? NEW_BATCH.slice(1) : NEW_BATCH;
  const text = callbacks.length === 0 ? null : JSON.stringify(callbacks);
  return {
    text: `insert into ${t.batches} (${columns.join(", ")}) values (${placeholders(columns)})${id === null ? " returning id" : ""}`,
    params: [...(id === null ? [] : [id]), name, cancels ? 1 : 0, text, now],
  };
}

/** Returns the statements that make inserted runs members: their rows, the count of the added ones, and the seal. */
export function membershipWrites(
  dialect: Dialect,
  membership: Membership,
  { batch, inserted, who, now }: { batch: number; inserted: InsertResult[]; who: string; now: number },
): Statement[] {
  const { db, t } = dialect;
  // A dispatch that found its unique key held has inserted nothing: the run that holds the key does not become a
  // member.
  const ids = inserted.filter((one) => one.inserted).map(({ id }) => id);
  const statements: Statement[] = [];
  if (ids.length > 0) {
    statements.push({
      text: `insert into ${t.batch_members} (batch, run_id) select ?, v.id from ${db.rows({ id: "integer" })} v`,
      params: [batch, idsAsJson(ids)],
    });
  }
  if ("create" in membership) {
    const seal = membership.seal ? now : null;
    // No other transaction sees the row yet.
    statements.push({
      text: `update ${t.batches} set added = ?, sealed_at = ? where id = ?`,
      params: [ids.length, seal, batch],
    });
    return statements;
  }
  if (ids.length > 0)
    statements.push({ text: addCounts(dialect), params: [batch, who, ids.length, 0, 0, 0, 0] });
  if (membership.seal) {
    statements.push({
      text: `update ${t.batches} set sealed_at = coalesce(sealed_at, ?) where id = ?`,
      params: [now, batch],
    });
  }
  return statements;
}
