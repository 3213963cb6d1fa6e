import type { NewRun } from "../store.ts";
import {
  type ColumnType,
  type Database,
  type Param,
  placeholders,
  type Statement,
  type Tables,
} from "./database.ts";
import { limitHint } from "./limit-hint.ts";
import { rowSource } from "./row-source.ts";
import { TextCache } from "./text-cache.ts";

/** Columns of a new run, without the id and the limit hint. The arguments come first: they differ most between runs. */
export const NEW_RUN: Record<string, ColumnType> = {
  args: "text",
  name: "text",
  queue: "text",
  lane: "text",
  priority: "integer",
  run_at: "integer",
  state: "integer",
  timeout: "integer",
  retries: "text",
  unique_key: "text",
  unique_scope: "integer",
  unique_until: "integer",
  owner: "text",
  tags: "text",
  parent_id: "integer",
  rerun_of: "integer",
  batch_id: "text",
  expires_at: "integer",
  traceparent: "text",
  created_at: "integer",
  cost: "integer",
};

export type NewRunValue = string | number | null;

/** Returns the values of a new run, in the order of `NEW_RUN`. */
export function toValues(run: NewRun, now: number): NewRunValue[] {
  const runAt = run.runAt ?? now + run.delay;
  return [
    run.args,
    run.name,
    run.queue,
    run.lane,
    run.priority,
    runAt,
    runAt > now ? 0 : 1,
    run.timeout,
    run.retries,
    run.unique?.key ?? null,
    run.unique
      ? run.unique.until === "started"
        ? UNIQUE_SCOPE.untilStarted
        : UNIQUE_SCOPE.untilFinished
      : null,
    run.unique && run.unique.for > 0 ? now + run.unique.for : null,
    run.owner,
    run.tags.length > 0 ? JSON.stringify(run.tags) : null,
    run.parentId,
    run.rerunOf ?? null,
    run.batchId,
    run.expires === null ? null : now + run.expires,
    run.traceparent,
    now,
    run.cost ?? null,
  ];
}

/**
 * An `insert … select` of runs. The database computes the limit hint from the rows of jobs and queues, unless
 * `limited` is one of the columns. Leaves out columns that no run sets: a usual dispatch sets 9 of 22.
 */
export function insertion(
  db: Pick<Database, "rows">,
  t: Tables,
  columns: Record<string, ColumnType>,
  rows: NewRunValue[][],
): Statement {
  const [row] = rows;
  if (rows.length > 1 || !row) return buildInsertion(db, t, columns, rows);
  // The text of a single run depends on the columns that it sets, and on nothing else.
  const names = Object.keys(columns).filter((_, index) => row[index] !== null);
  const text = singleTexts.get(`${t.runs} ${names}`, () => buildInsertion(db, t, columns, rows).text);
  const values = row.filter((value) => value !== null);
  const hasHint = !names.includes("limited") && !names.includes("owner");
  const bound = hasHint ? ["name", "queue"].map((column) => values[names.indexOf(column)]!) : [];
  return { text, params: [...values, ...bound] };
}

const singleTexts = new TextCache();

function buildInsertion(
  db: Pick<Database, "rows">,
  t: Tables,
  columns: Record<string, ColumnType>,
  rows: NewRunValue[][],
): Statement {
  const isSet = Object.keys(columns).map((_, index) => rows.some((row) => row[index] !== null));
  const names = Object.keys(columns).filter((_, index) => isSet[index]);
  const { values, from, params, list } = valueSource(
    db,
    Object.fromEntries(names.map((name) => [name, columns[name]!])),
    rows.map((row) => row.filter((_, index) => isSet[index])),
  );
  const into = `insert into ${t.runs} (${names.join(", ")}`;
  if (names.includes("limited"))
    return { text: `${into}) select ${values.join(", ")}${from}`, params: [...params, ...list] };
  const isShared = (column: string) => values[names.indexOf(column)] === "?";
  const shared = (column: string) => rows[0]![Object.keys(columns).indexOf(column)]!;
  // A value that all rows share is a parameter, so that the database looks up its limits once.
  const value = (column: string) => (isShared(column) ? "?" : `v.${column}`);
  const mixed = names.includes("owner") && !isShared("owner");
  const isOwned = names.includes("owner") && !mixed;
  const bound = { name: value("name"), queue: value("queue"), ...(mixed && { owner: "v.owner" }) };
  const limited = isOwned ? "0" : limitHint(t, bound);
  const constants = isOwned ? [] : ["name", "queue"].filter(isShared).map(shared);
  return {
    text: `${into}, limited) select ${values.join(", ")}, ${limited}${from}`,
    params: [...params, ...constants, ...list],
  };
}

/** As `rowSource`. A single row needs no list: all its values are parameters. */
function valueSource(
  db: Pick<Database, "rows">,
  columns: Record<string, ColumnType>,
  rows: NewRunValue[][],
): { values: string[]; from: string; params: Param[]; list: Param[] } {
  if (rows.length === 1)
    return { values: placeholders(rows[0]!).split(", "), from: "", params: rows[0]!, list: [] };
  const { values, rows: listed, params } = rowSource(db, columns, rows);
  return { values, from: ` from ${listed} v`, params: params.slice(0, -1), list: params.slice(-1) };
}

/**
 * The column `unique_scope`: until when a run holds its unique key. A key that is held until the start is held only for
 * its window (`unique_until`) once the run has started.
 */
export const UNIQUE_SCOPE = { window: 0, untilStarted: 1, untilFinished: 2 } as const;

/** New values of the key's columns when a run is claimed. The order matters: MySQL reads the values it has just set. */
export function keyAtStart(now: string): Record<"unique_key" | "unique_scope", string> {
  const { window, untilStarted } = UNIQUE_SCOPE;
  return {
    unique_key: `case when unique_scope = ${untilStarted} and coalesce(unique_until, 0) <= ${now} then null else unique_key end`,
    unique_scope: `case when unique_scope = ${untilStarted} then ${window} else unique_scope end`,
  };
}
