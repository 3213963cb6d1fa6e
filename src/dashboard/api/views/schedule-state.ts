import { TICK_GRACE } from "../../../schedule/misfire.ts";
import { type ScheduleInfo, type StatusReport, undefinedTimes } from "../../../status/report.ts";

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
