import { shellQuote } from "../../../status/hints.ts";
import type { QueueReport } from "../../../status/report.ts";
import { HttpProblem } from "../../server/problem.ts";
import type { Route } from "../../server/route.ts";
import type { QueueDetail } from "../contract.ts";
import { defineRead } from "../define-route.ts";
import { oneOf } from "../request-values.ts";
import type { Services } from "../services.ts";
import { toQueueView } from "../views/queue.ts";
import { toTrendView } from "../views/trend.ts";
import { SPANS } from "./overview.ts";

export function queuesRoutes(services: Services): Route[] {
  return [
    defineRead(services, "GET /queues", {}, async () => {
      const [report, trends] = await Promise.all([services.status(), services.trends.queues.get()]);
      return { items: report.queues.map((queue) => toQueueView(queue, report, trends.get(queue.name))) };
    }),
    defineRead(services, "GET /queues/:name", { over: oneOf(SPANS, "24h") }, ({ params, query: { over } }) =>
      readQueue(services, params.name!, over),
    ),
  ];
}

async function readQueue(
  services: Services,
  name: string,
  over: (typeof SPANS)[number],
): Promise<QueueDetail> {
  const [report, trends] = await Promise.all([services.status(), services.trends.queues.get()]);
  const jobs = report.jobs.filter((job) => job.queue === name).map((job) => job.name);
  const known = report.queues.find((queue) => queue.name === name);
  if (!known && jobs.length === 0)
    throw new HttpProblem({
      code: "UNKNOWN_QUEUE",
      detail: `There is no queue ${JSON.stringify(name)}.`,
    });
  const trend = await services.reports.trend({ queue: name, over });
  return {
    ...toQueueView(known ?? emptyQueue(name), report, trends.get(name)),
    trend: toTrendView(trend, over),
    jobs,
    commands: {
      pause: `punctual pause queue ${shellQuote(name)}`,
      resume: `punctual resume queue ${shellQuote(name)}`,
    },
  };
}

/** A queue that jobs name, but that has had no runs yet. */
function emptyQueue(name: string): QueueReport {
  return {
    name,
    limit: 0,
    rate: null,
    fair: false,
    patience: null,
    paused: false,
    pausedUntil: null,
    pause: null,
    ready: 0,
    capped: false,
    scheduled: 0,
    due: 0,
    running: 0,
    oldest: null,
  };
}
