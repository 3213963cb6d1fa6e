import type { RunState } from "../run/states.ts";
import type { NumberMatch, RunCondition, TextMatch } from "../store/search.ts";

/** The runs that a query is meant for. */
export interface QueryDomain {
  /** States of the runs; a condition that allows all of them selects nothing. */
  states: readonly RunState[];
  /** No run finished or was dispatched later, in UTC milliseconds. */
  now: number;
}

/**
 * Whether a query selects some of the runs, by its meaning: at least one condition must leave out runs, whatever the
 * database contains. `job:*` leaves out none. Neither does `-job:mail` if its name is misspelt, so a negation selects
 * only among states, which are known.
 */
export function selectsRuns(where: readonly RunCondition[], domain: QueryDomain): boolean {
  return where.some((condition) => excludes(condition, domain));
}

function excludes(condition: RunCondition, { states, now }: QueryDomain): boolean {
  if (condition.field === "state")
    return states.some((state) => condition.any.includes(state) === (condition.not ?? false));
  if (condition.not) return false;
  switch (condition.field) {
    case "job":
    case "queue":
      return !condition.any.some(isWildcard);
    case "text":
      return condition.pieces.some((piece) => piece !== "");
    case "id":
      return !coversAll(condition.any, 1);
    case "attempt":
    case "took":
    case "waited":
      return !coversAll(condition.any, 0);
    case "at":
      return (condition.from !== undefined && condition.from > 0) || (condition.to ?? now) < now;
    case "finished":
      // The bound that the parser adds.
      return false;
    default:
      // A field that runs need not have: a key, a tag, an error, a value of the arguments.
      return true;
  }
}

function isWildcard(match: TextMatch): boolean {
  return "like" in match && match.like.every((piece) => piece === "");
}

/** Whether every whole number from `least` satisfies a comparison: tries the numbers at which an answer may change. */
function coversAll(any: readonly NumberMatch[], least: number): boolean {
  const edges = any.flatMap(({ value }) => [value - 1, value, value + 1]);
  return [least, ...edges.filter((edge) => edge > least)].every((edge) =>
    any.some((match) => satisfies(edge, match)),
  );
}

function satisfies(number: number, { op, value }: NumberMatch): boolean {
  switch (op) {
    case "=":
      return number === value;
    case "<":
      return number < value;
    case "<=":
      return number <= value;
    case ">":
      return number > value;
    case ">=":
      return number >= value;
  }
}
