import {
  admissionStatements,
  admit,
  type BatchMarks,
  batchInsertion,
  type Membership,
  membershipWrites,
} from "../sql/batch-membership.ts";
import { type Database, type Param, placeholders, type Tables } from "../sql/database.ts";
import { underCurrentName } from "../sql/former-names.ts";
import { DECLARED_COLUMNS, declaredValues } from "../sql/jobs.ts";
import { insertion, NEW_RUN, type NewRunValue, toValues, UNIQUE_SCOPE } from "../sql/new-run.ts";
import type { InsertResult, NewRun } from "../store.ts";
import { rows } from "./dialect.ts";

/**
 * Executes statements that return rows, synchronously: on our connection, or on a caller's handle in its transaction.
 */
export interface SyncSql {
  select<Row>(text: string, ...params: Param[]): Row[];
  row<Row>(text: string, ...params: Param[]): Row | undefined;
}

interface InsertContext {
  sql: SyncSql;
  t: Tables;
  now: number;
}

/**
 * Inserts runs inside a write transaction. Consecutive runs without a unique key share one statement. The ids ascend in
 * the order of the runs.
 */
export function insertRuns(context: InsertContext, runs: NewRun[]): InsertResult[] {
  const inserted: InsertResult[] = [];
  let plain: NewRunValue[][] = [];
  const insertPlain = () => {
    if (plain.length === 0) return;
    for (const id of insertAll(context, plain)) inserted.push({ id, inserted: true });
    plain = [];
  };
  const named = withCurrentNames(context, runs);
  declareJobs(context, named);
  for (const run of named) {
    if (run.unique === null) plain.push(toValues(run, context.now));
    else {
      insertPlain();
      inserted.push(insertUnique(context, run, run.unique.key));
    }
  }
  insertPlain();
  return inserted;
}

/** Inserts runs as members of a batch. `who`: the row in which they are counted. */
export function insertMembers(
  context: InsertContext & { db: Database },
  runs: NewRun[],
  membership: Membership,
  who: string,
): { batch: number; inserted: InsertResult[] } {
  const { sql, now } = context;
  let batch: number;
  if ("create" in membership) {
    const { text, params } = batchInsertion(context, membership.create, null, now);
    batch = sql.row<{ id: number }>(text, ...params)!.id;
  } else {
    batch = membership.batch;
    let marks: BatchMarks | undefined;
    for (const { text, params } of admissionStatements(context, batch))
      marks = sql.row<BatchMarks>(text, ...params);
    admit(membership, marks);
  }
  const inserted = insertRuns(
    context,
    runs.map((run) => ({ ...run, batchId: String(batch) })),
  );
  for (const { text, params } of membershipWrites(context, membership, { batch, inserted, who, now }))
    sql.select(text, ...params);
  return { batch, inserted };
}

/** Returns the runs under the current names of their jobs. */
function withCurrentNames({ sql, t }: InsertContext, runs: NewRun[]): NewRun[] {
  const former = new Map<string, string>();
  for (const name of new Set(runs.map((run) => run.name))) {
    const alias = sql.row<{ job: string }>(`select job from ${t.aliases} where name = ?`, name);
    if (alias) former.set(name, alias.job);
  }
  return former.size > 0 ? runs.map((run) => underCurrentName(run, former)) : runs;
}

/** Inserts rows of jobs that have none: a run that waits always has its job's row. */
function declareJobs({ sql, t, now }: InsertContext, runs: NewRun[]): void {
  const looked = new Set<string>();
  for (const { name, owner, job } of runs) {
    if (owner !== null || looked.has(name)) continue;
    looked.add(name);
    if (sql.row(`select 1 as one from ${t.jobs} where name = ?`, name)) continue;
    sql.select(
      `insert into ${t.jobs} (${DECLARED_COLUMNS.join(", ")}) values (${placeholders(DECLARED_COLUMNS)})`,
      ...declaredValues(name, job, now),
    );
  }
}

/** Returns the ids in the order of the runs: `json_each` keeps the order of its list. */
function insertAll({ sql, t }: InsertContext, runs: NewRunValue[][]): number[] {
  const { text, params } = insertion({ rows }, t, NEW_RUN, runs);
  const inserted = sql.select<{ id: number }>(`${text} where true returning id`, ...params);
  return inserted.map((row) => row.id).sort((a, b) => a - b);
}

function insertUnique(context: InsertContext, run: NewRun, key: string): InsertResult {
  const { sql, t, now } = context;
  sql.select(
    `update ${t.runs} set unique_key = null where unique_key = ? and unique_scope = ${UNIQUE_SCOPE.window} and unique_until <= ?`,
    key,
    now,
  );
  const holder =
    sql.row<{ id: number }>(`select id from ${t.runs} where unique_key = ?`, key) ??
    sql.row<{ id: number }>(
      `select id from ${t.history} where unique_key = ? and unique_until > ? order by unique_until desc limit 1`,
      key,
      now,
    );
  if (holder) return { id: holder.id, inserted: false };
  const [id] = insertAll(context, [toValues(run, now)]);
  return { id: id!, inserted: true };
}
