import type { Definition } from "../../../job/definition.ts";
import type { Redaction } from "../../../run/redaction.ts";
import { rateText } from "../../../status/rates.ts";
import { type JobReport, type StatusReport, undefinedTimes } from "../../../status/report.ts";
import type { Trend } from "../../../status/trend.ts";
import { span } from "../../../status/why.ts";
import type { JobView } from "../contract.ts";
import { isoOrNull, toPauseView } from "./times.ts";
import { NO_SPARK, toSpark } from "./trend.ts";

/** Facts for the view of a job beside the job. */
export interface JobContext {
  report: StatusReport;
  hours: Map<string, Trend>;
  days: Map<string, Trend>;
  redaction: Redaction;
}

export function toJobView(job: JobReport, { report, hours, days, redaction }: JobContext): JobView {
  const { name, queue, priority, limit, keyLimit, rates, running, waiting, fails, lastError } = job;
  const hour = hours.get(name);
  const day = days.get(name)?.total;
  const isDefined = job.seenAt !== null && undefinedTimes(report)(job) === null;
  return {
    name,
    queue,
    priority,
    limit,
    keyLimit,
    rate: rates?.job ? rateText(rates.job) : null,
    keyRate: rates?.key ? rateText(rates.key) : null,
    under: underOf(job, report),
    pause: toPauseView(job.pause, job.paused, null, report.now),
    running,
    waiting: { value: waiting, capped: waiting > 0 && report.capped },
    lastRun: isoOrNull(job.lastRun),
    lastFailure: isoOrNull(job.lastFailure),
    lastError: lastError === null ? null : redaction.text(lastError),
    fails,
    muted: job.mute !== null,
    nextRun: isoOrNull(job.nextRun),
    seenAt: isoOrNull(job.seenAt),
    undefined: !isDefined,
    last24h: {
      completed: day?.counts.completed ?? 0,
      failed: day?.counts.failed ?? 0,
      retried: day?.counts.retried ?? 0,
      took: day?.took ?? null,
    },
    spark: hour ? toSpark(hour) : NO_SPARK,
  };
}

function underOf({ rates }: JobReport, { limits }: StatusReport): JobView["under"] {
  const name = rates?.under?.limit;
  if (name === undefined) return null;
  const { running = 0, limit = null } = limits.find((one) => one.name === name) ?? {};
  const used = limit === 0 ? `${running} at once, no limit` : `${running} of ${limit} at once`;
  return { name, running, limit, words: limit === null ? "no process has defined it" : used };
}

/** Describes the settings of a definition in words. */
export function settingsOf({ settings }: Definition<never>): Record<string, string> {
  const { queue, priority, concurrency, perKey, retries, timeout, lease, keep } = settings;
  const atOnce = (limit: number) => (limit === 0 ? "no limit" : String(limit));
  const kept = (ms: number | null) => (ms === null ? "for ever" : ms === 0 ? "not at all" : span(ms));
  return {
    Queue: queue,
    Priority: String(priority),
    "Runs at once": atOnce(concurrency),
    "Runs at once per key": atOnce(perKey),
    Attempts:
      retries.max === 1
        ? "1"
        : `${retries.max}, first retry after ${retries.base} s, at most ${retries.cap} s`,
    Timeout: timeout === null ? "none" : span(timeout),
    Lease: span(lease),
    Keeps: Object.entries(keep)
      .map(([state, ms]) => `${state} ${kept(ms)}`)
      .join(", "),
  };
}
