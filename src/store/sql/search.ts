import { isFinished, type RunState, stateCodes } from "../../run/states.ts";
import type { RunCondition, RunCount, RunPage, RunSearch } from "../search.ts";
import { type Arm, type Asked, joined, toClause } from "./conditions.ts";
import type { SqlContext } from "./context.ts";
import { first, type Param, type Statement } from "./database.ts";
import { FINISHED_COLUMNS, type RecordRow, toRecord, UNFINISHED_COLUMNS } from "./run-records.ts";

/**
 * How many rows of a table one statement looks through at most, and how many such statements one search makes: what
 * is not to be found must not hold up the database. The first is short: most pages are full before its end.
 */
const WINDOWS = [1000, ...Array<number>(10).fill(10_000)];

interface Plan {
  arm: Arm;
  table: string;
  clause: Statement;
  /** What the table is read along, in the order of ids. */
  driver: Statement;
  /** There are not enough of these to be read in parts. */
  few: boolean;
}

/** Newest first, by id: a page is found from the last id of the one before, never counted off. */
export async function search(sql: SqlContext, request: RunSearch, now: number): Promise<RunPage> {
  const found = new Map<number, RecordRow>();
  // Down to here everything was looked through, in both tables.
  let reached = 0;
  for (const plan of plansOf(sql, request.where, now)) {
    const columns = plan.arm === "runs" ? UNFINISHED_COLUMNS : FINISHED_COLUMNS;
    const rows: RecordRow[] = [];
    const end = await walk(sql, plan, request.before ?? null, async ({ text, params }) => {
      const order = plan.few ? "r.id + 0" : "r.id";
      rows.push(
        ...(await sql.all<RecordRow>(
          `select ${columns} from ${plan.table} r where ${text} order by ${order} desc limit ?`,
          ...params,
          request.limit - rows.length,
        )),
      );
      return rows.length < request.limit;
    });
    reached = Math.max(reached, rows.length < request.limit ? end : rows.at(-1)!.id);
    // A run that finished between the two looks is what it was found as last.
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

/** How many runs there are, up to `cap`. */
export async function count(
  sql: SqlContext,
  where: RunCondition[],
  cap: number,
  now: number,
): Promise<RunCount> {
  let total = 0;
  let left = false;
  for (const plan of plansOf(sql, where, now)) {
    const end = await walk(sql, plan, null, async ({ text, params }) => {
      const row = await first(
        sql.all<{ n: number }>(
          `select count(*) as n from (select 1 as one from ${plan.table} r where ${text} limit ?) as found`,
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
 * Calls `look` with the conditions for one window of rows after another, the newest first, until it says that it has
 * enough; gives the id down to which everything was looked through, 0 for all.
 */
async function walk(
  sql: SqlContext,
  { table, clause, driver, few }: Plan,
  before: number | null,
  look: (where: Statement) => Promise<boolean>,
): Promise<number> {
  if (few) {
    await look(joined([clause, ...below(before)], " and "));
    return 0;
  }
  let top = before;
  for (const size of WINDOWS) {
    const along = joined([driver, ...below(top)], " and ");
    const floor = await first(
      sql.all<{ id: number }>(
        `select r.id from ${table} r where ${along.text} order by r.id desc limit 1 offset ${size - 1}`,
        ...along.params,
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

function below(id: number | null): Statement[] {
  return id === null ? [] : [{ text: "r.id < ?", params: [id] }];
}

function plansOf(sql: SqlContext, where: RunCondition[], now: number): Plan[] {
  const { db, t } = sql;
  const states = statesOf(where);
  const arms: Arm[] = ["runs", "history"];
  return arms.flatMap((arm) => {
    const here = states.filter((state) => isFinished(state) === (arm === "history"));
    if (here.length === 0) return [];
    const asked: Asked = { db, t, arm, now };
    const { driver, few } = driverOf(arm, here, where);
    const clause = joined([driver, ...where.map((one) => toClause(asked, one))], " and ");
    return [{ arm, table: arm === "runs" ? t.runs : t.history, clause, driver, few }];
  });
}

/** The states that a run can have under all the conditions. */
function statesOf(where: RunCondition[]): RunState[] {
  let left = Object.keys(stateCodes) as RunState[];
  for (const condition of where) {
    if (condition.field !== "state") continue;
    left = left.filter((state) => condition.any.includes(state) !== (condition.not ?? false));
  }
  return left;
}

/** Few runs run at once. What finished is in the order of ids by job, and what failed as well. */
function driverOf(arm: Arm, states: RunState[], where: RunCondition[]): Pick<Plan, "driver" | "few"> {
  const along = (text: string, ...params: Param[]) => ({ driver: { text, params }, few: false });
  for (const condition of where) {
    if (condition.not) continue;
    if (condition.field === "id" && condition.any.every(({ op }) => op === "=")) {
      return { ...along("1 = 1"), few: true };
    }
    const [only, ...others] = condition.field === "job" ? condition.any : [];
    if (arm === "history" && only && others.length === 0 && "is" in only) return along("r.name = ?", only.is);
  }
  if (states.every((state) => state === "running")) return { ...along("r.state = 2"), few: true };
  return along(states.every((state) => state === "failed") ? "r.state = 4" : "1 = 1");
}
