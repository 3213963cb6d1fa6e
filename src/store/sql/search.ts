import { isFinished, type RunState, stateCodes } from "../../run/states.ts";
import type { NumberMatch, RunCondition, RunCount, RunPage, RunSearch } from "../search.ts";
import { batchOf } from "./batch-tally.ts";
import { withChildRange } from "./child-range.ts";
import { type ClauseContext, joined, type RunTable, toClause } from "./conditions.ts";
import type { SqlContext } from "./context.ts";
import { type Database, first, type Param, type Statement } from "./database.ts";
import { FINISHED_COLUMNS, type RecordRow, toRecord, UNFINISHED_COLUMNS } from "./run-records.ts";

/**
 * Rows of a table that each statement of a search reads at most, one number for each statement: a search that finds
 * nothing must not block the database. The first window is small because most pages are full before its end.
 */
const WINDOWS = [1000, ...Array<number>(10).fill(10_000)];

/** How to search one of the two tables. */
interface SearchPlan {
  table: RunTable;
  /** All conditions, as SQL. */
  clause: Statement;
  /** The condition for which an index gives rows in the order of ids. */
  driver: Statement;
  /** The index of `driver`; undefined: one that no planner misses. */
  index?: "name" | "failed" | "primary";
  /** Whether the rows that satisfy `driver` are few enough for one statement to read all of them. */
  few: boolean;
  /** Whether `driver` names a batch: then windows are of its members, and `m.run_id` is the id. */
  isOfBatch?: boolean;
}

/**
 * Returns a page of runs, the newest first. A page continues from the last id of the previous one, without `offset`.
 */
export async function search(sql: SqlContext, request: RunSearch, now: number): Promise<RunPage> {
  const found = new Map<number, RecordRow>();
  // The id down to which both tables were searched.
  let reached = 0;
  const members = await membersOf(sql, request.where);
  for (const plan of plansOf(sql, await withChildRange(sql, request.where), now, members)) {
    const columns = plan.table === "runs" ? UNFINISHED_COLUMNS : FINISHED_COLUMNS;
    const rows: RecordRow[] = [];
    const end = await searchWindows(sql, plan, request.before ?? null, async ({ text, params }) => {
      const order = plan.few ? "r.id + 0" : idOf(plan);
      rows.push(
        ...(await sql.all<RecordRow>(
          `select ${columns} from ${from(sql, plan)} where ${text} order by ${order} desc limit ?`,
          ...params,
          request.limit - rows.length,
        )),
      );
      return rows.length < request.limit;
    });
    reached = Math.max(reached, rows.length < request.limit ? end : rows.at(-1)!.id);
    // A run that finished between the two statements was found twice: the finished record counts.
    for (const row of rows) found.set(row.id, row);
  }
  const runs = [...found.values()]
    .filter(({ id }) => id >= reached)
    .sort((a, b) => b.id - a.id)
    .slice(0, request.limit)
    .map(toRecord);
  const full = runs.length === request.limit;
  return { runs, next: full ? runs.at(-1)!.id : reached > 0 ? reached : null };
}

/** Counts the runs that satisfy the conditions, up to `cap`. */
export async function count(
  sql: SqlContext,
  where: RunCondition[],
  cap: number,
  now: number,
): Promise<RunCount> {
  let total = 0;
  let left = false;
  const members = await membersOf(sql, where);
  for (const plan of plansOf(sql, await withChildRange(sql, where), now, members)) {
    const end = await searchWindows(sql, plan, null, async ({ text, params }) => {
      const row = await first(
        sql.all<{ n: number }>(
          `select count(*) as n from (select 1 as one from ${from(sql, plan)} where ${text} limit ?) as found`,
          ...params,
          cap + 1 - total,
        ),
      );
      total += row?.n ?? 0;
      return total <= cap;
    });
    left ||= end > 0;
  }
  return { count: Math.min(total, cap), capped: left || total > cap };
}

/**
 * Calls `look` with the conditions for one window of rows after another, the newest first, until it returns false.
 * Returns the id down to which every row was searched; 0: the whole table.
 */
async function searchWindows(
  sql: SqlContext,
  plan: SearchPlan,
  before: number | null,
  look: (where: Statement) => Promise<boolean>,
): Promise<number> {
  const { clause, driver, few } = plan;
  const id = idOf(plan);
  const below = (bound: number | null): Statement[] =>
    bound === null ? [] : [{ text: `${id} < ?`, params: [bound] }];
  if (few) {
    await look(joined([clause, ...below(before)], " and "));
    return 0;
  }
  const source = plan.isOfBatch ? `${sql.t.batch_members} m` : from(sql, plan);
  let top = before;
  for (const size of WINDOWS) {
    const range = joined([driver, ...below(top)], " and ");
    const floor = await first(
      sql.all<{ id: number }>(
        `select ${id} as id from ${source} where ${range.text} order by ${id} desc limit 1 offset ${size - 1}`,
        ...range.params,
      ),
    );
    const bottom = floor ? [{ text: `${id} >= ?`, params: [floor.id] }] : [];
    const more = await look(joined([clause, ...below(top), ...bottom], " and "));
    if (!floor) return 0;
    top = floor.id;
    if (!more) break;
  }
  return top!;
}

/** The column of the ids along which a plan reads. */
function idOf({ isOfBatch }: Pick<SearchPlan, "isOfBatch">): string {
  return isOfBatch ? "m.run_id" : "r.id";
}

/** The table as `r`, with the hint to use the index of the plan; for a batch, joined to its members. */
function from({ db, t }: SqlContext, { table, index, isOfBatch }: SearchPlan): string {
  if (isOfBatch) return db.runsOfMembers(t.batch_members, t[table]);
  return `${t[table]} r${index ? db.using(t[table], index) : ""}`;
}

function plansOf(
  sql: SqlContext,
  where: RunCondition[],
  now: number,
  members: Statement | null,
): SearchPlan[] {
  const { db, t } = sql;
  const states = statesOf(where);
  const tables: RunTable[] = ["runs", "history"];
  return tables.flatMap((table) => {
    const here = states.filter((state) => isFinished(state) === (table === "history"));
    if (here.length === 0) return [];
    const context: ClauseContext = { db, t, table, now };
    const found = members
      ? { driver: members, few: false, isOfBatch: true }
      : driverOf(db, table, here, where);
    const driver = joined([found.driver, ...idBounds(where, idOf(found))], " and ");
    const clause = joined([driver, ...where.map((one) => toClause(context, one))], " and ");
    return [{ table, clause, ...found, driver }];
  });
}

/** Returns the states that the conditions allow. */
function statesOf(where: RunCondition[]): RunState[] {
  let left = Object.keys(stateCodes) as RunState[];
  for (const condition of where) {
    // Only the error of a failed run has a fingerprint.
    if (condition.field === "fingerprint" && !condition.not)
      left = left.filter((state) => state === "failed");
    if (condition.field !== "state") continue;
    left = left.filter((state) => condition.any.includes(state) !== (condition.not ?? false));
  }
  return left;
}

/**
 * Chooses the condition to read a table by. Running runs are few. History has an index by job and id, and one by id for
 * failed runs. With `indexesLinks` it has more: by parent, by rerun, and of failed runs by job.
 */
function driverOf(
  db: Database,
  table: RunTable,
  states: RunState[],
  where: RunCondition[],
): Pick<SearchPlan, "driver" | "few" | "index" | "isOfBatch"> {
  const linked = linkedTo(db, where);
  if (linked) return { driver: linked, few: false };
  const isFailed = states.every((state) => state === "failed");
  const along = (text: string, ...params: Param[]) => ({ driver: { text, params }, few: false });
  for (const condition of where) {
    if (condition.not) continue;
    if (condition.field === "id" && condition.any.every(({ op }) => op === "=")) {
      return { ...along("1 = 1"), few: true };
    }
    const [only, ...others] = condition.field === "job" ? condition.any : [];
    if (table === "runs" || !only || others.length > 0 || !("is" in only)) continue;
    if (!isFailed) return { ...along("r.name = ?", only.is), index: "name" };
    if (db.indexesLinks) return along("r.name = ? and r.state = 4", only.is);
  }
  if (states.every((state) => state === "running")) return { ...along("r.state = 2"), few: true };
  // Without the hint MySQL reads all scheduled runs for each window of a count of them.
  return isFailed ? { ...along("r.state = 4"), index: "failed" } : { ...along("1 = 1"), index: "primary" };
}

/** Returns the condition for the members of the one batch that is named, if there is such a batch. */
async function membersOf(sql: SqlContext, where: RunCondition[]): Promise<Statement | null> {
  const { t } = sql;
  for (const condition of where) {
    if (condition.field !== "batch" || condition.not || condition.any.length !== 1) continue;
    const [only] = condition.any;
    const batch = only && "is" in only ? batchOf(only.is) : null;
    if (batch === null) continue;
    const known = await sql.all(`select id from ${t.batches} where id = ?`, batch);
    if (known.length === 0) return null;
    return { text: "m.batch = ?", params: [batch] };
  }
  return null;
}

/** Returns the conditions that bound the id: every index of a search has the id as its last column. */
function idBounds(where: RunCondition[], id: string): Statement[] {
  return where.flatMap((condition) => {
    if (condition.field !== "id" || condition.not || condition.any.length !== 1) return [];
    const { op, value } = condition.any[0]!;
    return [{ text: `${id} ${op} ?`, params: [value] }];
  });
}

/** Returns the condition that names one parent or rerun, where the table has an index for it. */
function linkedTo(db: Database, where: RunCondition[]): Statement | null {
  if (!db.indexesLinks) return null;
  for (const condition of where) {
    if (condition.not || !("any" in condition) || condition.any.length !== 1) continue;
    const [only] = condition.any;
    if (condition.field !== "parent" && condition.field !== "rerun") continue;
    const { op, value } = only as NumberMatch;
    if (op === "=")
      return { text: `r.${condition.field === "parent" ? "parent_id" : "rerun_of"} = ?`, params: [value] };
  }
  return null;
}
