import type { Route } from "../../server/route.ts";
import { defineRead } from "../define-route.ts";
import type { Services } from "../services.ts";
import { toFailureGroups } from "../views/failure-group.ts";

export function failuresRoute(services: Services): Route {
  return defineRead(services, "GET /failures", {}, async () => {
    const report = await services.reports.failures();
    return { items: toFailureGroups(report, services.settings.redaction), capped: report.capped };
  });
}
