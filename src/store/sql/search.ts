import { isFinished, type RunState, stateCodes } from "../../run/states.ts";
import type { NumberMatch, RunCondition, RunCount, RunPage, RunSearch } from "../search.ts";
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
  /** The index of `driver`; undefined: the primary key, or one that no planner misses. */
  index?: "name" | "failed";
  /** Whether the rows that satisfy `driver` are few enough for one statement to read all of them. */
  few: boolean;
}

/**
 * Returns a page of runs, the newest first. A page continues from the last id of the previous one, without `offset`.
 */
export async function search(sql: SqlContext, request: RunSearch, now: number): Promise<RunPage> {
  const found = new Map<number, RecordRow>();
  // The id down to which both tables were searched.
  let reached = 0;
  for (const plan of plansOf(sql, request.where, now)) {
    const columns = plan.table === "runs" ? UNFINISHED_COLUMNS : FINISHED_COLUMNS;
    const rows: RecordRow[] = [];
    const end = await searchWindows(sql, plan, request.before ?? null, async ({ text, params }) => {
      const order = plan.few ? "r.id + 0" : "r.id";
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
  for (const plan of plansOf(sql, where, now)) {
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
  if (few) {
    await look(joined([clause, ...below(before)], " and "));
    return 0;
  }
  let top = before;
  for (const size of WINDOWS) {
    const range = joined([driver, ...below(top)], " and ");
    const floor = await first(
      sql.all<{ id: number }>(
        `select r.id from ${from(sql, plan)} where ${range.text} order by r.id desc limit 1 offset ${size - 1}`,
        ...range.params,
      ),
    );
    const bottom = floor ? [{ text: "r.id >= ?", params: [floor.id] }] : [];
    const more = await look(joined([clause, ...below(top), ...bottom], " and "));
    if (!floor) return 0;
    top = floor.id;
    if (!more) break;
  }
  return top!;
}

/** The table as `r`, with the hint to use the index of the plan. */
function from({ db, t }: SqlContext, { table, index }: SearchPlan): string {
  return `${t[table]} r${index ? db.using(t[table], index) : ""}`;
}

function below(id: number | null): Statement[] {
  return id === null ? [] : [{ text: "r.id < ?", params: [id] }];
}

function plansOf(sql: SqlContext, where: RunCondition[], now: number): SearchPlan[] {
  const { db, t } = sql;
  const states = statesOf(where);
  const tables: RunTable[] = ["runs", "history"];
  return tables.flatMap((table) => {
    const here = states.filter((state) => isFinished(state) === (table === "history"));
    if (here.length === 0) return [];
    const context: ClauseContext = { db, t, table, now };
    const found = driverOf(db, table, here, where);
    const { driver } = found;
    const clause = joined([driver, ...where.map((one) => toClause(context, one))], " and ");
    return [{ table, clause, ...found }];
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
): Pick<SearchPlan, "driver" | "few" | "index"> {
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
  return isFailed ? { ...along("r.state = 4"), index: "failed" } : along("1 = 1");
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
