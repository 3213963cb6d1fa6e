import type { RunsQuery } from "../../operate/run-query.ts";
import { toTerms } from "../../query/terms.ts";
import { HttpProblem } from "../server/problem.ts";
import type { Services } from "./services.ts";

/**
 * Returns the query of a request. It finds nothing by what the API hides: otherwise a viewer could guess a
 * secret letter by letter. Throws HIDDEN_VALUE for a condition on a hidden value of the payload.
 */
export function toRunsQuery(
  { settings: { redaction } }: Services,
  where: string,
  timezone?: string,
): RunsQuery {
  for (const { field, path, source } of toTerms(where)) {
    if (field !== "payload" || !redaction.hidesBelow(path)) continue;
    throw new HttpProblem({
      code: "HIDDEN_VALUE",
      detail: `This dashboard hides the value at ${path.join(".")} of payloads, so that ${JSON.stringify(source)} cannot search by it.`,
      hint: "Search by another value, or use punctual list --where on a machine with access to the database.",
    });
  }
  return { where, timezone, redacted: redaction.isOn };
}
