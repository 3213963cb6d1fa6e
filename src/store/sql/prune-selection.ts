import { stateCodes } from "../../run/states.ts";
import { yieldToEventLoop } from "../../time.ts";
import type { PruneRequest } from "../maintenance.ts";
import type { SqlContext } from "./context.ts";
import { first, type IndexRange, type Statement, type Tables } from "./database.ts";
import { joinDefiner, SEEN_AT } from "./definers.ts";

/** A condition on the rows to delete (as `r`), and how to find them. */
export interface PruneSelection extends Statement {
  table: string;
  /**
   * If no index finds the rows: the range to scan for the next batch, after the last row of the previous one, so that
   * the table is scanned once and not once for each batch. Not part of the condition that the delete repeats:
   * PostgreSQL would read the whole range again.
   */
  scan?: (after: number) => IndexRange;
}

function byId(after: number): IndexRange {
  return { text: "r.id > ?", params: [after], order: ["r.id"] };
}

/** The condition and the order that find the next rows of a selection, after an id. */
export function nextRows(after: number, { text, params, scan }: PruneSelection): Statement {
  if (!scan) return { text, params };
  const range = scan(after);
  return {
    text: `${range.text} and ${text} order by ${range.order.join(", ")}`,
    params: [...range.params, ...params],
  };
}

/** Selects waiting runs whose job no worker has defined for the time of the request; null: the request deletes none. */
export function selectOrphans(
  t: Tables,
  { orphansOlderThan, job }: PruneRequest,
  now: number,
): PruneSelection | null {
  if (orphansOlderThan === null) return null;
  const before = now - orphansOlderThan;
  const [which, value] = job ? ["name = ?", job] : ["created_at < ?", before];
  const text = `state in (0, 1) and owner is null and ${which} and name not in (select j.name from ${t.jobs} j ${joinDefiner(t)} where ${SEEN_AT} >= ?)`;
  return { table: t.runs, text, params: [value!, before], scan: byId };
}

/**
 * A condition on jobs (`j`) that no worker has defined for `unseenFor` ms and that have no unfinished runs, apart from
 * those in `but`.
 */
export function unseenJobs(
  t: Tables,
  { unseenFor, job }: { unseenFor: number; job: string | null | undefined },
  now: number,
  but?: PruneSelection | null,
): Statement {
  const kept = but ? ` where not (${but.text})` : "";
  return {
    text: `${unseenSince(t)}${job ? " and j.name = ?" : ""} and j.name not in (select name from ${t.runs}${kept})`,
    params: [now - unseenFor, now - unseenFor, ...(job ? [job] : []), ...(but?.params ?? [])],
  };
}

/** Selects the finished runs to delete. */
export async function* selectFinished(
  sql: SqlContext,
  request: PruneRequest,
  now: number,
): AsyncGenerator<PruneSelection> {
  const { t } = sql;
  const { keep } = request;
  if (typeof keep === "number") yield* selectBySurplus(sql, request, keep, now);
  else yield* selectByAge(t, request, now);
}

/** A condition: no worker has defined the job `j` since the time that is its parameter, twice. */
export function unseenSince(t: Tables): string {
  return `coalesce(j.seen_at, j.created_at) < ? and not exists (
    select 1 from ${t.workers} w where w.id = j.defined_by and w.parallel > 0 and w.seen_at >= ?)`;
}

/** A condition: the run no longer holds a unique key. */
const HOLDS_NO_KEY = "(r.unique_until is null or r.unique_until <= ?)";

/** Selects finished runs whose retention has ended, and with `finishedFor` those that finished that long ago. */
export function selectByAge(t: Tables, { finishedFor, states }: PruneRequest, now: number): PruneSelection[] {
  const table = t.history;
  const of = inStates(states);
  const over = { table, text: `r.keep_until <= ?${of}`, params: [now] };
  if (finishedFor === null) return [over];
  const old = `r.finished_at <= ? and ${HOLDS_NO_KEY}${of}`;
  return [over, { table, text: old, params: [now - finishedFor, now], scan: byId }];
}

/** Selects, for each job, the finished runs beyond the number to keep. */
export async function* selectBySurplus(
  sql: SqlContext,
  { states, finishedFor }: PruneRequest,
  keep: number,
  now: number,
): AsyncGenerator<PruneSelection> {
  const { db, t } = sql;
  const of = inStates(states);
  const old = finishedFor === null ? "" : " and r.finished_at <= ?";
  const params = [now, ...(finishedFor === null ? [] : [now - finishedFor])];
  for await (const { name, from } of surplus(sql, keep, of)) {
    const scan = (after: number) => db.historyRange(name, after, from);
    yield { table: t.history, scan, text: `${HOLDS_NO_KEY}${of}${old}`, params };
    await yieldToEventLoop();
  }
}

/** The finished runs of one job beyond the number to keep: `from` and all with smaller ids. */
interface Surplus {
  name: string;
  from: number;
}

/**
 * Finds the surplus of each job in history, by a loose index scan over names. Only runs that satisfy `counted`, a
 * condition on `r`, are counted.
 */
async function* surplus(sql: SqlContext, keep: number, counted: string): AsyncGenerator<Surplus> {
  const { db, t } = sql;
  for (let after = ""; ; ) {
    const next = await first(
      sql.all<{ name: string }>(`select name from ${t.history} where name > ? order by name limit 1`, after),
    );
    if (!next) return;
    const { name } = next;
    const { text, params, order } = db.historyRange(name, 0, Number.MAX_SAFE_INTEGER);
    const begin = await first(
      sql.all<{ id: number }>(
        `select r.id from ${t.history} r${db.using(t.history, "name")} where ${text}${counted} order by ${order.map((column) => `${column} desc`).join(", ")} limit 1 offset ?`,
        ...params,
        keep,
      ),
    );
    if (begin) yield { name, from: begin.id };
    after = name;
  }
}

function inStates(states: PruneRequest["states"]): string {
  if (!states) return "";
  return ` and r.state in (${states.map((state) => stateCodes[state]).join(", ") || "null"})`;
}
