import { formatValue, PunctualError } from "../errors.ts";
import { parseQuery, type RunQuery } from "../query/parse.ts";
import { type RunState, stateCodes } from "../run/states.ts";
import type { RunCondition } from "../store/search.ts";
import { checkName } from "../validate/names.ts";
import { checkKeys, type OptionNames } from "../validate/options.ts";

/** Selects runs that match all given fields. */
export interface RunsQuery {
  /** Query such as `state:failed job:send-* after:24h`; the guide describes the language. */
  where?: string | undefined;
  /** Time zone of times in the query that have no offset. Default: UTC. */
  timezone?: string | undefined;
  /**
   * The query comes from someone who sees payloads and errors without the secrets in their URLs: a text that may
   * contain such a secret matches no condition. Otherwise the secret could be guessed letter by letter. Default:
   * false.
   */
  redacted?: boolean | undefined;
  state?: RunState | RunState[] | undefined;
  job?: string | undefined;
  queue?: string | undefined;
  key?: string | undefined;
  tag?: string | undefined;
  batch?: string | undefined;
  parent?: number | undefined;
}

/** Selects a page of runs. */
export interface RunsFilter extends RunsQuery {
  /** `next` of the previous page. */
  before?: number | undefined;
  /** At most 1,000. Default: 50. */
  limit?: number | undefined;
}

const QUERY: OptionNames<RunsQuery> = {
  state: true,
  job: true,
  queue: true,
  key: true,
  tag: true,
  batch: true,
  parent: true,
  where: true,
  timezone: true,
  redacted: true,
};
const TEXTS = ["job", "queue", "key", "tag", "batch"] as const;

/**
 * Returns the conditions of the fields and of the query text together. A string is the query text. `what` names the
 * caller in errors, `others` are further keys that the caller allows.
 */
export function toQuery(
  filter: RunsQuery | string,
  now: number,
  what: string,
  others: Readonly<Record<string, true>> = {},
): RunQuery {
  const given = typeof filter === "string" ? { where: filter } : filter;
  checkKeys(given, { ...QUERY, ...others }, what);
  const { where, timezone = "UTC", redacted = false } = given;
  const parsed = where === undefined ? null : parseQuery(where, { now, zone: timezone });
  const fields = toConditions(given, what);
  const conditions =
    parsed?.where.map((condition) => ({ ...condition, ...(redacted && { redacted }) })) ?? [];
  return { where: [...fields, ...conditions], bounded: parsed?.bounded ?? false };
}

function toConditions(filter: RunsQuery, what: string): RunCondition[] {
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

/** Checks a list of states; undefined: any. */
export function checkStates(states: readonly RunState[] | undefined, what: string): RunState[] | null {
  return states?.map((state) => checkState(state, what)) ?? null;
}

function checkState(state: RunState, what: string): RunState {
  if (Object.hasOwn(stateCodes, state)) return state;
  throw new PunctualError(
    "INVALID_OPTION",
    `${what} expected a state, got ${formatValue(state)}. Known: ${Object.keys(stateCodes).join(", ")}.`,
  );
}

export function checkId(id: unknown, what = "the id of a run"): number {
  if (typeof id === "number" && Number.isSafeInteger(id) && id > 0) return id;
  throw new PunctualError("INVALID_OPTION", `Expected ${what}, a whole number, got ${formatValue(id)}.`);
}
