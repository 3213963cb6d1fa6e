import type { Route } from "../../server/route.ts";
import { defineRead } from "../define-route.ts";
import type { OverviewReader } from "../overview-reader.ts";
import { invalid, oneOf, text } from "../request-values.ts";
import type { Services } from "../services.ts";
import { toTrendView } from "../views/trend.ts";

export const SPANS = ["1h", "6h", "24h", "7d"] as const;

export function overviewRoutes(services: Services, overview: OverviewReader): Route[] {
  const { reports } = services;
  return [
    defineRead(services, "GET /overview", {}, () => overview.read()),
    defineRead(
      services,
      "GET /trend",
      { over: oneOf(SPANS, "1h"), job: text, queue: text },
      async ({ query: { over, job, queue } }) => {
        if (job !== undefined && queue !== undefined) throw invalid("a job or a queue, got both");
        return toTrendView(await reports.trend({ over, job, queue }), over);
      },
    ),
  ];
}
