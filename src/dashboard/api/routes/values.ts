import { stateCodes } from "../../../run/states.ts";
import type { Route } from "../../server/route.ts";
import { defineRead } from "../define-route.ts";
import { oneOf, text } from "../request-values.ts";
import type { Services } from "../services.ts";

const STORED = ["job", "queue", "tag", "worker", "errortype"] as const;

/** Values of fields that the language itself defines. */
const WORDS = {
  state: Object.keys(stateCodes),
  is: ["running", "waiting", "finished", "due", "late", "retrying", "cancelling"],
};

export function valuesRoute(services: Services): Route {
  const readers = { field: oneOf([...STORED, "state", "is"]), prefix: text };
  return defineRead(services, "GET /values", readers, async ({ query: { field, prefix = "" } }) => {
    if (field === "state" || field === "is")
      return { values: WORDS[field].filter((word) => word.startsWith(prefix.toLowerCase())) };
    return { values: await services.reports.values(field, prefix) };
  });
}
