import type { RunInfo } from "../../run/info.ts";
import { Cron, describeCron } from "../../schedule/cron.ts";
import { rateText } from "../../status/rates.ts";
import type { ScheduleInfo, StatusReport } from "../../status/report.ts";
import type { Percentiles, TrendPoint } from "../../status/trend.ts";
import { plain } from "../output/output.ts";
import { ago, counted, due, duration, grouped, moment, offset } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import { selectColumns, table } from "../render/table.ts";
import { wrap } from "../render/width.ts";
import type { JobSummary } from "./job-state.ts";
import { at, block, facts, indented } from "./page-blocks.ts";
import { runColumns } from "./run-columns.ts";
import { JOB_LOOKS, orderText, shortCron } from "./status-columns.ts";

export interface JobPageContent {
  view: JobSummary;
  queue: StatusReport["queues"][number] | null;
  schedules: ScheduleInfo[];
  runs: RunInfo[];
  /** The newest run that has failed; null: none is kept, or the last attempt of the job succeeded. */
  failed: number | null;
  /** The newest run whose last attempt failed or crashed and that has attempts left; null: there is none. */
  retrying: number | null;
  /** Attempts of the last 24 hours. */
  day: TrendPoint;
  now: Date;
}

const MOST_TICKS = 3;

/** The page of `show <job>`: settings, schedules and last runs. */
export function jobPage({ view, queue, schedules, runs, day, now }: JobPageContent, page: Page): string[] {
  const { job, state, remark } = view;
  const { icon, style } = JOB_LOOKS[state];
  return [
    `${page.paint(style, page.icons[icon])} ${page.paint("bold", `${plain(job.name)}: ${state}`)}`,
    ...(remark === null ? [] : indented(wrap(remark, page.proseWidth - 2))),
    "",
    ...facts(
      [
        ["Queue", `${job.queue}${queue?.paused ? " (paused)" : ""}`],
        ["Priority", String(job.priority)],
        ["At once", limitOf(job.limit)],
        ["Per key", job.keyLimit === 0 ? null : limitOf(job.keyLimit)],
        ["Rate", job.rates?.job ? rateText(job.rates.job) : null],
        ["Rate per key", job.rates?.key ? rateText(job.rates.key) : null],
        ["Rate in queue", queue?.rate ? rateText(queue.rate) : null],
        ["Under the limit", job.rates?.under?.limit ?? null],
        ["In queue", queue && queue.limit > 0 ? limitOf(queue.limit) : null],
        ["Order", queue ? orderText(queue) || null : null],
        ["Now", `${job.running} running, ${view.waiting} waiting`],
        ["Last run", lastRun(job, now, page)],
        ["Fails", job.fails === 0 ? null : `${job.fails} in a row, ${lastSuccess(job, now, page)}`],
        ["Attempts", attemptsOf(day)],
        ["Waited", percentilesText(day.waited)],
        ["Took", percentilesText(day.took)],
        ["Seen", job.seenAt ? ago(job.seenAt, now) : "no worker has defined it yet"],
      ],
      page,
    ),
    ...block(
      "Schedules",
      schedules.flatMap((schedule) => scheduleLines(schedule, now, page)),
      page,
    ),
    ...block("Last runs", runLines(runs, now, page), page),
  ];
}

/** `1,204 completed, 3 failed in 24 hours`; null: no attempt ended. */
function attemptsOf({ counts }: TrendPoint): string | null {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.length === 0
    ? null
    : `${parts.map(([outcome, count]) => `${grouped(count)} ${outcome}`).join(", ")} in 24 hours`;
}

function percentilesText(times: Percentiles | null): string | null {
  return times && `median ${duration(times.p50)}, 95 % within ${duration(times.p95)}`;
}

function lastRun(
  { lastOutcome, lastRun: succeeded, lastFailure }: JobSummary["job"],
  now: Date,
  page: Page,
): string {
  if (lastOutcome === null) return "none has finished";
  const time = lastOutcome === "failed" ? lastFailure : succeeded;
  return time === null ? lastOutcome : `${lastOutcome} ${at(time, page)} (${ago(time, now)})`;
}

function lastSuccess({ lastRun: succeeded }: JobSummary["job"], now: Date, page: Page): string {
  return succeeded ? `last success ${at(succeeded, page)} (${ago(succeeded, now)})` : "no success yet";
}

export function jobHints({ view: { job, state }, failed, retrying }: JobPageContent, name: string): string[] {
  return [
    `Run it now: punctual dispatch ${name}`,
    ...(failed === null ? [] : [`Its last failure: punctual show ${failed}`]),
    ...(retrying === null ? [] : [`It is tried again: punctual show ${retrying}`]),
    ...(state === "unknown" && job.seenAt !== null ? [`Remove it: punctual prune --job ${name}`] : []),
    ...(job.paused ? [`Resume it: punctual resume job ${name}`] : []),
  ];
}

function limitOf(limit: number): string {
  return limit === 0 ? "no limit" : counted(limit, "run");
}

function scheduleLines(schedule: ScheduleInfo, now: Date, page: Page): string[] {
  const { nextTick, lastTick, missed, paused, cron, timezone } = schedule;
  const next = paused ? "paused" : nextTick === null ? "does not tick again" : `next ${due(nextTick, now)}`;
  const words = wrap(`${shortCron(cron)}  ${describeCron(schedule)}`, page.proseWidth - 2);
  const then =
    paused || nextTick === null
      ? ""
      : `: ${ticksFrom(nextTick, cron, timezone)
          .map((tick) => moment(tick, now, page.zone))
          .join(", ")} ${offset(nextTick, page.zone)}`;
  const past = [lastTick ? `last ${ago(lastTick, now)}` : null, missed > 0 ? `${missed} missed` : null];
  const details = [`${next}${then}`, ...past.filter((part) => part !== null)].join(`  ${page.icons.dot}  `);
  return indented([...words, ...indented(wrap(details, page.proseWidth - 4))]);
}

/**
 * Returns the next ticks. If the stored tick does not match the cron expression, the definition restricts the ticks
 * further (between() and the like), and only the stored tick is certain.
 */
function ticksFrom(next: Date, cron: string, timezone: string): Date[] {
  try {
    const parsed = new Cron(cron, { timezone });
    return parsed.matches(next) ? [next, ...parsed.upcoming(MOST_TICKS - 1, next)] : [next];
  } catch {
    return [next];
  }
}

function runLines(runs: RunInfo[], now: Date, page: Page): string[] {
  if (runs.length === 0) return ["  None."];
  const width = page.width === null ? null : page.width - 2;
  const columns = selectColumns(runColumns(now, page), undefined).filter(({ title }) => title !== "Job");
  return indented(table(columns, runs, { ...page, width }));
}
