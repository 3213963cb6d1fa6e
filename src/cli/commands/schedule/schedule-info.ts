import type { JsonValue } from "../../../run/payload.ts";
import { TICK_GRACE } from "../../../schedule/misfire.ts";
import type { ScheduleInfo, StatusReport } from "../../../status/report.ts";
import { undefinedTimes } from "../../../status/report.ts";
import { redact } from "../../output/redact.ts";
import { inWords, type TickingSchedule } from "../../views/schedule-columns.ts";

/** A schedule with its description and state. */
export type Listed<Schedule> = Schedule & {
  words: string;
  /** Whether the schedule or its job is paused. */
  paused: boolean;
  late: boolean;
  /** False: no live worker defines its job, so it does not tick. */
  defined: boolean;
};

export function listed<Schedule extends TickingSchedule>(
  all: readonly Schedule[],
  status: Pick<StatusReport, "jobs" | "now" | "workers">,
): Listed<Schedule>[] {
  const { jobs, now } = status;
  const unseenFor = undefinedTimes(status);
  const undefinedJobs = new Set(jobs.filter((job) => unseenFor(job) !== null).map(({ name }) => name));
  const pausedJobs = new Set(jobs.filter(({ paused }) => paused).map(({ name }) => name));
  return all.map((schedule) => {
    const paused = schedule.paused || pausedJobs.has(schedule.job);
    const { nextTick } = schedule;
    const defined = !undefinedJobs.has(schedule.job);
    const late = defined && !paused && nextTick !== null && nextTick.getTime() < now.getTime() - TICK_GRACE;
    return { ...withoutSecrets(schedule), words: inWords(schedule), paused, late, defined };
  });
}

export function withoutSecrets<Schedule extends { args: ScheduleInfo["args"] }>(
  schedule: Schedule,
): Schedule {
  return { ...schedule, args: redact(schedule.args) as JsonValue | undefined };
}
