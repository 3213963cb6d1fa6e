import { isFinished, type RunState, stateCodes } from "../../run/states.ts";
import {
  LATE_AFTER,
  type NumberMatch,
  type RunAspect,
  type RunCondition,
  type TextMatch,
} from "../search.ts";
import type { Database, Statement, Tables } from "./database.ts";

/** Where runs are looked for: those that are not finished, and those that are. */
export type Arm = "runs" | "history";

/** What the conditions are put together from. In every statement the searched table is called `r`. */
export interface Asked {
  db: Database;
  t: Tables;
  arm: Arm;
  now: number;
}

/** PostgreSQL refuses to compare a column with what it cannot hold. */
const LARGEST = 2 ** 31 - 1;

const NEVER: Statement = { text: "1 = 0", params: [] };
const ALWAYS: Statement = { text: "1 = 1", params: [] };

/** The condition as SQL. What is null is neither this nor that, so its negation holds. */
export function toClause(asked: Asked, condition: RunCondition): Statement {
  const clause = positive(asked, condition);
  if (!condition.not) return clause;
  return { text: `not coalesce((${clause.text}), false)`, params: clause.params };
}

function positive(asked: Asked, condition: RunCondition): Statement {
  const { arm, now } = asked;
  switch (condition.field) {
    case "state":
      return states(condition.any.filter((state) => isFinished(state) === (arm === "history")));
    case "being":
      return any(condition.any.map((being) => beings(asked, being)));
    case "schedule":
      return any(
        condition.any.map((match) =>
          "id" in match
            ? { text: "r.schedule = ?", params: [match.id] }
            : within(
                `r.schedule in (select s.id from ${asked.t.schedules} s where `,
                matches(asked, { text: "s.job", params: [] }, match),
                ")",
              ),
        ),
      );
    case "payload": {
      const value = asked.db.scalar("r.args", condition.path);
      return any(condition.any.map((match) => matches(asked, value, match)));
    }
    case "at":
      return bounds(arm === "history" ? "r.finished_at" : "r.created_at", condition);
    case "finished":
      return arm === "history" ? bounds("r.finished_at", condition) : ALWAYS;
    case "text":
      return freeText(asked, condition.pieces);
    case "tag":
      return any(
        condition.any.map((match) => ("is" in match ? { text: asked.db.hasTag, params: [match.is] } : NEVER)),
      );
    case "worker":
      return any(condition.any.map((match) => worker(asked, match)));
    case "error":
    case "errortype":
    case "job":
    case "queue":
    case "key":
    case "batch": {
      const column = text(asked, condition.field);
      return any(condition.any.map((match) => matches(asked, column, match)));
    }
    default: {
      const column = number(arm, now, condition.field);
      const most = condition.field === "attempt" ? LARGEST : Number.MAX_SAFE_INTEGER;
      return any(
        condition.any.map(({ op, value }) => compares(column, { op, value: Math.min(value, most) })),
      );
    }
  }
}

function states(states: RunState[]): Statement {
  if (states.length === 0) return NEVER;
  return { text: `r.state in (${states.map((state) => stateCodes[state]).join(", ")})`, params: [] };
}

function beings({ arm, now }: Asked, being: RunAspect): Statement {
  if (arm === "history") return NEVER;
  switch (being) {
    case "late":
      return { text: "(r.state in (0, 1) and r.run_at < ?)", params: [now - LATE_AFTER] };
    case "retrying":
      return { text: "(r.state in (0, 1) and r.attempts > 0)", params: [] };
    case "cancelling":
      return { text: "(r.state = 2 and r.cancelled_at is not null)", params: [] };
  }
}

function text(asked: Asked, field: "job" | "queue" | "key" | "batch" | "error" | "errortype"): Statement {
  switch (field) {
    case "job":
      return { text: "r.name", params: [] };
    case "queue":
      return { text: "r.queue", params: [] };
    case "batch":
      return { text: "r.batch_id", params: [] };
    case "key":
      return {
        text: `(case when r.owner is null then nullif(${asked.db.key}, '') end)`,
        params: [],
      };
    case "error":
      return ofError(asked, "message");
    case "errortype":
      return ofError(asked, "name", "'Error'");
  }
}

/** A part of the error, which is JSON; a text that is not ours is taken as a message. */
function ofError({ db, t, arm }: Asked, part: string, otherwise?: string): Statement {
  const column = arm === "history" ? "r.error" : "a.error";
  const { text, params } = db.scalar(column, [part]);
  const ours = `case when ${column} like '{"name":%' then ${text} end`;
  const value = `case when ${column} is not null then coalesce(${ours}, ${otherwise ?? column}) end`;
  const last = `from ${t.attempts} a where a.run_id = r.id order by a.attempt desc limit 1`;
  return { text: arm === "history" ? `(${value})` : `(select ${value} ${last})`, params };
}

function worker(asked: Asked, match: TextMatch): Statement {
  const column = asked.arm === "history" ? "r.worker" : "r.locked_by";
  const of = (text: string) => matches(asked, { text, params: [] }, match);
  const [id, host, place] = [of(column), of("w.host"), of("concat(w.host, ':', w.pid)")];
  return {
    text: `(${id.text} or ${column} in (select w.id from ${asked.t.workers} w where ${host.text} or ${place.text}))`,
    params: [...id.params, ...host.params, ...place.params],
  };
}

function freeText(asked: Asked, pieces: string[]): Statement {
  const part = { like: ["", ...pieces, ""] };
  const found = [matches(asked, text(asked, "job"), part), matches(asked, text(asked, "error"), part)];
  const [only] = pieces;
  const id = pieces.length === 1 && /^\d{1,15}$/.test(only!) ? Number(only) : null;
  if (id !== null) found.unshift({ text: "r.id = ?", params: [id] });
  return any(found);
}

function number(arm: Arm, now: number, field: "id" | "parent" | "attempt" | "took" | "waited"): Statement {
  switch (field) {
    case "id":
      return { text: "r.id", params: [] };
    case "parent":
      return { text: "r.parent_id", params: [] };
    case "attempt":
      return { text: "r.attempts", params: [] };
    case "took":
      return arm === "history"
        ? { text: "(r.finished_at - r.started_at)", params: [] }
        : { text: "(case when r.state = 2 then ? - r.started_at end)", params: [now] };
    case "waited":
      return arm === "history"
        ? { text: "(r.started_at - r.run_at)", params: [] }
        : {
            text: "(case when r.state = 2 then r.started_at - r.run_at when r.run_at <= ? then ? - r.run_at end)",
            params: [now, now],
          };
  }
}

function matches({ db }: Asked, column: Statement, match: TextMatch): Statement {
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
