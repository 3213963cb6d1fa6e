import { PunctualError, show } from "../errors.ts";
import { parseQuery, type RunQuery } from "../query/parse.ts";
import { type RunState, stateCodes } from "../run/states.ts";
import type { RunCondition } from "../store/search.ts";
import { checkName } from "../validate/names.ts";
import { checkKeys } from "../validate/options.ts";

/** Which runs; all that is given holds. */
export interface RunsQuery {
  /** A query such as `state:failed job:send-* after:24h`; the guide has the language. */
  where?: string | undefined;
  /** What a time without an offset in the query is read in. Default: UTC. */
  timezone?: string | undefined;
  state?: RunState | RunState[] | undefined;
  job?: string | undefined;
  queue?: string | undefined;
  key?: string | undefined;
  tag?: string | undefined;
  batch?: string | undefined;
  parent?: number | undefined;
}

/** Which page of which runs. */
export interface RunsFilter extends RunsQuery {
  /** `next` of the page before. */
  before?: number | undefined;
  /** At most 1,000. Default: 50. */
  limit?: number | undefined;
}

const QUERY = ["state", "job", "queue", "key", "tag", "batch", "parent", "where", "timezone"];
const TEXTS = ["job", "queue", "key", "tag", "batch"] as const;

/** What the fields and the query ask together. A text alone is the query. */
export function toQuery(
  filter: RunsQuery | string,
  now: number,
  what: string,
  others: string[] = [],
): RunQuery {
  const asked = typeof filter === "string" ? { where: filter } : filter;
  checkKeys(asked, [...QUERY, ...others], what);
  const { where, timezone = "UTC" } = asked;
  const parsed = where === undefined ? null : parseQuery(where, { now, zone: timezone });
  const fields = fieldsOf(asked, what);
  return { where: [...fields, ...(parsed?.where ?? [])], bounded: parsed?.bounded ?? false };
}

function fieldsOf(filter: RunsQuery, what: string): RunCondition[] {
  const found: RunCondition[] = [];
  if (filter.state !== undefined) {
    found.push({ field: "state", any: [filter.state].flat().map((state) => checkState(state, what)) });
  }
  for (const field of TEXTS) {
    const is = filter[field];
    if (is !== undefined) found.push({ field, any: [{ is: checkName(is, `${what} ${field}`) }] });
  }
  if (filter.parent !== undefined) {
    found.push({ field: "parent", any: [{ op: "=", value: checkId(filter.parent, `${what} parent`) }] });
  }
  return found;
}

function checkState(state: RunState, what: string): RunState {
  if (Object.hasOwn(stateCodes, state)) return state;
  throw new PunctualError(
    "INVALID_OPTION",
    `${what} knows no state ${show(state)}. Known: ${Object.keys(stateCodes).join(", ")}.`,
  );
}

export function checkId(id: unknown, what = "the id of a run"): number {
  if (typeof id === "number" && Number.isSafeInteger(id) && id > 0) return id;
  throw new PunctualError("INVALID_OPTION", `Expected ${what}, a whole number, got ${show(id)}.`);
}
