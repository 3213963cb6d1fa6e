import type { RecentTicks } from "../../../operate/reports.ts";
import type { TickInfo } from "../../../run/info.ts";
import { describeCron } from "../../../schedule/cron.ts";
import { TICK_GRACE } from "../../../schedule/misfire.ts";
import { type ScheduleInfo, type StatusReport, undefinedTimes } from "../../../status/report.ts";
import { whyUndone } from "../../../status/workers.ts";
import { isClaiming } from "../../../store/worker-records.ts";
import type { ScheduleView, TickResult } from "../contract.ts";
import { iso, isoOrNull, toPauseView } from "./times.ts";

/** Returns the view of each schedule. */
export function toScheduleViews(
  schedules: readonly ScheduleInfo[],
  { ticks, partial }: RecentTicks,
  report: StatusReport,
): ScheduleView[] {
  const conditionOf = scheduleConditions(report);
  const jobs = new Map(report.jobs.map((job) => [job.name, job]));
  return schedules.map((schedule) => {
    const condition = conditionOf(schedule);
    const recent = (ticks.get(schedule.id) ?? []).map(toTickResult);
    const pause = schedule.pause ?? jobs.get(schedule.job)?.pause ?? null;
    return {
      id: schedule.id,
      job: schedule.job,
      cron: schedule.cron,
      words: describeCron(schedule),
      timezone: schedule.timezone,
      queue: schedule.queue,
      state: stateOf(condition, schedule, recent, report.now),
      pause: toPauseView(pause, condition === "paused", null, report.now),
      next: isoOrNull(schedule.nextTick),
      last: isoOrNull(schedule.lastTick),
      missed: schedule.missed,
      why: whyLate(condition, schedule, report),
      recent,
      partial: partial.includes(schedule.id),
    };
  });
}

function toTickResult({ scheduledFor, id, state, took }: TickInfo): TickResult {
  return { at: iso(scheduledFor), runId: id, state, took };
}

function stateOf(
  condition: ScheduleCondition,
  { nextTick }: ScheduleInfo,
  recent: readonly TickResult[],
  now: Date,
): ScheduleView["state"] {
  if (condition === "ended" || condition === "paused" || condition === "late") return condition;
  if (condition === "undefined" && nextTick !== null && nextTick < now) return "late";
  if (recent.at(-1)?.state === "running") return "running";
  const lastEnded = recent.findLast(({ state }) => state === "completed" || state === "failed");
  return lastEnded?.state === "failed" ? "failing" : "active";
}

function whyLate(
  condition: ScheduleCondition,
  { job, nextTick }: ScheduleInfo,
  report: StatusReport,
): string | null {
  if (condition === "undefined" && nextTick !== null && nextTick < report.now)
    return `No live worker defines the job "${job}".`;
  if (condition !== "late") return null;
  if (!report.workers.some((worker) => isClaiming(worker) && worker.schedules)) {
    const cause = whyUndone(report.workers, ({ schedules }) => schedules, "no live worker ticks schedules");
    return `${cause[0]!.toUpperCase()}${cause.slice(1)}.`;
  }
  return "The workers that tick schedules are behind, or none of them defines the job yet.";
}

/** Condition of a schedule beside the results of its runs. */
export type ScheduleCondition = "active" | "late" | "paused" | "ended" | "undefined";

/** Returns a function that tells the condition of a schedule. A schedule whose job is paused is paused too. */
export function scheduleConditions(
  report: Pick<StatusReport, "jobs" | "now" | "workers">,
): (schedule: ScheduleInfo) => ScheduleCondition {
  const undefinedFor = undefinedTimes(report);
  const jobs = new Map(report.jobs.map((job) => [job.name, job]));
  return ({ job: name, paused, nextTick }) => {
    const job = jobs.get(name);
    if (nextTick === null) return "ended";
    if (paused || job?.paused) return "paused";
    if (job && undefinedFor(job) !== null) return "undefined";
    return Number(nextTick) < Number(report.now) - TICK_GRACE ? "late" : "active";
  };
}
