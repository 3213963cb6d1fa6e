import type { Param, Statement, Tables } from "../sql/database.ts";
import { using } from "./dialect.ts";

/**
 * The different values of a column are found by hops along an index: the least one, the least above it, and so on. Each
 * of these hops is a step that the server makes before it plans anything. What comes after them is left to its own
 * way of hopping, "using index for group-by", which it leaves off when its statistics are those of an emptier table:
 * then it reads through all ready runs.
 */
const SURE = 3;

/** Two statements, or parts of them, as one. */
function sql(strings: TemplateStringsArray, ...parts: (Statement | string)[]): Statement {
  const params: Param[] = [];
  let text = strings[0]!;
  for (const [index, part] of parts.entries()) {
    text += (typeof part === "string" ? part : part.text) + strings[index + 1]!;
    if (typeof part !== "string") params.push(...part.params);
  }
  return { text, params };
}

function param(value: Param): Statement {
  return { text: "?", params: [value] };
}

function unionAll(arms: Statement[]): Statement {
  return {
    text: arms.map(({ text }) => text).join(" union all "),
    params: arms.flatMap(({ params }) => params),
  };
}

/** Each of the first values of a column among the rows of `from`, which ends with a condition; and the condition for those behind. */
function hop(column: string, from: Statement, start = sql``): { firsts: Statement[]; behind: Statement } {
  const firsts: Statement[] = [];
  let behind = start;
  for (let step = 0; step < SURE; step++) {
    const least = sql`select min(${column}) as ${column} ${from}${behind}`;
    firsts.push(least);
    behind = sql` and ${column} > (${least})`;
  }
  return { firsts, behind };
}

export function readyQueues(t: Tables): string {
  const found = (limited: "0" | "1"): Statement => {
    const from = sql`from ${t.runs}${using(t.runs, "ready")} where state = 1 and limited = ${limited} and owner is null`;
    const { firsts, behind } = hop("queue", from);
    const rest = sql`select queue, ${limited} as limited ${from}${behind} group by state, limited, owner, queue`;
    const arm = (least: Statement) =>
      sql`select queue, ${limited} as limited from (${least}) least where queue is not null`;
    return unionAll([...firsts.map(arm), rest]);
  };
  return unionAll([found("0"), found("1")]).text;
}

/** First those of the place's own priority, then those of the next one, then the others. */
export function readyLanes(
  t: Tables,
  queue: string,
  after: { priority: number; lane: string },
  count: number,
): Statement {
  const from = sql`from ${t.runs}${using(t.runs, "lanes")} where state = 1 and limited = 1 and queue = ${param(queue)}`;
  // By `distinct`, which comes in the order of the index and stops at the limit; with `group by` MariaDB reads all lanes first.
  const rest = (where: Statement) =>
    sql`select priority, lane from (select distinct state, limited, queue, priority, lane ${from}${where} limit ${param(count)}) rest`;
  const ofPriority = (priority: Statement, start?: Statement) => {
    const { firsts, behind } = hop("lane", sql`${from} and priority = ${priority}`, start);
    const arm = (least: Statement) =>
      sql`select ${priority} as priority, lane from (${least}) least where lane is not null`;
    return unionAll([...firsts.map(arm), rest(sql` and priority = ${priority}${behind}`)]);
  };
  const later = sql` and priority > ${param(after.priority)}`;
  const next = sql`(select min(priority) ${from}${later})`;
  const all = unionAll([
    ofPriority(param(after.priority), sql` and lane > ${param(after.lane)}`),
    ofPriority(next),
    rest(sql` and priority > ${next}`),
  ]);
  return sql`select priority, lane from (${all}) lanes order by priority, lane limit ${param(count)}`;
}
