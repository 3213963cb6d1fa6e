import { rateText } from "../../../status/rates.ts";
import type { QueueReport, StatusReport } from "../../../status/report.ts";
import type { Trend } from "../../../status/trend.ts";
import { serves } from "../../../store/queue-selection.ts";
import { isClaiming } from "../../../store/worker-records.ts";
import type { QueueView } from "../contract.ts";
import { isoOrNull, toPauseView } from "./times.ts";
import { NO_SPARK, toPace, toSpark } from "./trend.ts";

export function toQueueView(queue: QueueReport, report: StatusReport, trend: Trend | undefined): QueueView {
  const { name, limit, rate, fair, patience, ready, scheduled, due, running, oldest } = queue;
  return {
    name,
    limit,
    rate: rate && rateText(rate),
    fair,
    patience,
    pause: toPauseView(queue.pause, queue.paused, queue.pausedUntil, report.now),
    ready: { value: ready, capped: queue.capped },
    scheduled: { value: scheduled, capped: scheduled > 0 && report.capped },
    due: { value: due, capped: due > 0 && queue.capped },
    running,
    oldest: isoOrNull(oldest),
    workers: report.workers.filter((worker) => isClaiming(worker) && serves(worker, name)).length,
    spark: trend ? toSpark(trend) : NO_SPARK,
    perMinute: trend ? toPace(trend) : { completed: 0, failed: 0 },
  };
}
