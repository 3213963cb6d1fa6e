import { BEFORE_PARAMETER, SECRET_PARAMETERS, URL_WITH_USER } from "../../run/redact.ts";
import { isFinished, type RunState, stateCodes } from "../../run/states.ts";
import {
  LATE_AFTER,
  type NumberMatch,
  type RunAspect,
  type RunCondition,
  type TextMatch,
} from "../search.ts";
import type { Database, Statement, Tables } from "./database.ts";

/** The tables that a search reads: unfinished and finished runs. */
export type RunTable = "runs" | "history";

/** Everything that the SQL of a condition depends on. In every statement the searched table has the alias `r`. */
export interface ClauseContext {
  db: Database;
  t: Tables;
  table: RunTable;
  now: number;
}

/** PostgreSQL refuses to compare an integer column with a larger number. */
const LARGEST_INTEGER = 2 ** 31 - 1;

const NEVER: Statement = { text: "1 = 0", params: [] };
const ALWAYS: Statement = { text: "1 = 1", params: [] };

/** Returns a condition as SQL. A comparison with null does not hold, so its negation does. */
export function toClause(context: ClauseContext, condition: RunCondition): Statement {
  const clause = positive(context, condition);
  if (!condition.not) return clause;
  return { text: `not coalesce((${clause.text}), false)`, params: clause.params };
}

function positive(context: ClauseContext, condition: RunCondition): Statement {
  const { table, now } = context;
  switch (condition.field) {
    case "state":
      return states(condition.any.filter((state) => isFinished(state) === (table === "history")));
    case "aspect":
      return any(condition.any.map((one) => aspect(context, one)));
    case "schedule":
      return any(
        condition.any.map((match) =>
          "id" in match
            ? { text: "r.schedule = ?", params: [match.id] }
            : within(
                `r.schedule in (select s.id from ${context.t.schedules} s where `,
                matches(context, { text: "s.job", params: [] }, match),
                ")",
              ),
        ),
      );
    case "payload": {
      const value = context.db.scalar("r.args", condition.path);
      return matchesAny(context, value, condition);
    }
    case "at":
      return bounds(table === "history" ? "r.finished_at" : "r.created_at", condition);
    case "finished":
      return table === "history" ? bounds("r.finished_at", condition) : ALWAYS;
    case "text":
      return freeText(context, condition);
    case "tag":
      return any(
        condition.any.map((match) =>
          "is" in match ? { text: context.db.hasTag, params: [match.is] } : NEVER,
        ),
      );
    case "worker":
      return any(condition.any.map((match) => workerClause(context, match)));
    case "error":
    case "errortype":
    case "fingerprint":
    case "job":
    case "queue":
    case "key":
    case "batch": {
      return matchesAny(context, text(context, condition.field), condition);
    }
    default: {
      const column = number(table, now, condition.field);
      const most = condition.field === "attempt" ? LARGEST_INTEGER : Number.MAX_SAFE_INTEGER;
      return any(
        condition.any.map(({ op, value }) => compares(column, { op, value: Math.min(value, most) })),
      );
    }
  }
}

/** Conditions of the states that are not those of the row: a claimed run is ready until its start is written. */
const STATES: Partial<Record<RunState, string>> = {
  ready: "(r.state = 1 or (r.state = 2 and r.started_at is null))",
  running: "(r.state = 2 and r.started_at is not null)",
};

function states(states: RunState[]): Statement {
  if (states.length === 0) return NEVER;
  return any(
    states.map((state) => ({ text: STATES[state] ?? `r.state = ${stateCodes[state]}`, params: [] })),
  );
}

function aspect({ table, now }: ClauseContext, one: RunAspect): Statement {
  if (table === "history") return NEVER;
  const unstarted = "(r.state in (0, 1) or r.started_at is null)";
  switch (one) {
    case "due":
      return { text: `(${unstarted} and r.run_at <= ?)`, params: [now] };
    case "late":
      return { text: `(${unstarted} and r.run_at < ?)`, params: [now - LATE_AFTER] };
    case "retrying":
      return { text: "(r.state in (0, 1) and r.attempts > 0)", params: [] };
    case "cancelling":
      return { text: "(r.state = 2 and r.cancelled_at is not null)", params: [] };
  }
}

function text(
  context: ClauseContext,
  field: "job" | "queue" | "key" | "batch" | "error" | "errortype" | "fingerprint",
): Statement {
  switch (field) {
    case "job":
      return { text: "r.name", params: [] };
    case "queue":
      return { text: "r.queue", params: [] };
    case "batch":
      return { text: "r.batch_id", params: [] };
    case "key":
      return {
        text: `(case when r.owner is null then nullif(${context.db.key}, '') end)`,
        params: [],
      };
    case "error":
      return ofError(context, "message");
    case "errortype":
      return ofError(context, "name", "'Error'");
    case "fingerprint":
      return context.table === "history"
        ? { text: "r.fingerprint", params: [] }
        : { text: context.db.text, params: [null] };
  }
}

/** A part of the error, which is JSON. Any other text counts as the message. */
function ofError({ db, t, table }: ClauseContext, part: string, otherwise?: string): Statement {
  const column = table === "history" ? "r.error" : "a.error";
  const { text, params } = db.scalar(column, [part]);
  const ours = `case when ${column} like '{"name":%' then ${text} end`;
  const value = `case when ${column} is not null then coalesce(${ours}, ${otherwise ?? column}) end`;
  const last = `from ${t.attempts} a where a.run_id = r.id order by a.attempt desc limit 1`;
  return { text: table === "history" ? `(${value})` : `(select ${value} ${last})`, params };
}

function workerClause(context: ClauseContext, match: TextMatch): Statement {
  const column = context.table === "history" ? "r.worker" : "r.locked_by";
  const of = (text: string) => matches(context, { text, params: [] }, match);
  const [id, host, address] = [of(column), of("w.host"), of("concat(w.host, ':', w.pid)")];
  return {
    text: `(${id.text} or ${column} in (select w.id from ${context.t.workers} w where ${host.text} or ${address.text}))`,
    params: [...id.params, ...host.params, ...address.params],
  };
}

function freeText(
  context: ClauseContext,
  { pieces, redacted }: { pieces: string[]; redacted?: boolean },
): Statement {
  const part = { like: ["", ...pieces, ""] };
  const found = [
    matches(context, text(context, "job"), part),
    matchesAny(context, text(context, "error"), { field: "error", any: [part], redacted }),
  ];
  const [only] = pieces;
  const id = pieces.length === 1 && /^\d{1,15}$/.test(only!) ? Number(only) : null;
  if (id !== null) found.unshift({ text: "r.id = ?", params: [id] });
  return any(found);
}

function number(
  table: RunTable,
  now: number,
  field: "id" | "parent" | "rerun" | "attempt" | "took" | "waited",
): Statement {
  switch (field) {
    case "id":
      return { text: "r.id", params: [] };
    case "parent":
      return { text: "r.parent_id", params: [] };
    case "rerun":
      return { text: "r.rerun_of", params: [] };
    case "attempt":
      return { text: "r.attempts", params: [] };
    case "took":
      return table === "history"
        ? { text: "(r.finished_at - r.started_at)", params: [] }
        : { text: "(case when r.state = 2 then ? - r.started_at end)", params: [now] };
    case "waited":
      return table === "history"
        ? { text: "(r.started_at - r.run_at)", params: [] }
        : {
            text: "(case when r.state = 2 then r.started_at - r.run_at when r.run_at <= ? then ? - r.run_at end)",
            params: [now, now],
          };
  }
}

/** Fields whose texts may contain secrets. */
const SECRETIVE = ["payload", "error"];

function matchesAny(
  context: ClauseContext,
  column: Statement,
  { field, any: values, redacted }: { field: string; any: TextMatch[]; redacted?: boolean | undefined },
): Statement {
  const found = any(values.map((match) => matches(context, column, match)));
  if (!redacted || !SECRETIVE.includes(field)) return found;
  const { text, params } = mayHideSecret(context, column);
  return joined([found, { text: `not ${text}`, params }], " and ");
}

/** Whether a text may contain what `withoutPasswords()` hides. */
function mayHideSecret(context: ClauseContext, column: Statement): Statement {
  const lower = { ...column, text: context.db.lower(column.text) };
  const contains = (pieces: readonly string[]) => matches(context, lower, { like: ["", ...pieces, ""] });
  const parameter = joined(
    [any(BEFORE_PARAMETER.map((one) => contains([one]))), any(SECRET_PARAMETERS.map(contains))],
    " and ",
  );
  return any([contains(URL_WITH_USER), parameter]);
}

function matches({ db }: ClauseContext, column: Statement, match: TextMatch): Statement {
  return "is" in match
    ? { text: `${column.text} = ?`, params: [...column.params, match.is] }
    : { text: db.like(column.text), params: [...column.params, db.pattern(match.like)] };
}

function compares(column: Statement, { op, value }: NumberMatch): Statement {
  return { text: `${column.text} ${op} ?`, params: [...column.params, value] };
}

function bounds(column: string, { from, to }: { from?: number; to?: number }): Statement {
  const parts: Statement[] = [];
  if (from !== undefined) parts.push({ text: `${column} >= ?`, params: [from] });
  if (to !== undefined) parts.push({ text: `${column} < ?`, params: [to] });
  return parts.length === 0 ? ALWAYS : joined(parts, " and ");
}

function within(before: string, { text, params }: Statement, after: string): Statement {
  return { text: `${before}${text}${after}`, params };
}

function any(parts: Statement[]): Statement {
  return parts.length === 0 ? NEVER : joined(parts, " or ");
}

export function joined(parts: Statement[], by: " and " | " or "): Statement {
  if (parts.length === 1) return parts[0]!;
  return {
    text: `(${parts.map(({ text }) => text).join(by)})`,
    params: parts.flatMap(({ params }) => params),
  };
}
