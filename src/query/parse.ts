import { formatValue, PunctualError } from "../errors.ts";
import { isFinished } from "../run/states.ts";
import type { RunCondition } from "../store/search.ts";
import { DAY } from "../time.ts";
import { readField } from "./fields.ts";
import { toTerms } from "./terms.ts";
import { splitAtStars } from "./values.ts";

/** A parsed query. */
export interface RunQuery {
  where: RunCondition[];
  /**
   * Whether the search for finished runs was restricted to the last seven days, because the query sets no bound itself.
   * Callers that display the result should say so.
   */
  bounded: boolean;
}

/** How far back a query searches that sets no bound itself. */
export const LOOK_BACK: number = 7 * DAY;

export interface ParseOptions {
  /** Time from which `after:24h` counts back, in UTC milliseconds. */
  now: number;
  /** Zone of times without an offset. Default: UTC. */
  zone?: string;
}

/**
 * Parses a query such as `state:failed job:send-* payload.customerId:4711 after:24h -queue:bulk timeout`. A run must
 * match all terms. A comma means "or", a star any text, a leading minus "not". A word without a field matches the job's
 * name, the error or the id.
 */
export function parseQuery(text: string, { now, zone = "UTC" }: ParseOptions): RunQuery {
  if (typeof text !== "string") {
    throw new PunctualError(
      "INVALID_QUERY",
      `Expected a query as text such as "state:failed job:send-*", got ${formatValue(text)}.`,
    );
  }
  const where = toTerms(text).map((term): RunCondition => {
    const condition: RunCondition =
      term.field === null
        ? { field: "text", pieces: splitAtStars(term.values[0]!) }
        : readField(term, { now, zone });
    return term.not ? { ...condition, not: true } : condition;
  });
  const bounded = !where.some(isBound);
  if (bounded) where.push({ field: "finished", from: now - LOOK_BACK });
  return { where, bounded };
}

/** Whether a condition bounds the search: a time, a state that is not finished, or a field that has an index. */
function isBound(condition: RunCondition): boolean {
  if (condition.not) return false;
  switch (condition.field) {
    case "at":
      return condition.from !== undefined;
    case "id":
    case "parent":
    case "rerun":
      return condition.any.every(({ op }) => op === "=");
    case "job":
    case "fingerprint":
      return condition.any.every((match) => "is" in match);
    case "batch":
      // The members of a `jobs.batch()` have an index, those of a `dispatchMany()` have not.
      return condition.any.every((match) => "is" in match && /^\d+$/.test(match.is));
    case "state":
      return !condition.any.some(isFinished);
    case "aspect":
      return true;
    default:
      return false;
  }
}
