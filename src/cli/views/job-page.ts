import type { RunInfo } from "../../run/info.ts";
import { Cron } from "../../schedule/cron.ts";
import { describeCron } from "../../schedule/cron-words.ts";
import type { ScheduleInfo, StatusReport } from "../../status/report.ts";
import type { Percentiles, TrendPoint } from "../../status/trend.ts";
import { plain } from "../output/output.ts";
import { ago, counted, due, duration, grouped, moment, offset } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import { selectColumns, table } from "../render/table.ts";
import { wrap } from "../render/width.ts";
import type { JobView } from "./job-state.ts";
import { at, block, facts, indented } from "./page-blocks.ts";
import { runColumns } from "./run-columns.ts";
import { JOB_LOOKS, shortCron } from "./status-columns.ts";

export interface JobDetails {
  view: JobView;
  queue: StatusReport["queues"][number] | null;
  schedules: ScheduleInfo[];
  runs: RunInfo[];
  /** Attempts of the last 24 hours. */
  day: TrendPoint;
  now: Date;
}

const MOST_TICKS = 3;

/** The page of `show <job>`: settings, schedules and last runs. */
export function jobPage({ view, queue, schedules, runs, day, now }: JobDetails, page: Page): string[] {
  const { job, state, remark } = view;
  const { icon, style } = JOB_LOOKS[state];
  return [
    `${page.paint(style, page.icons[icon])} ${page.paint("bold", `${plain(job.name)}: ${state}`)}`,
    ...(remark === null ? [] : indented(wrap(remark, page.width === null ? null : page.width - 2))),
    "",
    ...facts(
      [
        ["Queue", `${job.queue}${queue?.paused ? " (paused)" : ""}`],
        ["Priority", String(job.priority)],
        ["At once", limitOf(job.limit)],
        ["Per key", job.keyLimit === 0 ? null : limitOf(job.keyLimit)],
        ["In queue", queue && queue.limit > 0 ? limitOf(queue.limit) : null],
        ["Now", `${job.running} running, ${view.waiting} waiting`],
        ["Last run", lastRun(job, now, page)],
        ["Fails", job.fails === 0 ? null : `${job.fails} in a row, ${lastSuccess(job, now, page)}`],
        ["24 hours", outcomesOf(day)],
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

/** `1,204 completed, 3 failed`; null: no attempt ended. */
function outcomesOf({ counts }: TrendPoint): string | null {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.length === 0
    ? null
    : parts.map(([outcome, count]) => `${grouped(count)} ${outcome}`).join(", ");
}

function percentilesText(times: Percentiles | null): string | null {
  return times && `median ${duration(times.p50)}, 95 % within ${duration(times.p95)}`;
}

function lastRun(
  { lastOutcome, lastRun: succeeded, lastFailure }: JobView["job"],
  now: Date,
  page: Page,
): string {
  if (lastOutcome === null) return "none has finished";
  const time = lastOutcome === "failed" ? lastFailure : succeeded;
  return time === null ? lastOutcome : `${lastOutcome} ${at(time, page)} (${ago(time, now)})`;
}

function lastSuccess({ lastRun: succeeded }: JobView["job"], now: Date, page: Page): string {
  return succeeded ? `last success ${at(succeeded, page)} (${ago(succeeded, now)})` : "no success yet";
}

export function jobHints({ view: { job, state }, runs }: JobDetails, name: string): string[] {
  const failed = runs.find(({ state }) => state === "failed");
  return [
    `Run it now: punctual dispatch ${name}`,
    ...(failed ? [`Its last failure: punctual show ${failed.id}`] : []),
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
  const words = wrap(
    `${shortCron(cron)}  ${describeCron(schedule)}`,
    page.width === null ? null : page.width - 2,
  );
  const then =
    paused || nextTick === null
      ? ""
      : `: ${ticksFrom(nextTick, cron, timezone)
          .map((tick) => moment(tick, now, page.zone))
          .join(", ")} ${offset(nextTick, page.zone)}`;
  const past = [lastTick ? `last ${ago(lastTick, now)}` : null, missed > 0 ? `${missed} missed` : null];
  const details = [`${next}${then}`, ...past.filter((part) => part !== null)].join(`  ${page.icons.dot}  `);
  return indented([...words, ...indented(wrap(details, page.width === null ? null : page.width - 4))]);
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
