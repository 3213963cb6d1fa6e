import { PunctualError, show } from "../errors.ts";
import { isFinished } from "../run/states.ts";
import type { RunCondition } from "../store/search.ts";
import { DAY } from "../time.ts";
import { readField } from "./fields.ts";
import { toTerms } from "./terms.ts";
import { pieces } from "./values.ts";

/** A query, understood. */
export interface RunQuery {
  where: RunCondition[];
  /**
   * Nothing in it says how far back to look, so finished runs are looked for within the last seven days; whoever shows
   * the result should say so.
   */
  bounded: boolean;
}

/** How far back a query looks that does not say. */
export const LOOK_BACK: number = 7 * DAY;

export interface ParseOptions {
  /** What `after:24h` counts from, in UTC milliseconds. */
  now: number;
  /** What a time without an offset is read in. Default: UTC. */
  zone?: string;
}

/**
 * `state:failed job:send-* payload.customerId:4711 after:24h -queue:bulk timeout`: all of it holds. A comma means or, a
 * star anything, a minus in front not; words without a field are looked for in the job's name and the error, or are an id.
 */
export function parseQuery(text: string, { now, zone = "UTC" }: ParseOptions): RunQuery {
  if (typeof text !== "string") {
    throw new PunctualError(
      "INVALID_QUERY",
      `Expected a query as text such as "state:failed job:send-*", got ${show(text)}.`,
    );
  }
  const where = toTerms(text).map((term): RunCondition => {
    const condition: RunCondition =
      term.field === null
        ? { field: "text", pieces: pieces(term.values[0]!) }
        : readField(term, { now, zone });
    return term.not ? { ...condition, not: true } : condition;
  });
  const bounded = !where.some(saysHowFar);
  if (bounded) where.push({ field: "finished", from: now - LOOK_BACK });
  return { where, bounded };
}

/** Whether it bounds what there is to look through: a time, an id, a job, or that the run is not finished. */
function saysHowFar(condition: RunCondition): boolean {
  if (condition.not) return false;
  switch (condition.field) {
    case "at":
      return condition.from !== undefined;
    case "id":
      return condition.any.every(({ op }) => op === "=");
    case "job":
      return condition.any.every((match) => "is" in match);
    case "state":
      return !condition.any.some(isFinished);
    case "being":
      return true;
    default:
      return false;
  }
}
